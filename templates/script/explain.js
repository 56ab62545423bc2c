// How one number arises: an explanation is a list of blocks, made from the very step of the program that gave it.
// A block is {says: words}, {line: parts}, {head, rows, total} (a table) or {fold: title, blocks}; parts are words,
// numbers and references {port, at} to other elements.
import { FLOAT, decode, flat, nd, op } from "#replay/operations/interpreter.js";
import { atPlace, placeOf, sizeOf } from "./numbers.js";
import { live, now, stepOf } from "./state.js";

/** @typedef {{ port: string, at: number }} Element an element of an array of the program */
/** @typedef {{ port: string, shape: number[], flat: Float64Array }} Tensor an array of the program, as an argument */
/** @typedef {number | Element} Operand */
/** @typedef {string | Operand} Part */
/**
 * @typedef {object} Block
 * @property {string} [says]
 * @property {Part[]} [line]
 * @property {string[]} [head]
 * @property {Part[][]} [rows]
 * @property {Part[]} [total]
 * @property {number} [chosen] the row that is lit
 * @property {string} [fold]
 * @property {Block[]} [blocks]
 */
/** @typedef {{ value: number, blocks: Block[] }} Explanation */
/**
 * How the number at a place of an operation's result arises; `out` counts its results.
 * @typedef {(args: any, place: number[], out?: number, step?: any) => Explanation} Explainer
 */
