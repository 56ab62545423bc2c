// Cases that ran in different ways: each has a program of its own, and the page reads that of the case that it shows.
import { all, one } from "./dom.js";
import { caseData } from "./machine.js";
import { knobs, startPlay } from "./sliders.js";
import { indexPorts, layerPorts, live, now, stepOf, watchers } from "./state.js";

const ways = [{ program: live.program, matrices: live.matrices, vectors: live.vectors, modules: live.modules }, ...live.ways];
let wayNow = 0;
// Who computes another case than the one that is shown reads its numbers at once; after that all is as it was.
live.takeWay = (id) => {
  const way = live.cases[id].way ?? 0;
  if (id !== now.id) Promise.resolve().then(() => live.takeWay(now.id));
  if (way === wayNow) return;
  wayNow = way;
  [stepOf, layerPorts].forEach((index) => Object.keys(index).forEach((key) => delete index[key]));
  Object.assign(live, ways[way]);
  indexPorts();
};
// Before everyone else: a number that is followed belongs to its own program, and a slider to an input of its shape.
let shown = "";
watchers.push(() => {
  const shapes = Object.entries(caseData(now.id).inputs).map(([name, x]) => `${name}: ${x.shape}`);
  const here = [wayNow, ...shapes].join("; ");
  if (here === shown) return;
  shown = here;
  const play = one(".play");
  if (play) {
    play.remove();
    knobs.length = 0;
    startPlay();
  }
  all(".drawer:not([hidden]) .drawer-head > :last-child").forEach((close) => close.click());
});
