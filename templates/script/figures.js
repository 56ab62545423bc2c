// Figures with other numbers than those they came with, and the words beside them.
import { data } from "./data.js";
import { draw } from "./dom.js";
import { cellPaths, cellSide } from "./heatmap.js";
import { short } from "./numbers.js";

/** @typedef {import("./heatmap.js").Scale} Scale */
/**
 * A kind of figure, as a page redraws it; each file in figure_kinds/ adds one.
 * @typedef {object} FigureKind
 * @property {string} selector finds the picture in a figure that is of this kind
 * @property {(picture: any) => any} copy what the page came with
 * @property {(picture: any, copy: any) => void} restore puts it back
 * @property {(picture: any, shown: Shown) => void} paint draws other numbers
 */
/**
 * @typedef {object} Shown
 * @property {number[][]} lines the numbers that the figure shows, row by row
 * @property {number[][]} record those that it came with, which stay visible as marks
 * @property {number[]} numbers all numbers of the array
 * @property {Scale} scale that of the figure, whatever the numbers are
 * @property {boolean} whole the numbers count or name something
 */
/** @type {FigureKind[]} */
export const figureKinds = [];
export const finite = (values) => values.filter(Number.isFinite);
export const largestOf = (values) => finite(values).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
// A scale for numbers that are of no figure.
/** @type {(values: number[]) => Scale} */
export const scaleFor = (values) => [Math.min(0, ...finite(values)) < 0 ? -largestOf(values) : 0, largestOf(values)];
/** @type {(kind: string, at: number) => Scale} */
export const scaleOf = (kind, at) => data.scales[`${kind}/${at}`] ?? [0, 0];
// Whether two numbers are the same by the lesson's tolerance.
export const isNear = (a, b) => Object.is(a, b) || Math.abs(a - b) <= data.near[0] + data.near[1] * Math.abs(b);
const cellElement = ({ words, ...attributes }) => {
  const element = draw(words === undefined ? "path" : "text", attributes);
  element.textContent = words ?? "";
  return element;
};
export const cellElements = (lines, frame, scale, whole = false) => cellPaths(lines, frame, scale, whole).map(cellElement);
// A heatmap of its own, with places counted along both axes.
export const heatmap = (lines, scale, words) => {
  const side = cellSide(lines[0].length);
  const [width, height] = [22 + side * lines[0].length, 20 + side * lines.length];
  const svg = draw("svg", { class: "heatmap", role: "img", "aria-label": words, viewBox: `0 0 ${width} ${height}`, width, height, "data-frame": `20 18 ${side} ${side}` });
  const label = (x, y, anchor, text) => {
    svg.append(draw("text", { x, y, "text-anchor": anchor }));
    svg.lastChild.textContent = text;
  };
  if (side >= 16) {
    lines[0].forEach((_, i) => label(20 + i * side + side / 2, 13, "middle", i));
    lines.forEach((_, i) => label(15, 18 + i * side + side / 2 + 4, "end", i));
  }
  svg.append(...cellElements(lines, [20, 18, side, side], scale));
  return svg;
};
export const extremes = (values) => {
  const kept = finite(values);
  return kept.length ? `Min ${short(Math.min(...kept))} · Max ${short(Math.max(...kept))}` : "No finite value";
};
export const scaleWords = (scale) => `Scale ${scale.map((end) => short(end).replace("-", "−")).join(" to ")}`;
