// Cases: choosing one shows its record. What a reader moves shows in the same figures, marked as live.
import { cellsOf, keyOf, recordedLines, sections, shownOf } from "./cells.js";
import { chosen, onAddress } from "./core.js";
import { data } from "./data.js";
import { all, one } from "./dom.js";
import { extremes, figureKinds, scaleOf } from "./figures.js";
import { exact, short } from "./numbers.js";
import { computing, now, watchers } from "./state.js";

export const choices = all('.chooser input[type="radio"]');
export const example = one("#example");
export const dock = one(".dock");
export const caseNow = () => choices.find((choice) => choice.checked)?.value ?? null;
export const labelOfCase = (id) => one(`label[for="${choices.find((choice) => choice.value === id).id}"]`).textContent;
// The case whose record a figure shows; null for a figure that is the same in every case.
export const caseOf = (figure) => {
  const around = figure.closest(".case, .hero-case");
  return around ? around.dataset.case ?? around.dataset.shows : null;
};
export const shownFigures = () => sections.filter((figure) => [null, caseNow() ?? caseOf(figure)].includes(caseOf(figure)));
export const recordOf = (id, kind, at, panel) => {
  const key = `${id}/${kind}/${at}`;
  const first = Object.keys(data.metrics)[0];
  return data.figures[`${key}/${panel}`] ?? data.figures[key] ?? data.figures[`${first}/${kind}/${at}/${panel}`] ?? data.figures[`${first}/${kind}/${at}`];
};
export const caseIds = choices.map((choice) => choice.value);
const originals = new Map(); // what the page came with, to be put back
const rangeOfFigure = (figure) => one("figcaption .range span", figure.closest("figure"));
const keep = (figure) => {
  if (originals.has(figure)) return;
  const range = rangeOfFigure(figure);
  if (range) range.dataset.recorded ??= range.textContent;
  const pictures = figureKinds.map(({ selector, copy }) => one(selector, figure) && copy(one(selector, figure)));
  originals.set(figure, { cells: cellsOf(figure).map((cell) => cell.textContent), pictures });
};
const restore = (figure) => {
  const kept = originals.get(figure);
  if (!kept) return;
  cellsOf(figure).forEach((cell, i) => (cell.textContent = kept.cells[i]));
  figureKinds.forEach(({ selector, restore: put }, i) => kept.pictures[i] && put(one(selector, figure), kept.pictures[i]));
  const range = rangeOfFigure(figure);
  if (range) range.textContent = range.dataset.recorded;
};
const paint = (figure) => {
  const { kind, at } = keyOf(figure);
  const computed = computing.figure(kind, at);
  if (!computed) return;
  keep(figure);
  const lines = shownOf(figure, computed.numbers, computed.shape);
  cellsOf(figure).forEach((cell, i) => (cell.textContent = short(lines.flat()[i], computed.whole)));
  const shown = { lines, record: recordedLines(figure), numbers: computed.numbers, scale: scaleOf(kind, at), whole: computed.whole };
  figureKinds.forEach(({ selector, paint: redraw }) => one(selector, figure) && redraw(one(selector, figure), shown));
  const range = rangeOfFigure(figure);
  if (range) range.textContent = `${range.dataset.recorded.split(" · ")[0]} · ${extremes(computed.numbers)}`;
};
const paintMetrics = () => {
  all(".case").forEach((section) => all(".metrics dd:not(.change)", section).forEach((term, i) => {
    term.dataset.recorded ??= term.textContent;
    term.dataset.exact ??= term.title;
    const moved = now.inputs && section.dataset.case === caseNow();
    const metric = moved ? computing.metric(i) : null;
    term.textContent = moved ? (metric ? short(metric.value, metric.whole) : "–") : term.dataset.recorded;
    term.title = moved ? (metric ? exact(metric.value) : "Recorded only") : term.dataset.exact;
  }));
};
const repaint = () => {
  const figures = shownFigures();
  if (now.inputs) figures.forEach(paint);
  else sections.forEach(restore);
  paintMetrics();
  [example, dock].forEach((part) => part.classList.toggle("live", Boolean(now.inputs)));
};
export const choose = (id, { quiet = false } = {}) => {
  const choice = choices.find((each) => each.value === id);
  if (!choice) return;
  choice.checked = true;
  computing.showCase(id);
  if (!quiet) chosen.write({ case: id });
};
export const startCases = () => {
  if (!choices.length) return;
  watchers.unshift(repaint);
  onAddress.push(({ case: id }) => caseIds.includes(id) && id !== caseNow() && choose(id, { quiet: true }));
  choices.forEach((input) => input.addEventListener("change", () => choose(input.value)));
};
