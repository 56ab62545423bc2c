// Figures that the page cannot compute: while a reader moves the inputs they show nothing rather than old numbers.
import { keyOf, sections } from "./cells.js";
import { make } from "./dom.js";
import { live, now, watchers } from "./state.js";

const notes = new Map(sections.map((figure) => [figure, make("p", { className: "caption", hidden: true }, "This page cannot compute this figure: only its recorded numbers are known.")]));
notes.forEach((note, figure) => figure.append(note));
watchers.push(() => notes.forEach((note, figure) => {
  const { kind, at } = keyOf(figure);
  const unknown = Boolean(now.inputs && !live[kind][at]);
  for (const part of figure.children) part.hidden = unknown === (part !== note);
}));
