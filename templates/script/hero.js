// The sentence under the main figure: where its numbers are largest and smallest, as figures.describe_extremes says it.
import { headsOf, isVector, linesNow, rowsOf } from "./cells.js";
import { shownFigures } from "./cases.js";
import { all, one } from "./dom.js";
import { short } from "./numbers.js";
import { now, watchers } from "./state.js";

const said = new Map(all(".hero-words").map((words) => [words, words.textContent]));
const axesOf = (figure) => all(isVector(figure) ? "thead th" : ".corner .axis", figure).map((name) => name.textContent);
const placeWithin = (figure, row, column) => {
  const [rows, columns] = axesOf(figure);
  const name = rowsOf(figure)[row]?.cells[0].textContent;
  if (isVector(figure)) return `${rows} ${rowsOf(figure)[column].cells[0].textContent}`;
  return (rowsOf(figure).length > 1 ? `${rows} ${name}, ` : "") + `${columns} ${headsOf(figure)[column].textContent}`;
};
const sentence = (figure) => {
  const cells = linesNow(figure).flatMap((line, row) => line.map((value, column) => ({ value, row, column }))).filter(({ value }) => Number.isFinite(value));
  if (cells.length < 2) return "";
  const [least, most] = [cells.reduce((a, b) => (b.value < a.value ? b : a)), cells.reduce((a, b) => (b.value > a.value ? b : a))];
  if (least.value === most.value) return `All are ${short(most.value)}.`;
  return `Most at ${placeWithin(figure, most.row, most.column)}: ${short(most.value)}. Least at ${placeWithin(figure, least.row, least.column)}: ${short(least.value)}.`;
};
watchers.push(() => shownFigures().forEach((figure) => {
  const words = one(".hero-words", figure.closest(".hero-case") ?? document.createElement("p"));
  if (words) words.textContent = now.inputs ? sentence(figure) : said.get(words);
}));
