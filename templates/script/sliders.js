// Play: sliders and number fields for the inputs; every figure follows, because the page runs the graph itself.
import { FLOAT, flat, nd } from "#replay/operations/interpreter.js";
import { caseNow, caseOf, choices, choose, dock, labelOfCase } from "./cases.js";
import { keyOf, recordedLines, sections, shownOf } from "./cells.js";
import { chosen, onAddress, say } from "./core.js";
import { data } from "./data.js";
import { button, make, one } from "./dom.js";
import { largestOf } from "./figures.js";
import { caseData, compute, enter, figureNow, inputOf, metricNow, move } from "./machine.js";
import { counted, numeric, placeOf, short, sizeOf } from "./numbers.js";
import { isDrawable, makePad } from "./pad.js";
import { live, now, watchers } from "./state.js";

const KNOBS = 64; // sliders that are offered for one input
const OPEN = 8; // so many are shown at once, where the page is wide enough
const wide = matchMedia("(min-width: 62rem)");
export const knobs = []; // each shows one element of an input and says when it was moved
let due = false;
let wanted = null;
const problem = make("p", { className: "problem", role: "alert" });
// Many events may come in one frame; the last one counts.
const request = (inputs) => {
  wanted = inputs;
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    const refused = move(wanted);
    problem.textContent = refused ? `The model cannot be run on this: ${refused}. The figures show the last numbers that worked.` : "";
  });
};
const changed = (name, change) => {
  const base = wanted && due ? wanted : now.inputs ?? {};
  const x = base[name] ?? caseData(now.id).inputs[name];
  const copy = nd(x.shape, x.kind, flat(x).slice());
  change(copy.data);
  request({ ...base, [name]: copy });
};
const niceStep = (span) => 10 ** Math.floor(Math.log10(span / 100));
const rangeOf = (name) => {
  const range = live.control?.inputs.includes(name) ? live.control.range : null;
  if (range) return range;
  const most = largestOf(Object.keys(live.cases).flatMap((id) => [...flat(caseData(id).inputs[name])]));
  return [-Math.max(1, most), Math.max(1, most)];
};
// How many rows the table has that an input's ids point into; null where the input is no ids.
const tableSize = (name) => {
  const slot = live.program.ports.indexOf(`input:${name}`);
  const step = live.program.steps.find(({ op, args }) => op === "Embedding" && args[2]?.slot === slot);
  return step?.args[1].dict.num_embeddings ?? null;
};
const settings = (name) => {
  const whole = inputOf(name).kind !== FLOAT;
  const rows = whole ? tableSize(name) : null;
  if (rows) return { min: 0, max: rows - 1, step: 1, whole, bound: true };
  const [low, high] = rangeOf(name);
  return { min: low, max: high, step: whole ? 1 : niceStep(high - low), whole };
};
const slider = (limits, label, act) => {
  const input = make("input", { type: "range", min: limits.min, max: limits.max, step: limits.whole ? 1 : "any", "aria-label": label });
  input.addEventListener("input", () => act(limits.whole ? input.valueAsNumber : Math.round(input.valueAsNumber / limits.step) * limits.step));
  input.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = Math.min(limits.max, Math.max(limits.min, input.valueAsNumber + by * Math.max(limits.step, (limits.max - limits.min) / 60)));
    input.value = next;
    act(limits.whole ? Math.round(next) : Math.round(next / limits.step) * limits.step);
  });
  return input;
};
const tidy = (value) => Number(value.toPrecision(12));
const field = (limits, label, act) => {
  const input = make("input", { type: "number", step: limits.whole ? 1 : "any", "aria-label": label });
  const bounded = (value) => (limits.bound ? Math.min(limits.max, Math.max(limits.min, Math.round(value))) : value);
  if (limits.bound) Object.assign(input, { min: limits.min, max: limits.max });
  input.addEventListener("change", () => {
    if (!Number.isFinite(input.valueAsNumber)) return;
    input.value = bounded(input.valueAsNumber);
    act(input.valueAsNumber);
  });
  return input;
};
const knob = (name, at, { sliding }) => {
  const limits = settings(name);
  const label = `${name}[${placeOf(at, inputOf(name).shape).join(", ")}]`;
  const act = (value) => changed(name, (numbers) => (numbers[at] = tidy(value)));
  const parts = [sliding ? slider(limits, `${label}, slider`, act) : null, field(limits, label, act)].filter(Boolean);
  knobs.push(() => {
    const value = flat(inputOf(name))[at];
    parts.forEach((part) => {
      if (part.type === "range") part.value = value;
      else if (part !== document.activeElement || !now.inputs) part.value = tidy(Number(value.toPrecision(6)));
    });
  });
  const place = placeOf(at, inputOf(name).shape).filter((_, d) => inputOf(name).shape[d] > 1);
  return make("div", { className: "knob" }, make("span", { "aria-hidden": "true" }, place.join(", ") || "0"), parts);
};
const master = (name) => {
  const limits = settings(name);
  const size = sizeOf(inputOf(name).shape);
  const act = (value) => changed(name, (numbers) => numbers.fill(tidy(value)));
  const input = slider(limits, `All ${size} numbers of ${name}`, act);
  const shown = make("output", {});
  knobs.push(() => {
    const values = [...flat(inputOf(name))];
    const alike = values.every((value) => value === values[0]);
    input.value = alike ? values[0] : values.reduce((a, b) => a + b, 0) / size;
    shown.textContent = alike ? short(values[0]) : "mixed";
  });
  return make("div", { className: "master" }, make("label", {}, `All ${size} together `, input), shown);
};
const padOf = (name) => {
  const { element, show } = makePad({
    name, shape: inputOf(name).shape, limits: settings(name), painted: sizeOf(inputOf(name).shape) > KNOBS,
    read: () => [...flat((due && wanted?.[name]) || inputOf(name))],
    write: (at, value) => changed(name, (numbers) => (numbers[at] = tidy(value))),
  });
  knobs.push(show);
  return element;
};
// Any number of an input that has too many for a field each: first its place, then its value.
const anyCell = (name) => {
  const size = sizeOf(inputOf(name).shape);
  const place = make("input", { type: "number", min: 0, max: size - 1, value: 0, "aria-label": `Which of the ${size} numbers of ${name}` });
  const at = () => Math.min(size - 1, Math.max(0, Math.round(place.valueAsNumber || 0)));
  const value = field(settings(name), `Its value`, (number) => changed(name, (numbers) => (numbers[at()] = tidy(number))));
  const show = () => value !== document.activeElement && (value.value = flat(inputOf(name))[at()]);
  place.addEventListener("input", show);
  knobs.push(show);
  return make("p", { className: "any-cell" }, "Number ", place, " is ", value);
};
const panelOf = (name, { sliding }) => {
  const x = inputOf(name);
  const size = sizeOf(x.shape);
  const shown = Math.min(size, KNOBS);
  const grid = make("div", { className: "knobs" }, counted(shown, (at) => knob(name, at, { sliding })));
  const rows = x.shape.filter((n) => n > 1); // a row of the input is a row here
  grid.style.setProperty("--across", Math.min(4, rows[rows.length - 1] ?? 1));
  const cut = shown < size ? make("p", { className: "caption" }, `The first ${shown} of ${size} numbers can be moved one by one.`) : null;
  if (!sliding || size < 2 || x.kind !== FLOAT) return { first: make("div", { className: "panel-play" }, grid, cut), rest: null };
  const rest = make("details", { className: "one-by-one panel-play", open: size <= OPEN && wide.matches }, make("summary", {}, "One by one"), grid, cut, shown < size ? anyCell(name) : null);
  return { first: [master(name), isDrawable(x.shape) ? padOf(name) : null], rest };
};
// Recorded against recomputed: every number that the figures show and every metric, case by case.
const distanceOf = (a, b) => (Object.is(a, b) ? 0 : Number.isNaN(a - b) ? Infinity : Math.abs(a - b));
const figureDistances = (figure, values) => {
  const { kind, at } = keyOf(figure);
  const computed = figureNow(kind, at, values);
  if (!computed) return [];
  const record = recordedLines(figure).flat();
  return shownOf(figure, computed.numbers, computed.shape).flat().map((value, i) => distanceOf(value, record[i]));
};
const metricDistances = (id, values) => (data.metrics[id] ?? []).flatMap((recorded, i) => {
  const computed = metricNow(i, values);
  return computed ? [distanceOf(computed.value, numeric(recorded))] : [];
});
export const selfTest = () => {
  const distances = Object.keys(live.cases).flatMap((id) => {
    const values = compute(id, {});
    const figures = sections.filter((figure) => [null, id].includes(caseOf(figure)));
    return [...figures.flatMap((figure) => figureDistances(figure, values)), ...metricDistances(id, values)];
  });
  return { most: distances.reduce((most, distance) => Math.max(most, distance), 0), count: distances.length };
};
const testWords = ({ most, count }) => `Self-test: this page recomputed ${count} recorded numbers; the largest difference is ${most ? most.toExponential(1) : "0"}.`;
// The reader's own numbers in the address: `state:*0.5` for all alike, else `state:2=0.5,3=1` for those that were moved.
const writeNumbers = (inputs) => Object.entries(inputs).map(([name, x]) => {
  const [mine, recorded] = [[...flat(x)], [...flat(caseData(now.id).inputs[name])]];
  if (mine.length > 1 && mine.every((value) => value === mine[0])) return `${name}:*${mine[0]}`;
  return `${name}:` + mine.flatMap((value, at) => (Object.is(value, recorded[at]) ? [] : [`${at}=${value}`])).join(",");
}).join(";");
const readNumbers = (text) => {
  const inputs = {};
  for (const part of text.split(";")) {
    const name = part.slice(0, part.lastIndexOf(":"));
    const base = caseData(now.id).inputs[name];
    if (!base) continue;
    const moved = nd(base.shape, base.kind, flat(base).slice());
    const whole = base.kind !== FLOAT;
    const put = (at, value) => Number.isFinite(value) && at >= 0 && at < moved.data.length && (moved.data[at] = whole ? Math.round(value) : value);
    const given = part.slice(name.length + 1);
    if (given.startsWith("*")) moved.data.forEach((_, at) => put(at, Number(given.slice(1))));
    else given.split(",").map((each) => each.split("=").map(Number)).forEach(([at, value]) => put(at, value));
    inputs[name] = moved;
  }
  return Object.keys(inputs).length ? inputs : null;
};
let started = false;
const followAddress = () => {
  if (started) return;
  started = true;
  watchers.push(() => chosen.writeSoon({ set: now.inputs ? writeNumbers(now.inputs) : null }));
  onAddress.push(({ set }) => {
    const inputs = set && readNumbers(set);
    if (inputs) request(inputs);
  });
};
export const startPlay = () => {
  if (!live || !dock) return;
  enter(caseNow() ?? now.id);
  const first = live.control?.inputs ?? [];
  const others = Object.keys(caseData(now.id).inputs).filter((name) => !first.includes(name) && (sizeOf(inputOf(name).shape) <= KNOBS || (inputOf(name).kind === FLOAT && isDrawable(inputOf(name).shape))));
  const status = make("p", { className: "status", role: "status" });
  const link = navigator.clipboard ? button("Copy link", async () => {
    chosen.flush();
    await navigator.clipboard.writeText(location.href);
    say("The link is copied");
  }, { className: "plain-button copy-link" }) : null;
  const back = button("Back to the record", () => { choose(caseNow()); choices.find((choice) => choice.checked)?.focus(); }, { className: "plain-button" });
  const panels = first.map((name) => panelOf(name, { sliding: true }));
  const othersFold = others.length ? make("details", { className: "other-inputs" }, make("summary", {}, first.length ? "The other inputs" : "The inputs"), others.map((name) => {
    const { first: main, rest } = panelOf(name, { sliding: inputOf(name).kind === FLOAT });
    return make("fieldset", {}, make("legend", {}, name), main, rest);
  })) : null;
  const test = make("p", { className: "caption self-test" });
  const play = make("section", { className: "play", "aria-labelledby": "play-title" },
    make("h2", { id: "play-title" }, first.length ? `Move it: ${live.control.label}` : "Move the inputs"),
    panels.map(({ first: main }) => main),
    problem,
    make("div", { className: "state-line" }, status, back, link),
    make("details", { className: "more", open: wide.matches }, make("summary", {}, "More controls"), panels.map(({ rest }) => rest), othersFold, test),
  );
  one(".controls").append(play);
  watchers.push(() => {
    knobs.forEach((show) => show());
    const words = now.inputs ? "Live: computed just now, not recorded." : choices.length ? `As recorded: ${labelOfCase(caseNow())}.` : "As recorded.";
    if (status.textContent !== words) status.textContent = words;
    back.hidden = !now.inputs;
  });
  move(null);
  followAddress();
  const run = () => (test.textContent = testWords(selfTest()));
  (globalThis.requestIdleCallback ?? setTimeout)(run);
};
