// A matrix as a heatmap: its cells are painted again, in the frame and on the scale that it has.
import { all, draw, one } from "../dom.js";
import { cellElements, extremes, figureKinds, isNear } from "../figures.js";
import { colour } from "../heatmap.js";

const PAINTED = "path, .cell";
// What was recorded as a small square in the corner, where it was another number; an arrow where a scale ends.
const changeMarks = ([left, top, width, height], { lines, record, scale: [low, high] }) => lines.flatMap((line, row) => line.flatMap((value, column) => {
  const [x, y] = [left + (column + 1) * width - 2, top + row * height + 1];
  const was = record[row][column];
  return [
    isNear(value, was) ? null : draw("path", { class: "was", fill: colour(was, [low, high]), d: `M${x} ${y}v7h-7v-7z` }),
    value > high || value < low ? draw("path", { class: "beyond", d: value > high ? `M${x - 7} ${y + height - 4}l3-6 3 6z` : `M${x - 7} ${y + height - 10}l3 6 3-6z` }) : null,
  ].filter(Boolean);
}));
figureKinds.push({
  selector: "svg[data-frame]",
  copy: (svg) => ({ painted: all(PAINTED, svg).map((each) => each.cloneNode(true)), words: svg.getAttribute("aria-label") }),
  restore: (svg, { painted, words }) => {
    all(PAINTED, svg).forEach((each) => each.remove());
    svg.append(...painted.map((each) => each.cloneNode(true)));
    svg.setAttribute("aria-label", words);
  },
  paint: (svg, shown) => {
    const frame = svg.dataset.frame.split(" ").map(Number);
    all(PAINTED, svg).forEach((each) => each.remove());
    svg.append(...cellElements(shown.lines, frame, shown.scale, shown.whole), ...changeMarks(frame, shown));
    const cursor = one(".cursor", svg);
    if (cursor) svg.append(cursor);
    svg.setAttribute("aria-label", `Live values. ${extremes(shown.numbers)}.`);
  },
});
