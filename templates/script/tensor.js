// A whole tensor in the drawer: its last two axes as a heatmap and a table whose cells can be followed.
import { FLOAT } from "#replay/operations/interpreter.js";
import { button, make, one } from "./dom.js";
import { tensorAt } from "./explain.js";
import { extremes, heatmap, scaleFor } from "./figures.js";
import { counted, exact, shapeWords, short } from "./numbers.js";
import { now, portName } from "./state.js";

const SIDE = 48; // rows and columns that are shown
const linesOf = (flat, shape, lead) => {
  const [rows, columns] = [shape[shape.length - 2] ?? 1, shape[shape.length - 1] ?? 1];
  const base = lead * rows * columns;
  return counted(Math.min(rows, SIDE), (r) => counted(Math.min(columns, SIDE), (c) => flat[base + r * columns + c]));
};
// Arrow keys inside a grid of buttons, of which one is a tab stop.
const roving = (event, table) => {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const cell = event.target.closest("td");
  if (!step || !cell) return;
  const line = table.tBodies[0].rows[cell.parentElement.sectionRowIndex + step[0]];
  const next = line?.cells[cell.cellIndex + step[1]];
  const target = next && one("button", next);
  if (!target) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
};
export const tensorView = (port, lead, follow) => {
  const { shape, flat } = tensorAt(port);
  const whole = now.values[port].kind !== FLOAT;
  const lines = linesOf(flat, shape, lead);
  const columns = shape[shape.length - 1] ?? 1;
  const base = lead * (shape[shape.length - 2] ?? 1) * columns;
  const values = [...flat];
  const table = make("table", { className: "values" }, make("caption", {}, `Values of ${portName(port)}`));
  table.append(make("thead", {}, make("tr", {}, make("td", { className: "corner" }), lines[0].map((_, c) => make("th", { scope: "col" }, String(c))))));
  table.append(make("tbody", {}, lines.map((line, r) => make("tr", {}, make("th", { scope: "row" }, String(r)), line.map((value, c) => {
    const act = () => follow({ port, at: base + r * columns + c });
    return make("td", {}, button(short(value, whole), act, { tabIndex: r || c ? -1 : 0, title: exact(value), "aria-label": `[${r}, ${c}] ${short(value, whole)}` }));
  })))));
  table.addEventListener("keydown", (event) => roving(event, table));
  const words = `${portName(port)}, ${shapeWords(shape)}. ${extremes(values)}.`;
  const cut = (shape[shape.length - 1] ?? 1) > SIDE || (shape[shape.length - 2] ?? 1) > SIDE;
  return [
    make("p", { className: "range" }, `${shapeWords(shape)} · ${extremes(values)}`),
    lines.length * lines[0].length > 1 ? make("div", { className: "picture" }, heatmap(lines, scaleFor(values), words)) : null,
    make("div", { className: "scroll" }, table),
    cut ? make("p", { className: "caption" }, `The first ${SIDE} rows and columns are shown.`) : null,
  ];
};
