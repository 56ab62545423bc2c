// Figures of the recorded example: the value under pointer or focus with every digit, and the way to how it arose.
import { data } from "./data.js";
import { all, draw, one } from "./dom.js";
import { counted, exact, numeric } from "./numbers.js";
import { follow } from "./selection.js";
import { computing, live, now } from "./state.js";

export const keyOf = (figure) => {
  const [id, kind, at, panel] = figure.dataset.figure.split("/");
  return { id, kind, at: Number(at), panel: Number(panel ?? 0) };
};
export const isVector = (figure) => figure.matches(".vector");
export const sections = all("[data-figure]");
// A figure's own table, not that of a difference shown below it.
export const rowsOf = (figure) => all(".bars tbody tr, .pair tbody tr", figure);
export const headsOf = (figure) => all(".pair thead th", figure);
export const cellsOf = (figure) => all(".bars tbody td:not(.bar), .pair tbody td", figure);
// The rows and columns that a figure shows, of all its numbers.
export const shownOf = (figure, numbers, shape) => {
  const rows = rowsOf(figure).length;
  if (isVector(figure)) return [counted(rows, (i) => numbers[i])];
  const [height, width] = [shape[shape.length - 2] ?? 1, shape[shape.length - 1] ?? 1];
  const base = keyOf(figure).panel * height * width;
  return counted(rows, (r) => counted(headsOf(figure).length, (c) => numbers[base + r * width + c]));
};
export const recordedLines = (figure) => data.figures[figure.dataset.figure].map((line) => line.map(numeric));
// What a figure shows at the moment, row by row.
export const linesNow = (figure) => {
  const { kind, at } = keyOf(figure);
  const figured = now.inputs && computing.figure(kind, at);
  return figured ? shownOf(figure, figured.numbers, figured.shape) : recordedLines(figure);
};
const elementOf = (figure, row, column) => {
  const { kind, at, panel } = keyOf(figure);
  const shape = live?.[kind][at]?.shape;
  if (!shape) return null;
  const width = shape[shape.length - 1] ?? 1;
  const element = isVector(figure) ? row : panel * (shape[shape.length - 2] ?? 1) * width + row * width + column;
  return computing.origin(kind, at, element);
};
const cellAt = (figure, row, column) => rowsOf(figure)[row]?.cells[isVector(figure) ? 2 : column + 1];
const outline = (svg, row, column) => {
  const [left, top, width, height] = svg.dataset.frame.split(" ").map(Number);
  const box = one(".cursor", svg) || svg.appendChild(draw("rect", { class: "cursor" }));
  for (const [name, value] of Object.entries({ x: left + column * width, y: top + row * height, width: width - 1, height: height - 1 })) box.setAttribute(name, value);
};
const readCell = (figure, row, column) => {
  const cell = cellAt(figure, row, column);
  const lines = linesNow(figure);
  const value = isVector(figure) ? lines[0][row] : lines[row]?.[column];
  if (!cell || value === undefined) return;
  const given = now.inputs ? value : isVector(figure) ? data.figures[figure.dataset.figure][0][row] : data.figures[figure.dataset.figure][row][column];
  const names = isVector(figure) ? [cell.parentElement.cells[0].textContent] : [cell.parentElement.cells[0].textContent, headsOf(figure)[column].textContent];
  one(".readout", figure).textContent = "[" + names.join(", ") + "] = " + (typeof given === "string" ? given : exact(given));
  all(".lit", figure).forEach((lit) => lit.classList.remove("lit"));
  cell.classList.add("lit");
  const svg = one("svg[data-frame]", figure);
  if (svg) outline(svg, row, column);
};
const positionOf = (figure, cell) => [cell.parentElement.sectionRowIndex, isVector(figure) ? 0 : cell.cellIndex - 1];
const followCell = (figure, row, column) => {
  const part = elementOf(figure, row, column);
  if (part) follow(part);
};
const stroll = (event, figure, cell) => {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    followCell(figure, ...positionOf(figure, cell));
  }
  if (!step) return;
  const next = cell.parentElement.parentElement.rows[cell.parentElement.sectionRowIndex + step[0]]?.cells[cell.cellIndex + step[1]];
  if (!next || next.tagName !== "TD" || next.matches(".bar")) return;
  event.preventDefault();
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
};
/** @type {(svg: any, event: MouseEvent) => [row: number, column: number]} */
export const pointed = (svg, event) => {
  const [left, top, width, height] = svg.dataset.frame.split(" ").map(Number);
  const area = svg.getBoundingClientRect();
  const unit = svg.viewBox.baseVal.width / area.width;
  return [Math.floor(((event.clientY - area.top) * unit - top) / height), Math.floor(((event.clientX - area.left) * unit - left) / width)];
};
export const startCells = () => sections.forEach((figure) => {
  const followable = Boolean(live?.[keyOf(figure).kind][keyOf(figure).at]);
  figure.classList.toggle("followable", followable);
  cellsOf(figure).forEach((cell, at) => {
    cell.tabIndex = at ? -1 : 0;
    cell.addEventListener("focus", () => readCell(figure, ...positionOf(figure, cell)));
    cell.addEventListener("pointerenter", () => readCell(figure, ...positionOf(figure, cell)));
    cell.addEventListener("click", () => followCell(figure, ...positionOf(figure, cell)));
    cell.addEventListener("keydown", (event) => stroll(event, figure, cell));
  });
  const svg = one("svg[data-frame]", figure);
  if (!svg) return;
  const inside = ([row, column]) => row >= 0 && column >= 0 && Boolean(cellAt(figure, row, column));
  svg.addEventListener("pointermove", (event) => inside(pointed(svg, event)) && readCell(figure, ...pointed(svg, event)));
  svg.addEventListener("click", (event) => inside(pointed(svg, event)) && followCell(figure, ...pointed(svg, event)));
});
