// Everything in its order; a wish in the address comes first.
startCells();
startCases();
if (live) {
  if (!example) enter(now.id);
  startPlay();
}
startCompare();
startSource();
startGraph();
const wish = () => {
  const { case: id } = chosen.read();
  if (caseIds.includes(id) && id !== caseNow()) choose(id, { quiet: true });
};
wish();
startStory();
startWords();
startSave();
watchers.push(() => lit && graph && describe(lit));
addEventListener("hashchange", wish);
addEventListener("beforeprint", () => all("details").forEach((part) => (part.open = true)));
all(".hint").forEach((hint) => (hint.hidden = false));
