// Two cases side by side: what is shown minus the record of another case, with the largest change named.
import { caseIds, caseNow, caseOf, choices, labelOfCase, recordOf, shownFigures } from "./cases.js";
import { headsOf, isVector, keyOf, linesNow, rowsOf } from "./cells.js";
import { chosen, onAddress } from "./core.js";
import { data } from "./data.js";
import { all, make, one } from "./dom.js";
import { heatmap, isNear, largestOf, scaleFor, scaleWords } from "./figures.js";
import { exact, numeric, signed } from "./numbers.js";
import { computing, now, watchers } from "./state.js";

const picker = make("select", { id: "versus" });
const versus = () => picker.value || null;
const axisName = (figure, row, column) => {
  const line = rowsOf(figure)[row];
  if (isVector(figure)) return `[${line.cells[0].textContent}]`;
  return `[${line.cells[0].textContent}, ${headsOf(figure)[column].textContent}]`;
};
const nameOf = (figure) => [one("figcaption .name", figure.closest("figure")).textContent, one(".panel-name", figure)?.textContent].filter(Boolean).join(", ");
const differenceView = (figure) => {
  const { kind, at, panel } = keyOf(figure);
  const other = recordOf(versus(), kind, at, panel);
  const shown = linesNow(figure);
  if (!other || other.length !== shown.length || other[0].length !== shown[0].length) return make("p", { className: "caption" }, "This figure has another shape in the other case.");
  const lines = shown.map((line, r) => line.map((value, c) => (isNear(value, numeric(other[r][c])) ? 0 : value - numeric(other[r][c]))));
  const values = lines.flat();
  const largest = largestOf(values);
  const where = values.findIndex((value) => Math.abs(value) === largest);
  const width = lines[0].length;
  const [row, column] = isVector(figure) ? [where, 0] : [Math.floor(where / width), where % width];
  const words = largest ? `Largest change ${signed(values[where])} at ${axisName(figure, row, column)}.` : "No change.";
  const title = `Change from “${labelOfCase(versus())}”`;
  const box = make("div", { className: "difference" }, make("p", { className: "change-title" }, title), make("p", { className: "range" }, `${words} ${largest ? scaleWords(scaleFor(values)) : ""}`));
  if (largest && !isVector(figure)) box.append(make("div", { className: "picture" }, heatmap(lines, scaleFor(values), `${title}. ${words}`)));
  const heads = isVector(figure) ? ["Change"] : headsOf(figure).map((th) => th.textContent);
  const rows = isVector(figure) ? values.map((value) => [value]) : lines;
  const labels = rowsOf(figure).map((line) => line.cells[0].textContent);
  if (largest) {
    box.append(make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": `${title}: ${nameOf(figure)}` }, make("table", { className: "values" }, make("caption", {}, title),
      make("thead", {}, make("tr", {}, make("td", {}), heads.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, rows.map((line, r) => make("tr", {}, make("th", { scope: "row" }, labels[r]), line.map((value) => make("td", { title: exact(value) }, signed(value)))))))));
  }
  return box;
};
const showDifferences = () => {
  all(".difference, .metrics .change").forEach((box) => box.remove());
  if (!versus()) return;
  shownFigures().forEach((figure) => {
    if (caseOf(figure) !== null || now.inputs) figure.append(differenceView(figure));
  });
  const around = one(`.case[data-case="${caseNow()}"]`);
  all(".metrics dd:not(.change)", around).forEach((term, i) => {
    const value = now.inputs ? computing.metric(i)?.value : numeric(data.metrics[caseNow()][i]);
    const before = numeric(data.metrics[versus()][i]);
    const change = value - before;
    if (Number.isFinite(change)) term.parentElement.append(make("dd", { className: "change" }, isNear(value, before) ? "no change" : signed(change)));
  });
};
export const startCompare = () => {
  if (choices.length < 2) return;
  const line = make("div", { className: "compare" }, make("label", { htmlFor: "versus" }, "Compare with "), picker);
  const offer = () => {
    const before = picker.value;
    const others = caseIds.filter((id) => id !== caseNow() || now.inputs);
    picker.replaceChildren(make("option", { value: "" }, "nothing"), ...others.map((id) => make("option", { value: id }, labelOfCase(id).replace(/^✓ /, ""))));
    picker.value = others.includes(before) ? before : "";
  };
  offer();
  (one(".more") ?? one(".controls")).append(line);
  picker.addEventListener("change", () => {
    showDifferences();
    chosen.write({ versus: versus() });
  });
  watchers.push(() => {
    offer();
    showDifferences();
  });
  onAddress.push(({ versus: id }) => {
    if (![...picker.options].some((option) => option.value === id)) return;
    picker.value = id;
    showDifferences();
  });
};
