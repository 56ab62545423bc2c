// Starts the page: everything in its order; a wish in the address comes first.
import { caseIds, caseNow, choose, startCases } from "./cases.js";
import { startCells } from "./cells.js";
import { startCompare } from "./compare.js";
import { chosen } from "./core.js";
import { all } from "./dom.js";
import { startGraph } from "./graph.js";
import { startSave } from "./save.js";
import { startSource } from "./source.js";
import { startStory } from "./story.js";
import { startWords } from "./words.js";

const wish = () => {
  const { case: id } = chosen.read();
  if (caseIds.includes(id) && id !== caseNow()) choose(id, { quiet: true });
};
// `startLive` starts what only a page with a program has, between the cases and all that shows them.
export const start = (startLive) => {
  startCells();
  startCases();
  startLive();
  startCompare();
  startSource();
  startGraph();
  wish();
  startStory();
  startWords();
  startSave();
  addEventListener("hashchange", wish);
  addEventListener("beforeprint", () => all("details").forEach((part) => (part.open = true)));
  all(".hint").forEach((hint) => (hint.hidden = false));
};
