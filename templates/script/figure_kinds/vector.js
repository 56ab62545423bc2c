// A vector as bars from zero, on a scale from `low` to `high`.
import { all } from "../dom.js";
import { figureKinds } from "../figures.js";

const percentAlong = (value, low, high) => (high > low ? (100 * (value / 2 - low / 2)) / (high / 2 - low / 2) : 0);
const paintBar = (row, value, low, high) => {
  const number = Number.isFinite(value) ? value : 0;
  const [from, to] = [percentAlong(0, low, high), percentAlong(number, low, high)].sort((a, b) => a - b);
  const [base, bar] = all("rect", row);
  base.setAttribute("x", from === to ? from + "%" : percentAlong(0, low, high) + "%");
  bar.setAttribute("x", from + "%");
  bar.setAttribute("width", to - from + "%");
  bar.setAttribute("class", number > 0 ? "above" : number < 0 ? "below" : "at");
};
const DRAWN = ["x", "width", "class"];
figureKinds.push({
  selector: "table.bars",
  copy: (table) => all(".bar rect", table).map((rect) => DRAWN.map((name) => rect.getAttribute(name))),
  restore: (table, copies) => all(".bar rect", table).forEach((rect, i) => DRAWN.forEach((name, n) => copies[i][n] !== null && rect.setAttribute(name, copies[i][n]))),
  paint: (table, { lines, span }) => all("tbody tr", table).forEach((row, i) => paintBar(row, lines[0][i], ...span)),
});
