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
const ref = (x, place) => ({ port: x.port, at: atPlace(place, x.shape) });
const valueOf = (part) => (typeof part === "number" ? part : now.values[part.port] ? machine.flat(now.values[part.port])[part.at] : NaN);
const total = (parts) => parts.reduce((sum, part) => sum + valueOf(part), 0);
// The element of `x` that takes part in the element at `place` of a result to which it was broadcast.
const spread = (x, place) => ref(x, x.shape.map((n, d) => (n === 1 ? 0 : place[place.length - x.shape.length + d])));
const counted = (n, f) => Array.from({ length: n }, (_, i) => f(i));
const products = (pairs, bias, names = ["Input", "Weight"]) => {
  const sum = pairs.reduce((s, [a, b]) => s + valueOf(a) * valueOf(b), 0);
  const rows = pairs.map(([a, b]) => [a, b, valueOf(a) * valueOf(b)]);
  const blocks = [{ head: [...names, "Product"], rows, total: ["Sum of the products", sum] }];
  if (bias) blocks.push({ line: [sum, " + bias ", bias, " = ", sum + valueOf(bias)] });
  return { blocks, value: sum + (bias ? valueOf(bias) : 0) };
};
const EXPLAIN = {};
EXPLAIN.Linear = ([w, , x], place) => EXPLAIN.linear([x, w.weight, w.bias ?? null], place);
EXPLAIN.linear = ([x, weight, bias], place) => {
  const [before, o] = [place.slice(0, -1), place[place.length - 1] ?? 0];
  const pairs = counted(x.shape[x.shape.length - 1], (i) => [ref(x, [...before, i]), ref(weight, weight.shape.length > 1 ? [o, i] : [i])]);
  const told = products(pairs, bias && ref(bias, [o]));
  return { ...told, blocks: [{ says: `Each input times its weight in row ${o}, added up${bias ? ", plus a bias" : ""}.` }, ...told.blocks] };
};
EXPLAIN.matmul = ([a, b], place) => {
  const [x, y] = [a.shape.length > 1, b.shape.length > 1];
  const column = y ? place[place.length - 1] : null;
  const row = x ? place[place.length - 1 - (y ? 1 : 0)] : null;
  const batch = place.slice(0, place.length - (x ? 1 : 0) - (y ? 1 : 0));
  const within = (t, tail) => {
    const lead = t.shape.length - tail.length;
    return ref(t, [...counted(lead, (d) => (t.shape[d] === 1 ? 0 : batch[batch.length - lead + d])), ...tail]);
  };
  const pairs = counted(a.shape[a.shape.length - 1], (k) => [within(a, x ? [row, k] : [k]), within(b, y ? [k, column] : [k])]);
  const told = products(pairs, null, ["Left", "Right"]);
  return { ...told, blocks: [{ says: "A row times a column, added up." }, ...told.blocks] };
};
for (const name of ["mm", "bmm", "mv", "dot"]) EXPLAIN[name] = EXPLAIN.matmul;
EXPLAIN.addmm = ([x, a, b, beta, alpha], place) => {
  const told = EXPLAIN.matmul([a, b], place);
  const start = spread(x, place);
  const value = beta * valueOf(start) + alpha * told.value;
  return { value, blocks: [...told.blocks, { line: [beta, " × ", start, " + ", alpha, " × ", told.value, " = ", value] }] };
};
const lineAlong = (x, place, d) => counted(x.shape[d], (i) => ref(x, place.map((p, e) => (e === d ? i : p))));
const softmax = (x, dim, place) => {
  const d = dim === null ? x.shape.length - 1 : (dim + x.shape.length) % x.shape.length;
  const line = lineAlong(x, place, d);
  const top = Math.max(...line.map(valueOf));
  const shift = top > 300 || top < -300 ? top : 0; // as it is computed, but written plainly where that is safe
  const powers = line.map((part) => Math.exp(valueOf(part) - shift));
  const sum = powers.reduce((a, b) => a + b, 0);
  const head = [`Place along axis ${d}`, "Input", shift ? `exp(input − ${short(shift)})` : "exp(input)"];
  const value = powers[place[d]] / sum;
  return { value, blocks: [
    { says: "The exponential of this input, as a share of the sum of all exponentials along the axis." },
    { head, rows: line.map((part, i) => [String(i), part, powers[i]]), total: ["Sum", sum], chosen: place[d] },
    { line: [`exp(`, line[place[d]], shift ? ` − ${short(shift)}) / sum = ` : ") / sum = ", powers[place[d]], " / ", sum, " = ", value] },
  ] };
};
EXPLAIN.softmax = ([x, dim], place) => softmax(x, dim, place);
EXPLAIN.Softmax = ([, p, x], place) => softmax(x, p.dim ?? null, place);
const logSoftmax = (x, dim, place) => {
  const told = softmax(x, dim, place);
  const value = Math.log(told.value);
  return { value, blocks: [...told.blocks, { line: ["log(", told.value, ") = ", value] }] };
};
EXPLAIN.log_softmax = ([x, dim], place) => logSoftmax(x, dim, place);
EXPLAIN.LogSoftmax = ([, p, x], place) => logSoftmax(x, p.dim ?? null, place);
// Reductions: the elements that one result is made of.
const reduced = ([x, dim, keepdim], place) => {
  const rank = x.shape.length;
  const dims = dim === null || dim === undefined || [dim].flat().length === 0 ? counted(rank, (d) => d) : [dim].flat().map((d) => (d + rank) % rank);
  const kept = keepdim ? place : counted(rank, (d) => d).reduce((full, d) => [...full, dims.includes(d) ? 0 : place[full.filter((_, e) => !dims.includes(e)).length]], []);
  const spans = dims.map((d) => x.shape[d]);
  return counted(sizeOf(spans), (i) => {
    const inner = placeOf(i, spans);
    return ref(x, kept.map((p, d) => (dims.includes(d) ? inner[dims.indexOf(d)] : p)));
  });
};
const listed = (parts, says, last) => ({ blocks: [{ says }, { head: ["Term", "Value"], rows: parts.map((part, i) => [String(i), part]), total: last }], value: last[1] });
EXPLAIN.sum = (args, place) => {
  const parts = reduced(args, place);
  return listed(parts, `${parts.length} values added up.`, ["Sum", total(parts)]);
};
EXPLAIN.mean = (args, place) => {
  const parts = reduced(args, place);
  const told = listed(parts, `The mean of ${parts.length} values.`, ["Sum", total(parts)]);
  const value = told.value / parts.length;
  return { value, blocks: [...told.blocks, { line: [told.value, ` / ${parts.length} = `, value] }] };
};
const picked = (choose, word) => (args, place, out) => {
  if (out) return null;
  const parts = reduced(args, place);
  return listed(parts, `The ${word} of ${parts.length} values.`, [word, choose(...parts.map(valueOf))]);
};
for (const name of ["amax", "max"]) EXPLAIN[name] = picked(Math.max, "largest");
for (const name of ["amin", "min"]) EXPLAIN[name] = picked(Math.min, "smallest");
EXPLAIN.Embedding = ([w, , x], place) => EXPLAIN.embedding([x, w.weight], place);
EXPLAIN.embedding = ([x, weight], place) => {
  const [id, column] = [ref(x, place.slice(0, -1)), place[place.length - 1]];
  const cell = ref(weight, [valueOf(id), column]);
  return { value: valueOf(cell), blocks: [{ says: `A look-up: the token's id picks a row of the table, this is its column ${column}.` }, { line: ["row ", id, ", column ", String(column), ": ", cell] }] };
};
EXPLAIN.LayerNorm = ([w, p, x], place) => {
  const n = [p.normalized_shape].flat().length;
  const spans = x.shape.slice(-n);
  const parts = counted(sizeOf(spans), (i) => ref(x, [...place.slice(0, -n), ...placeOf(i, spans)]));
  const values = parts.map(valueOf);
  const mean = total(parts) / values.length;
  const variance = values.reduce((s, v) => s + (v - mean) ** 2, 0) / values.length;
  const [self, tail] = [ref(x, place), place.slice(-n)];
  let value = (valueOf(self) - mean) / Math.sqrt(variance + p.eps);
  const blocks = [
    { says: `Centred and scaled by the mean and variance of ${values.length} values.` },
    { fold: "The values", blocks: [{ head: ["Term", "Value"], rows: parts.map((part, i) => [String(i), part]), total: ["Mean", mean] }] },
    { line: ["mean ", mean, ", variance ", variance] },
    { line: ["(", self, " − ", mean, `) / √(variance + ${p.eps}) = `, value] },
  ];
  if (w.weight) {
    const before = value;
    const [scale, shift] = [ref(w.weight, tail), w.bias ? ref(w.bias, tail) : 0];
    value = before * valueOf(scale) + valueOf(shift);
    blocks.push({ line: [before, " × ", scale, " + ", shift, " = ", value] });
  }
  return { value, blocks };
};
// Recurrent cells, gate by gate.
const gate = (w, suffix, row, xs, hs) => {
  const part = (kind, inputs) => {
    const pairs = inputs.map((input, i) => [input, ref(w[`weight_${kind}${suffix}`], [row, i])]);
    const bias = w[`bias_${kind}${suffix}`];
    return products(pairs, bias && ref(bias, [row]), [kind === "ih" ? "Input" : "State", "Weight"]);
  };
  return { x: part("ih", xs), h: part("hh", hs) };
};
const gateBlocks = (name, { x, h }) => ({ fold: name, blocks: [{ says: "From the input:" }, ...x.blocks, { says: "From the previous state:" }, ...h.blocks] });
const logistic = (v) => 1 / (1 + Math.exp(-v));
const gruUnit = (w, suffix, j, size, xs, hs) => {
  const [r, z, n] = [0, 1, 2].map((k) => gate(w, suffix, k * size + j, xs, hs));
  const reset = logistic(r.x.value + r.h.value);
  const update = logistic(z.x.value + z.h.value);
  const fresh = Math.tanh(n.x.value + reset * n.h.value);
  const value = (1 - update) * fresh + update * valueOf(hs[j]);
  return { value, blocks: [
    { says: "A gated recurrent unit: two gates decide how much of the previous state stays." },
    { line: ["reset gate r = σ(", r.x.value, " + ", r.h.value, ") = ", reset] },
    { line: ["update gate z = σ(", z.x.value, " + ", z.h.value, ") = ", update] },
    { line: ["candidate n = tanh(", n.x.value, " + r × ", n.h.value, ") = ", fresh] },
    { line: ["(1 − z) × n + z × previous state = ", 1 - update, " × ", fresh, " + ", update, " × ", hs[j], " = ", value] },
    gateBlocks("The sums in the reset gate", r), gateBlocks("The sums in the update gate", z), gateBlocks("The sums in the candidate", n),
  ] };
};
const rnnUnit = (w, suffix, j, size, xs, hs, p) => {
  const sums = gate(w, suffix, j, xs, hs);
  const f = p.nonlinearity === "relu" ? (v) => Math.max(v, 0) : Math.tanh;
  const value = f(sums.x.value + sums.h.value);
  return { value, blocks: [{ line: [`${p.nonlinearity}(`, sums.x.value, " + ", sums.h.value, ") = ", value] }, gateBlocks("The sums", sums)] };
};
const zeros = (n) => counted(n, () => 0);
const cellOf = (unit) => ([w, p, x, h], place) => {
  const before = place.slice(0, -1);
  const line = (t, n) => counted(n, (i) => ref(t, [...before, i]));
  const hs = h ? line(h, p.hidden_size) : zeros(p.hidden_size);
  return unit(w, "", place[place.length - 1], p.hidden_size, line(x, p.input_size), hs, p);
};
const layerOf = (unit) => ([w, p, x, h], place, out, step) => {
  if (p.num_layers !== 1 || x.shape.length !== 3) return null;
  const seen = tensorAt(live.program.ports[step.out[0][0]]);
  const time = p.batch_first ? 1 : 0;
  const steps = x.shape[time];
  if (out === 1) {
    const [direction, b, j] = place;
    const t = direction ? 0 : steps - 1;
    const last = ref(seen, [...(p.batch_first ? [b, t] : [t, b]), direction * p.hidden_size + j]);
    return { value: valueOf(last), blocks: [{ says: "The state after the last step, which is also in the sequence of states:" }, { line: [last] }] };
  }
  const [t, f] = [place[time], place[2]];
  const direction = Math.floor(f / p.hidden_size);
  const [j, b] = [f % p.hidden_size, place[1 - time]];
  const at = (s, i) => (p.batch_first ? [b, s, i] : [s, b, i]);
  const earlier = direction ? t + 1 : t - 1;
  const inside = earlier >= 0 && earlier < steps;
  const hs = counted(p.hidden_size, (i) => (inside ? ref(seen, at(earlier, direction * p.hidden_size + i)) : h ? ref(h, [direction, b, i]) : 0));
  const told = unit(w, direction ? "_l0_reverse" : "_l0", j, p.hidden_size, counted(p.input_size, (i) => ref(x, at(t, i))), hs, p);
  const way = `Position ${t}, read from ${direction ? "right to left" : "left to right"}; ${inside ? `the previous state is that of position ${earlier}` : "it is the first that is read"}.`;
  return { ...told, blocks: [{ says: way }, ...told.blocks] };
};
Object.assign(EXPLAIN, { GRUCell: cellOf(gruUnit), RNNCell: cellOf(rnnUnit), GRU: layerOf(gruUnit), RNN: layerOf(rnnUnit) });
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
const moved = (step, place, out) => {
  const slots = live.program.ports.map((port) => now.values[port]);
  const sources = [];
  const numbered = (slot) => {
    const x = slots[slot];
    const first = sources.reduce((n, each) => n + each.size, 1);
    const size = sizeOf(x.shape);
    sources.push({ port: live.program.ports[slot], first, size });
    return machine.nd(x.shape, machine.FLOAT, Float64Array.from({ length: size }, (_, i) => first + i));
  };
  const args = machine.decode(step.args, slots);
  const data = step.args[0];
  args[0] = Array.isArray(data) ? data.map((a) => numbered(a.slot)) : numbered(data.slot);
  const leaf = [machine.op[step.op](...args)].flat(Infinity).filter((x) => x !== null)[out];
  const number = machine.flat(leaf)[atPlace(place, leaf.shape)];
  const source = sources.find(({ first, size }) => number >= first && number < first + size);
  if (!source) return null;
  const part = { port: source.port, at: number - source.first };
  return { value: valueOf(part), blocks: [{ says: `${step.op} moves numbers and changes none. This one was` }, { line: [part] }] };
};
const MOVES = new Set(["alias", "clone", "contiguous", "cast", "copy", "Identity", "Flatten"]);
const wayOf = (step) => {
  if (EXPLAIN[step.op]) return (place, out) => EXPLAIN[step.op](argument(step.args), place, out, step);
  const family = live.families[step.op];
  if (MOVES.has(step.op) || family === "shapes" || family === "indexing") return (place, out) => moved(step, place, out);
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
// Answers {blocks, value, inputs, whole}: `whole` says that the cell is not written out, only what it is made from.
const explain = ({ port, at }) => {
  if (!(port in stepOf)) {
    const kind = port.slice(0, port.indexOf(":"));
    const says = kind === "input" ? "This number is given: it is an input of the run." : "This number is a weight: it was drawn when the model was built, and is kept in weights.safetensors.";
    return { blocks: [{ says }], value: valueOf({ port, at }), inputs: [], whole: false };
  }
  const step = live.program.steps[stepOf[port]];
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
