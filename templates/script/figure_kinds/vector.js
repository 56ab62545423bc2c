// A vector as bars from zero, on the figure's scale; a mark stays where the record was.
import { all, draw, one } from "../dom.js";
import { figureKinds, isNear } from "../figures.js";

const percentAlong = (value, low, high) => (high > low ? 100 * Math.min(1, Math.max(0, (value / 2 - low / 2) / (high / 2 - low / 2))) : 0);
const paintBar = (row, value, was, low, high) => {
  const number = Number.isFinite(value) ? value : 0;
  const [from, to] = [percentAlong(0, low, high), percentAlong(number, low, high)].sort((a, b) => a - b);
  const bar = one("rect:not(.base)", row);
  bar.setAttribute("x", from + "%");
  bar.setAttribute("width", to - from + "%");
  bar.setAttribute("class", number > 0 ? "above" : number < 0 ? "below" : "at");
  markBar(row, value > high ? "over" : value < low ? "under" : "", Number.isFinite(was) && !isNear(value, was) ? percentAlong(was, low, high) : null);
};
const markBar = (row, end, was) => {
  one(".bar", row).dataset.end = end;
  one(".was", row)?.remove();
  if (was !== null) one(".bar svg", row).append(draw("rect", { class: "was", x: was + "%" }));
};
const DRAWN = ["x", "width", "class"];
figureKinds.push({
  selector: "table.bars",
  copy: (table) => all(".bar rect", table).map((rect) => DRAWN.map((name) => rect.getAttribute(name))),
  restore: (table, copies) => {
    all("tbody tr", table).forEach((row) => markBar(row, "", null));
    all(".bar rect", table).forEach((rect, i) => DRAWN.forEach((name, n) => copies[i][n] !== null && rect.setAttribute(name, copies[i][n])));
  },
  paint: (table, { lines, record, scale }) => all("tbody tr", table).forEach((row, i) => paintBar(row, lines[0][i], record[0][i], ...scale)),
});
