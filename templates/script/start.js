// Everything in its order; a wish in the address comes first.
startCells();
startCases();
if (live && !example) enter(now.id);
startPlay();
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
if (live) {
  globalThis.lesson = {
    // The page's own arithmetic, for the curious and for tests: `await`less, in the browser's console.
    run(id, inputs = {}) {
      const shaped = Object.entries(inputs).map(([name, numbers]) => {
        const x = caseData(id).inputs[name];
        return [name, machine.nd(x.shape, x.kind, Float64Array.from([numbers].flat(Infinity)))];
      });
      const values = compute(id, Object.fromEntries(shaped));
      const figures = (kind) => live[kind].map((_, at) => figureNow(kind, at, values)?.numbers ?? null);
      return { matrices: figures("matrices"), vectors: figures("vectors") };
    },
    cases: Object.keys(live.cases),
    ports: live.program.ports.map((port) => ({ port, name: portName(port), shape: now.values[port].shape })),
    explain: (port, at) => explain({ port, at }),
    move,
    selfTest,
  };
}
