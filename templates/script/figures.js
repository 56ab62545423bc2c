// Figures with other numbers than those they came with, and the words beside them.
import { draw } from "./dom.js";
import { cellPaths, cellSide } from "./heatmap.js";
import { short } from "./numbers.js";

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
 * @property {number[]} numbers all numbers of the array
 * @property {number} largest the magnitude of the full scale of the array
 * @property {[low: number, high: number]} span the scale that all vectors of the case share
 */
/** @type {FigureKind[]} */
export const figureKinds = [];
export const finite = (values) => values.filter(Number.isFinite);
export const largestOf = (values) => finite(values).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
export const cellElements = (lines, frame, largest) => cellPaths(lines, frame, largest).map((attributes) => draw("path", attributes));
// A heatmap of its own, with places counted along both axes.
export const heatmap = (lines, largest, words) => {
  const side = cellSide(lines[0].length);
  const [width, height] = [22 + side * lines[0].length, 20 + side * lines.length];
  const svg = draw("svg", { class: "heatmap", role: "img", "aria-label": words, viewBox: `0 0 ${width} ${height}`, width, height, "data-frame": `20 18 ${side}` });
  const label = (x, y, anchor, text) => {
    svg.append(draw("text", { x, y, "text-anchor": anchor }));
    svg.lastChild.textContent = text;
  };
  if (side >= 16) {
    lines[0].forEach((_, i) => label(20 + i * side + side / 2, 13, "middle", i));
    lines.forEach((_, i) => label(15, 18 + i * side + side / 2 + 4, "end", i));
  }
  svg.append(...cellElements(lines, [20, 18, side], largest));
  return svg;
};
export const extremes = (values) => {
  const kept = finite(values);
  return kept.length ? `Min ${short(Math.min(...kept))} · Max ${short(Math.max(...kept))}` : "No finite value";
};
export const scaleWords = (values, largest) => (Math.min(0, ...finite(values)) < 0 ? `Scale −${short(largest)} to ${short(largest)}` : `Scale 0 to ${short(largest)}`);
