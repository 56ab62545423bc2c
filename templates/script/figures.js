// Heatmaps, bars and tables with other numbers than those they came with; drawn just as they were at first.
import { all, draw, one } from "./dom.js";
import { cellPaths, cellSide } from "./heatmap.js";
import { short } from "./numbers.js";

export const finite = (values) => values.filter(Number.isFinite);
export const largestOf = (values) => finite(values).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
const cellElements = (lines, frame, largest) => cellPaths(lines, frame, largest).map((attributes) => draw("path", attributes));
export const paintHeatmap = (svg, lines, largest) => {
  all("path", svg).forEach((path) => path.remove());
  svg.append(...cellElements(lines, svg.dataset.frame.split(" ").map(Number), largest));
  const cursor = one(".cursor", svg);
  if (cursor) svg.append(cursor);
};
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
// Bars from zero on a scale from `low` to `high`.
const percentAlong = (value, low, high) => (high > low ? (100 * (value / 2 - low / 2)) / (high / 2 - low / 2) : 0);
export const paintBar = (line, value, low, high) => {
  const number = Number.isFinite(value) ? value : 0;
  const [from, to] = [percentAlong(0, low, high), percentAlong(number, low, high)].sort((a, b) => a - b);
  const [base, bar] = all("rect", line);
  base.setAttribute("x", from === to ? from + "%" : percentAlong(0, low, high) + "%");
  bar.setAttribute("x", from + "%");
  bar.setAttribute("width", to - from + "%");
  bar.setAttribute("class", number > 0 ? "above" : number < 0 ? "below" : "at");
};
