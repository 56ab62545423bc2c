// A matrix that is an input, as a picture to be drawn on: a cell is pulled up or down, in a large one cells are painted.
import { pointed } from "./cells.js";
import { all, make } from "./dom.js";
import { cellElements, heatmap } from "./figures.js";
import { counted, short, sizeOf } from "./numbers.js";

const PULL = 150; // px of a pull from one end of the range to the other
const LARGEST = 4096; // cells
/** @type {(shape: number[]) => boolean} */
export const isDrawable = (shape) => shape.length > 1 && Math.min(...shape.slice(-2)) > 1 && sizeOf(shape.slice(0, -2)) === 1 && sizeOf(shape) <= LARGEST;
/**
 * @param {{ name: string, shape: number[], limits: { min: number, max: number }, painted: boolean, read: () => number[], write: (at: number, value: number) => void }} input
 * @returns {{ element: any, show: () => void }} what is put into the page, and what shows the numbers as they are
 */
export const makePad = ({ name, shape, limits: { min, max }, painted, read, write }) => {
  const [rows, columns] = shape.slice(-2);
  /** @type {[number, number]} */
  const scale = [min < 0 ? -Math.max(-min, max) : 0, Math.max(-min, max)];
  const linesOf = (numbers) => counted(rows, (r) => numbers.slice(r * columns, (r + 1) * columns));
  const svg = heatmap(linesOf(read()), scale, "");
  const frame = svg.dataset.frame.split(" ").map(Number);
  const show = () => {
    const numbers = read();
    all("path", svg).forEach((path) => path.remove());
    svg.append(...cellElements(linesOf(numbers), frame, scale));
    svg.setAttribute("aria-label", `${name}, ${rows} by ${columns}, from ${short(Math.min(...numbers))} to ${short(Math.max(...numbers))}; its numbers can be set one by one below.`);
  };
  let held = null; // what the pointer holds: where it went down, on which cell, and what is painted
  const cellUnder = (event) => {
    const [row, column] = pointed(svg, event);
    return row >= 0 && row < rows && column >= 0 && column < columns ? row * columns + column : null;
  };
  svg.addEventListener("pointerdown", (event) => {
    const at = cellUnder(event);
    if (at === null) return;
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    const value = read()[at];
    held = { at, y: event.clientY, value, paint: value > (min + max) / 2 ? min : max };
    if (painted) write(at, held.paint);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    if (!painted) write(held.at, Math.min(max, Math.max(min, held.value + ((held.y - event.clientY) * (max - min)) / PULL)));
    else if (cellUnder(event) !== null) write(cellUnder(event), held.paint);
  });
  ["pointerup", "pointercancel"].forEach((kind) => svg.addEventListener(kind, () => (held = null)));
  const hint = painted ? "Draw on it; drawing on a dark cell clears it." : "Pull a cell up or down.";
  return { element: make("div", { className: painted ? "pad painted" : "pad" }, svg, make("p", { className: "caption" }, hint)), show };
};