export const TABLES = 96; // rows that a table writes out
export const tensorAt = (port) => ({ port, shape: now.values[port].shape, flat: flat(now.values[port]) });
const argument = (a) => {
  if (Array.isArray(a)) return a.map(argument);
  if (a === null || typeof a !== "object") return a;
  if ("slot" in a) return tensorAt(live.program.ports[a.slot]);
  if ("float" in a) return Number(a.float);
  return "dict" in a ? Object.fromEntries(Object.entries(a.dict).map(([key, value]) => [key, argument(value)])) : a;
};
/** @type {(x: Tensor, place: number[]) => Element} */
export const ref = (x, place) => asRead({ port: x.port, at: atPlace(place, x.shape) });
// Where a step has written into the memory of an element, those who read it later read what that step gave.
let reading = 0; // the step that is written out
const asRead = (part) => {
  const x = now.slots[live.program.ports.indexOf(part.port)];
  if (!x || Object.is(flat(x)[part.at], numberOf(part))) return part;
  const lying = (y) => flat({ ...y, data: y.data.map((_, i) => i) });
  const cell = lying(x)[part.at];
  for (let s = (stepOf[part.port] ?? -1) + 1; s < reading; s++) {
    for (const [slot] of live.program.steps[s].out) {
      const at = now.slots[slot].data === x.data ? lying(now.slots[slot]).indexOf(cell) : -1;
      const other = { port: live.program.ports[slot], at };
      if (at >= 0 && !Object.is(numberOf(other), numberOf(part))) part = other; // a view that shows the same wrote nothing
    }
  }
  return part;
};
/** @type {(part: Operand) => number} */
export const numberOf = (part) => (typeof part === "number" ? part : now.values[part.port] ? flat(now.values[part.port])[part.at] : NaN);
/** @type {(parts: Operand[]) => number} */
export const sumOf = (parts) => parts.map(numberOf).reduce((sum, number) => sum + number, 0);
const fitted = (shape, place) => shape.map((n, d) => (n === 1 ? 0 : place[place.length - shape.length + d]));
// The element of `x` that takes part in the element at `place` of a result to which it was broadcast.
/** @type {(x: Tensor, place: number[]) => Element} */
export const spread = (x, place) => ref(x, fitted(x.shape, place));
/** @type {(pairs: Operand[][], bias: Operand, names?: string[]) => Explanation} */
export const products = (pairs, bias, names = ["Input", "Weight"]) => {
  const sum = pairs.reduce((s, [a, b]) => s + numberOf(a) * numberOf(b), 0);
  const rows = pairs.map(([a, b]) => [a, b, numberOf(a) * numberOf(b)]);
  /** @type {Block[]} */
  const blocks = [{ head: [...names, "Product"], rows, total: ["Sum of the products", sum] }];
  if (bias) blocks.push({ line: [sum, " + bias ", bias, " = ", sum + numberOf(bias)] });
  return { blocks, value: sum + (bias ? numberOf(bias) : 0) };
};
/** @type {Record<string, Explainer>} */
export const EXPLAIN = {};
// For the operations of a family that have no explanation of their own.
/** @type {Record<string, Explainer>} */
export const EXPLAIN_FAMILY = {};
// Element by element: the same kernel, on the one element of each argument. `sign` writes it between two of them;
// `scaled` says that an argument that is no tensor may multiply the second.
export const written = (sign, { scaled = false } = {}) => (args, place, out, step) => {
  const slots = live.program.ports.map((port) => now.values[port]);
  const parts = [];
  const scalar = (a, plain) => {
    if (Array.isArray(a)) return a.map((each, i) => scalar(each, plain[i]));
    if (a === null || typeof a !== "object" || !("slot" in a)) return plain;
    const part = spread(tensorAt(live.program.ports[a.slot]), place);
    parts.push(part);
    return nd([], slots[a.slot].kind, Float64Array.of(numberOf(part)));
  };
  const decoded = decode(step.args, slots);
  const value = flat(op[step.op](...decoded.map((a, i) => scalar(step.args[i], a))))[0];
  const numbers = step.args.filter((a) => typeof a === "number" || (a && typeof a === "object" && "float" in a)).map((a) => Number(a.float ?? a));
  const named = (list) => [`${step.op.toLowerCase()}(`, ...list.flatMap((part, i) => (i ? [", ", part] : [part])), ") = "];
  const both = [...parts, ...numbers].slice(0, 2);
  const factor = scaled ? numbers[parts.length === 2 ? 0 : 1] : 1;
  const line = sign && both.length === 2 && (factor ?? 1) === 1 ? [both[0], sign, both[1], " = "] : named(parts.length ? [...parts, ...(sign ? numbers : [])] : numbers);
  return { value, blocks: [{ says: parts.length > 1 ? "Two tensors, element by element." : "A function of one element." }, { line: [...line, value] }] };
};
/** @type {Explainer} */
export const elementwise = written(null);
// Moved, not changed: the same kernel on numbered elements tells where one came from. `data` are the positions of the
// arguments that hold the numbers.
export const movedFrom = (...data) => (given, place, out, step) => {
  const slots = live.program.ports.map((port) => now.values[port]);
  const sources = [];
  const numbered = (a, plain) => {
    if (Array.isArray(a)) return a.map((each, i) => numbered(each, plain[i]));
    if (!(a?.slot in slots)) return plain;
    const { shape, kind } = plain;
    const first = sources.reduce((n, each) => n + each.size, 2 ** 40); // no number of the code's own
    const size = sizeOf(shape);
    sources.push({ port: live.program.ports[a.slot], first, size });
    return nd(shape, kind || FLOAT, Float64Array.from({ length: size }, (_, i) => first + i));
  };
  const args = decode(step.args, slots);
  for (const i of data) args[i] = numbered(step.args[i], args[i]);
  const leaf = [op[step.op](...args)].flat(Infinity).filter((x) => x !== null)[out];
  const number = flat(leaf)[atPlace(fitted(leaf.shape, place), leaf.shape)];
  const source = sources.find(({ first, size }) => number >= first && number < first + size);
  if (!source) return { value: number, blocks: [{ says: `${step.op} puts this number here; it comes from no tensor.` }] };
  const part = asRead({ port: source.port, at: number - source.first });
  return { value: numberOf(part), blocks: [{ says: `${step.op} moves numbers and changes none. This one was` }, { line: [part] }] };
};
// A leaf module's weights and parameters come before its input.
/** @type {Explainer} */
export const moved = (args, place, out, step) => movedFrom(step.args[0].dict ? 2 : 0)(args, place, out, step);
const explanationOf = (step) => EXPLAIN[step.op] ?? EXPLAIN_FAMILY[live.families[step.op]] ?? (() => null);
const close = (a, b) => Object.is(a, b) || Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b)) || (Number.isNaN(a) && Number.isNaN(b));
const inputsOf = (step) => {
  const ports = [];
  const look = (a) => {
    if (Array.isArray(a)) a.forEach(look);
    else if (a && typeof a === "object") "slot" in a ? ports.push(live.program.ports[a.slot]) : "dict" in a && look(Object.values(a.dict));
  };
  look(step.args);
  return [...new Set(ports)];
};
/** @type {Record<string, string>} */
export const GIVEN = {
  input: "This number is given: it is an input of the run.",
  buffer: "This number is a buffer: kept by the model, and not learned.",
  param: "This number is a weight: drawn when the model was built, or set by the case. It is kept in weights.safetensors.",
};
const attempt = (act) => {
  try {
    return act();
  } catch {
    return null;
  }
};
// Answers {blocks, value, inputs, whole}: `whole` says that the cell is not written out, only what it is made from.
export const explain = ({ port, at }) => {
  if (!(port in stepOf)) {
    const kind = port.slice(0, port.indexOf(":"));
    return { blocks: [{ says: GIVEN[kind in GIVEN ? kind : "param"] }], value: numberOf({ port, at }), inputs: [], whole: false };
  }
  reading = stepOf[port];
  const step = live.program.steps[reading];
  const out = step.out.findIndex(([slot]) => live.program.ports[slot] === port);
  const explanation = attempt(() => explanationOf(step)(argument(step.args), placeOf(at, now.values[port].shape), out, step));
  const inputs = inputsOf(step);
  if (explanation && close(explanation.value, numberOf({ port, at }))) return { ...explanation, inputs, whole: false };
  const says = `The page computes ${step.op} as a whole. It reads:`;
  return { blocks: [{ says }], value: numberOf({ port, at }), inputs, whole: true };
};
