// How one number arises: an explanation is a list of blocks, made from the very step of the program that gave it.
// A block is {says: words}, {line: parts}, {head, rows, total} (a table) or {fold: title, blocks}; parts are words,
// numbers and references {port, at} to other elements.
const TABLES = 96; // rows that a table writes out
const tensorAt = (port) => ({ port, shape: now.values[port].shape, flat: machine.flat(now.values[port]) });
const argument = (a) => {
  if (Array.isArray(a)) return a.map(argument);
  if (a === null || typeof a !== "object") return a;
  if ("slot" in a) return tensorAt(live.program.ports[a.slot]);
  if ("float" in a) return Number(a.float);
  return "dict" in a ? Object.fromEntries(Object.entries(a.dict).map(([key, value]) => [key, argument(value)])) : a;
};
const isTensor = (a) => a !== null && typeof a === "object" && "port" in a;
const ref = (x, place) => asRead({ port: x.port, at: atPlace(place, x.shape) });
// Where a step has written into the memory of an element, those who read it later read what that step gave.
let reading = 0; // the step that is written out
const asRead = (part) => {
  const x = now.slots[live.program.ports.indexOf(part.port)];
  if (!x || Object.is(machine.flat(x)[part.at], valueOf(part))) return part;
  const lying = (y) => machine.flat({ ...y, data: y.data.map((_, i) => i) });
  const cell = lying(x)[part.at];
  for (let s = (stepOf[part.port] ?? -1) + 1; s < reading; s++) {
    for (const [slot] of live.program.steps[s].out) {
      const at = now.slots[slot].data === x.data ? lying(now.slots[slot]).indexOf(cell) : -1;
      const other = { port: live.program.ports[slot], at };
      if (at >= 0 && !Object.is(valueOf(other), valueOf(part))) part = other; // a view that shows the same wrote nothing
    }
  }
  return part;
};
const valueOf = (part) => (typeof part === "number" ? part : now.values[part.port] ? machine.flat(now.values[part.port])[part.at] : NaN);
const total = (parts) => parts.reduce((sum, part) => sum + valueOf(part), 0);
const fitted = (shape, place) => shape.map((n, d) => (n === 1 ? 0 : place[place.length - shape.length + d]));
// The element of `x` that takes part in the element at `place` of a result to which it was broadcast.
const spread = (x, place) => ref(x, fitted(x.shape, place));
const products = (pairs, bias, names = ["Input", "Weight"]) => {
  const sum = pairs.reduce((s, [a, b]) => s + valueOf(a) * valueOf(b), 0);
  const rows = pairs.map(([a, b]) => [a, b, valueOf(a) * valueOf(b)]);
  const blocks = [{ head: [...names, "Product"], rows, total: ["Sum of the products", sum] }];
  if (bias) blocks.push({ line: [sum, " + bias ", bias, " = ", sum + valueOf(bias)] });
  return { blocks, value: sum + (bias ? valueOf(bias) : 0) };
};
const EXPLAIN = {};
// Elementwise operations: the same kernel, on the one element of each argument.
const INFIX = { add: " + ", sub: " − ", mul: " × ", div: " / ", pow: " ^ " };
const elementwise = (step, place) => {
  const slots = live.program.ports.map((port) => now.values[port]);
  const parts = [];
  const scalar = (a, plain) => {
    if (Array.isArray(a)) return a.map((each, i) => scalar(each, plain[i]));
    if (a === null || typeof a !== "object" || !("slot" in a)) return plain;
    const part = spread(tensorAt(live.program.ports[a.slot]), place);
    parts.push(part);
    return machine.nd([], slots[a.slot].kind, Float64Array.of(valueOf(part)));
  };
  const decoded = machine.decode(step.args, slots);
  const value = machine.flat(machine.op[step.op](...decoded.map((a, i) => scalar(step.args[i], a))))[0];
  const numbers = step.args.filter((a) => typeof a === "number" || (a && typeof a === "object" && "float" in a)).map((a) => Number(a.float ?? a));
  const sign = INFIX[step.op];
  const named = (list) => [`${step.op.toLowerCase()}(`, ...list.flatMap((part, i) => (i ? [", ", part] : [part])), ") = "];
  const both = [...parts, ...numbers].slice(0, 2);
  const scaled = step.op === "add" || step.op === "sub" ? numbers[parts.length === 2 ? 0 : 1] : 1;
  const line = sign && both.length === 2 && (scaled ?? 1) === 1 ? [both[0], sign, both[1], " = "] : named(parts.length ? [...parts, ...(sign ? numbers : [])] : numbers);
  return { value, blocks: [{ says: parts.length > 1 ? "Two tensors, element by element." : "A function of one element." }, { line: [...line, value] }] };
};
// Moved, not changed: the same kernel on numbered elements tells where one came from.
const DATA = { setitem: [0, 2], index_put: [0, 2], scatter: [0, 3], index_copy: [0, 3], copy: [0, 1] }; // where data stand
const moved = (step, place, out) => {
  const slots = live.program.ports.map((port) => now.values[port]);
  const sources = [];
  const numbered = (a, plain) => {
    if (Array.isArray(a)) return a.map((each, i) => numbered(each, plain[i]));
    if (!(a?.slot in slots)) return plain;
    const { shape, kind } = plain;
    const first = sources.reduce((n, each) => n + each.size, 2 ** 40); // no number of the code's own
    const size = sizeOf(shape);
    sources.push({ port: live.program.ports[a.slot], first, size });
    return machine.nd(shape, kind || machine.FLOAT, Float64Array.from({ length: size }, (_, i) => first + i));
  };
  const args = machine.decode(step.args, slots);
  for (const i of DATA[step.op] ?? [step.args[0].dict ? 2 : 0]) args[i] = numbered(step.args[i], args[i]);
  const leaf = [machine.op[step.op](...args)].flat(Infinity).filter((x) => x !== null)[out];
  const number = machine.flat(leaf)[atPlace(fitted(leaf.shape, place), leaf.shape)];
  const source = sources.find(({ first, size }) => number >= first && number < first + size);
  if (!source) return { value: number, blocks: [{ says: `${step.op} puts this number here; it comes from no tensor.` }] };
  const part = asRead({ port: source.port, at: number - source.first });
  return { value: valueOf(part), blocks: [{ says: `${step.op} moves numbers and changes none. This one was` }, { line: [part] }] };
};
// Made from the model's own code: the same kernel once more.
const created = (step, place, out) => {
  const slots = live.program.ports.map((port) => now.values[port]);
  const leaf = [machine.op[step.op](...machine.decode(step.args, slots))].flat(Infinity)[out];
  const value = machine.flat(leaf)[atPlace(place, leaf.shape)];
  return { value, blocks: [{ says: `${step.op} takes this number from the model's code, not from the data.` }, { line: [value] }] };
};
const MOVES = new Set(["alias", "clone", "contiguous", "copy", "dropout", "Dropout"]);
const wayOf = (step) => {
  if (EXPLAIN[step.op]) return (place, out) => EXPLAIN[step.op](argument(step.args), place, out, step);
  const family = live.families[step.op];
  if (MOVES.has(step.op) || family === "shapes" || family === "indexing") return (place, out) => moved(step, place, out);
  if (family === "creation") return (place, out) => created(step, place, out);
  if (family === "elementwise" || family === "activations") return (place) => elementwise(step, place);
  return () => null;
};
const close = (a, b) => Object.is(a, b) || Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b)) || (Number.isNaN(a) && Number.isNaN(b));
const inputsOf = (step) => {
  const found = [];
  const look = (a) => {
    if (Array.isArray(a)) a.forEach(look);
    else if (a && typeof a === "object") "slot" in a ? found.push(live.program.ports[a.slot]) : "dict" in a && look(Object.values(a.dict));
  };
  look(step.args);
  return [...new Set(found)];
};
const GIVEN = {
  input: "This number is given: it is an input of the run.",
  buffer: "This number is kept by the model (a buffer): no weight, and nothing is learned in it.",
  param: "This number is a weight: drawn when the model was built, or set by the case. It is kept in weights.safetensors.",
};
// Answers {blocks, value, inputs, whole}: `whole` says that the cell is not written out, only what it is made from.
const explain = ({ port, at }) => {
  if (!(port in stepOf)) {
    const kind = port.slice(0, port.indexOf(":"));
    return { blocks: [{ says: GIVEN[kind] ?? GIVEN.param }], value: valueOf({ port, at }), inputs: [], whole: false };
  }
  reading = stepOf[port];
  const step = live.program.steps[reading];
  const out = step.out.findIndex(([slot]) => live.program.ports[slot] === port);
  let told = null;
  try {
    told = wayOf(step)(placeOf(at, now.values[port].shape), out);
  } catch {
    told = null;
  }
  const inputs = inputsOf(step);
  if (told && close(told.value, valueOf({ port, at }))) return { ...told, inputs, whole: false };
  const says = `The page computes ${step.op} as a whole and does not write out its single cells. It reads:`;
  return { blocks: [{ says }], value: valueOf({ port, at }), inputs, whole: true };
};
