// Recurrent cells, gate by gate.
import { recomputed } from "../creation/explain.js";
import { EXPLAIN, numberOf, products, ref, tensorAt } from "#page/explain.js";
import { atPlace, counted } from "#page/numbers.js";
import { live, now } from "#page/state.js";
import { decode, flat, op } from "../interpreter.js";

const gate = (w, suffix, row, xs, hs) => {
  const part = (kind, inputs) => {
    const pairs = inputs.map((input, i) => [input, ref(w[`weight_${kind}${suffix}`], [row, i])]);
    const bias = w[`bias_${kind}${suffix}`];
    return products(pairs, bias && ref(bias, [row]), [kind === "ih" ? "Input" : "State", "Weight"]);
  };
  return { x: part("ih", xs), h: part("hh", hs) };
};
const gateBlocks = (name, { x, h }) => ({ fold: name, blocks: [{ says: "From the input:" }, ...x.blocks, { says: "From the previous state:" }, ...h.blocks] });
const sigmoidOf = (v) => 1 / (1 + Math.exp(-v));
const gruUnit = (w, suffix, j, size, xs, hs) => {
  const [r, z, n] = [0, 1, 2].map((k) => gate(w, suffix, k * size + j, xs, hs));
  const reset = sigmoidOf(r.x.value + r.h.value);
  const update = sigmoidOf(z.x.value + z.h.value);
  const fresh = Math.tanh(n.x.value + reset * n.h.value);
  const value = (1 - update) * fresh + update * numberOf(hs[j]);
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
const lstmUnit = (w, suffix, j, size, xs, hs, held, out) => {
  const parts = [0, 1, 2, 3].map((k) => gate(w, suffix, k * size + j, xs, hs));
  const [write, keep, fresh, show] = parts.map(({ x, h }, k) => (k === 2 ? Math.tanh : sigmoidOf)(x.value + h.value));
  const memory = keep * numberOf(held) + write * fresh;
  const value = out ? memory : show * Math.tanh(memory);
  const names = ["input gate", "forget gate", "candidate", "output gate"];
  const line = (name, sign, k, result) => ({ line: [`${name} = ${sign}(`, parts[k].x.value, " + ", parts[k].h.value, ") = ", result] });
  return { value, blocks: [
    { says: "A cell of long short-term memory: gates decide what is kept, written and shown." },
    line("forget gate f", "σ", 1, keep), line("input gate i", "σ", 0, write), line("candidate g", "tanh", 2, fresh),
    { line: ["f × previous memory + i × g = ", keep, " × ", held, " + ", write, " × ", fresh, " = ", memory] },
    ...(out ? [] : [line("output gate o", "σ", 3, show), { line: ["o × tanh(memory) = ", show, " × ", Math.tanh(memory), " = ", value] }]),
    ...parts.slice(0, out ? 3 : 4).map((part, k) => gateBlocks(`The sums in the ${names[k]}`, part)),
  ] };
};
const zeros = (n) => counted(n, () => 0);
const cellOf = (unit) => ([w, p, x, h], place) => {
  const before = place.slice(0, -1);
  const line = (t, n) => counted(n, (i) => ref(t, [...before, i]));
  const hs = h ? line(h, p.hidden_size) : zeros(p.hidden_size);
  return unit(w, "", place[place.length - 1], p.hidden_size, line(x, p.input_size), hs, p);
};
EXPLAIN.LSTMCell = ([w, p, x, state], place, out) => {
  const [h, c] = state ?? [];
  const [before, j] = [place.slice(0, -1), place[place.length - 1]];
  const line = (t, n) => counted(n, (i) => ref(t, [...before, i]));
  return lstmUnit(w, "", j, p.hidden_size, line(x, p.input_size), h ? line(h, p.hidden_size) : zeros(p.hidden_size), c ? ref(c, place) : 0, out);
};
// Layers over a sequence; one that reads a single sequence without a batch is seen as a batch of one. What a lower
// layer gives is no tensor of the program: the same kernel with fewer layers gives its numbers.
const layerOf = (unit, memory) => ([w, p, x, given], place, out, step) => {
  const single = x.shape.length === 2;
  const batched = (t) => t && (single ? { ...t, shape: [t.shape[0], 1, t.shape[1]] } : t);
  const first = p.batch_first && !single;
  const at = (s, n, i) => (first ? [n, s, i] : [s, n, i]);
  const [[h, c], input, seen] = [[given].flat().map(batched), batched(x), batched(tensorAt(live.program.ports[step.out[0][0]]))];
  const [steps, sides, size] = [input.shape[first ? 1 : 0], p.bidirectional ? 2 : 1, p.hidden_size];
  const args = decode(step.args, live.program.ports.map((port) => now.values[port]));
  const lower = counted(p.num_layers, (n) => n && flat([op[step.op](args[0], { ...args[1], num_layers: n }, ...args.slice(2))].flat(Infinity)[0]));
  const sequence = (n) => (n === 0 ? (...to) => ref(input, at(...to)) : n === p.num_layers ? (...to) => ref(seen, at(...to)) : (...to) => lower[n][atPlace(at(...to), seen.shape)]);
  const explainState = (layer, side, t, n, j, kind) => {
    const earlier = side ? t + 1 : t - 1;
    const within = earlier >= 0 && earlier < steps;
    const start = (state) => (i) => (state ? ref(state, [layer * sides + side, n, i]) : 0);
    const hs = counted(size, within ? (i) => sequence(layer + 1)(earlier, n, side * size + i) : start(h));
    const xs = counted(layer ? sides * size : p.input_size, (i) => sequence(layer)(t, n, i));
    const held = !memory ? p : within ? explainState(layer, side, earlier, n, j, 2).value : start(c)(j);
    const way = `Position ${t}, read from ${side ? "right to left" : "left to right"}; ${within ? `the previous state is that of position ${earlier}` : "it is the first that is read"}.`;
    const one = unit(w, `_l${layer}${side ? "_reverse" : ""}`, j, size, xs, hs, held, kind);
    return { ...one, blocks: [{ says: way }, ...one.blocks] };
  };
  const [a, b, f] = single ? [place[0], 0, place[1]] : place;
  if (!out) return explainState(p.num_layers - 1, Math.floor(f / size), first ? b : a, first ? a : b, f % size, 0);
  const [layer, side] = [Math.floor(a / sides), a % sides];
  const t = side ? 0 : steps - 1;
  if (out === 2 || layer < p.num_layers - 1) return explainState(layer, side, t, b, f, out === 2 ? 2 : 0);
  const last = ref(seen, at(t, b, side * size + f));
  return { value: numberOf(last), blocks: [{ says: "The state after the last step, which is also in the sequence of states:" }, { line: [last] }] };
};
EXPLAIN.GRUCell = cellOf(gruUnit);
EXPLAIN.RNNCell = cellOf(rnnUnit);
EXPLAIN.GRU = layerOf(gruUnit);
EXPLAIN.RNN = layerOf(rnnUnit);
EXPLAIN.LSTM = layerOf(lstmUnit, true);
const packedRule = recomputed("Each sequence is taken through the recurrent layer by itself; what it gives stands where its inputs stood.");
EXPLAIN.PackedRNN = packedRule;
EXPLAIN.PackedGRU = packedRule;
EXPLAIN.PackedLSTM = packedRule;
EXPLAIN._pack_padded_sequence = recomputed("The first elements of all sequences, then their second ones, and so on, without the padding.");
EXPLAIN._pad_packed_sequence = recomputed("Packed sequences apart again, with padding behind their ends.");
