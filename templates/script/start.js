// Starts the page: everything in its order; a wish in the address comes first.
import { startCases } from "./cases.js";
import { startCells } from "./cells.js";
import { startCompare } from "./compare.js";
import { chosen, onAddress } from "./core.js";
import { all } from "./dom.js";
import { startEmbed } from "./embed.js";
import { startGraph } from "./graph.js";
import { startSave } from "./save.js";
import { startScrollers } from "./scrollers.js";
import { startSource } from "./source.js";
import { startStory } from "./story.js";
import { startWords } from "./words.js";

const obey = () => {
  const wished = chosen.read();
  if (Object.keys(wished).length) onAddress.forEach((take) => take(wished));
};
// A place inside what is folded is shown.
const unfold = () => {
  const place = document.getElementById(location.hash.slice(1));
  if (!place) return;
  all("details").filter((part) => part.contains(place) || part.parentElement === place).forEach((part) => (part.open = true));
  place.scrollIntoView();
};
// `startLive` starts what only a page with a program has, between the cases and all that shows them.
export const start = (startLive) => {
  startCells();
  startCases();
  startLive();
  startCompare();
  startSource();
  startGraph();
  startStory();
  startWords();
  startSave();
  startScrollers();
  startEmbed();
  obey();
  if (location.hash && !location.hash.includes("=")) unfold();
  addEventListener("hashchange", () => (location.hash.includes("=") ? obey() : unfold()));
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open], .save)").filter((part) => !part.closest(".prediction"));
    opened.forEach((part) => (part.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((part) => (part.open = false)));
  all(".hint").forEach((hint) => (hint.hidden = false));
};
