// Recurrent layers and their cells: the JavaScript of kernels.py.
import "../indexing/kernels.js";
import { logistic } from "../activations/kernels.js";
import { real } from "../elementwise/kernels.js";
import { FLOAT, INT, copy, count, flat, nd, op, permute, range, refuse, unsqueezed } from "../interpreter.js";
import { linear } from "../products/kernels.js";
import { selected, taken } from "../shapes/kernels.js";

const gates = (x, h, w, suffix) => [
  linear(x, w[`weight_ih${suffix}`], w[`bias_ih${suffix}`]),
  linear(h, w[`weight_hh${suffix}`], w[`bias_hh${suffix}`]),
];
const gatesApart = (x, n) => op.chunk(x, n, -1);
const rnnStep = (nonlinearity) => (x, [h], w, suffix) => {
  const f = nonlinearity === "tanh" ? Math.tanh : (v) => Math.max(v, 0);
  return [real((a, b) => f(a + b), ...gates(x, h, w, suffix))];
};
const gruStep = (x, [h], w, suffix) => {
  const [[r, z, n], [hr, hz, hn]] = gates(x, h, w, suffix).map((part) => gatesApart(part, 3));
  const [reset, update] = [real((a, b) => logistic(a + b), r, hr), real((a, b) => logistic(a + b), z, hz)];
  const fresh = real((a, b, c) => Math.tanh(a + b * c), n, reset, hn);
  return [real((u, a, b) => (1 - u) * a + u * b, update, fresh, h)];
};
const lstmStep = (x, [h, c], w, suffix) => {
  const [i, f, g, o] = gatesApart(real((a, b) => a + b, ...gates(x, h, w, suffix)), 4);
  const kept = real((a, b) => logistic(a) * b, f, c);
  const cell = real((a, b, d) => a + logistic(b) * Math.tanh(d), kept, i, g);
  return [real((a, b) => logistic(a) * Math.tanh(b), o, cell), cell];
};
const recurrent = (step, states) => (w, p, input, given) => {
  if (p.dropout > 0 && p.training && p.num_layers > 1) refuse("random numbers are drawn inside it");
  if (p.proj_size > 0) refuse("proj_size");
  const batched = input.shape.length === 3;
  const turn = (x) => (batched && p.batch_first ? permute(x, [1, 0, 2]) : x);
  let xs = turn(batched ? input : unsqueezed(input, 1));
  const directions = p.bidirectional ? ["", "_reverse"] : [""];
  const zeros = () => nd([p.num_layers * directions.length, xs.shape[1], p.hidden_size], FLOAT);
  const start = given ? given.map((x) => (batched ? x : unsqueezed(x, 1))) : range(states).map(zeros);
  const last = [];
  for (let number = 0; number < p.num_layers; number++) {
    const outs = directions.map((direction) => {
      let state = start.map((x) => selected(x, 0, last.length));
      const hs = [];
      const times = range(xs.shape[0]);
      for (const t of direction ? times.reverse() : times) {
        state = step(selected(xs, 0, t), state, w, `_l${number}${direction}`);
        hs[t] = state[0];
      }
      last.push(state);
      return op.stack(hs, 0);
    });
    xs = op.cat(outs, -1);
  }
  const finals = range(states).map((i) => op.stack(last.map((state) => state[i]), 0));
  return batched ? [turn(xs), finals] : [selected(xs, 1, 0), finals.map((x) => selected(x, 1, 0))];
};
const cell = (step, states) => (w, p, input, given) =>
  step(input, given ?? range(states).map(() => nd([...input.shape.slice(0, -1), p.hidden_size], FLOAT)), w, "");
op.RNN = (w, p, input, hx) => recurrent(rnnStep(p.nonlinearity), 1)(w, p, input, hx && [hx]);
op.GRU = (w, p, input, hx) => recurrent(gruStep, 1)(w, p, input, hx && [hx]);
op.LSTM = (w, p, input, hx) => recurrent(lstmStep, 2)(w, p, input, hx);
op.RNNCell = (w, p, input, hx) => cell(rnnStep(p.nonlinearity), 1)(w, p, input, hx && [hx])[0];
op.GRUCell = (w, p, input, hx) => cell(gruStep, 1)(w, p, input, hx && [hx])[0];
op.LSTMCell = (w, p, input, hx) => cell(lstmStep, 2)(w, p, input, hx);
const whole = (numbers) => nd([numbers.length], INT, Float64Array.from(numbers));
op._pack_padded_sequence = (x, lengths, batchFirst) => {
  const [xs, spans] = [batchFirst ? permute(x, [1, 0, ...range(x.shape.length).slice(2)]) : x, [...flat(lengths)]];
  const known = spans.every((n, i) => n >= 1 && n <= xs.shape[0] && (i === 0 || n <= spans[i - 1]));
  if (!known) refuse("lengths that are not sorted, below 1 or beyond the input");
  const sizes = range(spans[0]).map((t) => spans.filter((n) => n > t).length);
  return [op.cat(sizes.map((size, t) => op.narrow(selected(xs, 0, t), 0, 0, size)), 0), whole(sizes)];
};
op._pad_packed_sequence = (data, sizes, batchFirst, padding, total) => {
  const counts = [...flat(sizes)];
  const rest = data.shape.slice(1);
  const [steps, batch, width] = [Math.max(counts.length, total ?? 0), counts[0], count(rest)];
  const padded = nd([steps, batch, ...rest], FLOAT);
  padded.data.fill(Number(padding));
  let start = 0;
  counts.forEach((size, t) => {
    padded.data.set(flat(data).slice(start * width, (start + size) * width), t * batch * width);
    start += size;
  });
  const lengths = whole(range(batch).map((at) => counts.filter((size) => size > at).length));
  return [batchFirst ? copy(permute(padded, [1, 0, ...range(padded.shape.length).slice(2)])) : padded, lengths];
};
// Each sequence by itself, and its outputs where its inputs stood.
const packedBy = (kernel, states) => (w, p, data, sizes, order, back, hx) => {
  const counts = [...flat(sizes)];
  const starts = counts.map((_, t) => counts.slice(0, t).reduce((a, b) => a + b, 0));
  const sorted = (x, by) => (by ? taken(x, 1, flat(by)) : x);
  const given = hx ? (states > 1 ? hx : [hx]).map((x) => sorted(x, order)) : null;
  const ends = [];
  const rows = [];
  for (let at = 0; at < counts[0]; at++) {
    const places = starts.filter((_, t) => counts[t] > at).map((start) => start + at);
    const first = given?.map((x) => selected(x, 1, at)) ?? null;
    const [out, last] = kernel(w, { ...p, batch_first: false }, taken(data, 0, Float64Array.from(places)), first && (states > 1 ? first : first[0]));
    places.forEach((place, t) => (rows[place] = selected(out, 0, t)));
    ends.push(states > 1 ? last : [last].flat());
  }
  const finals = range(states).map((i) => sorted(op.stack(ends.map((state) => state[i]), 1), back));
  return [op.stack(rows, 0), copy(sizes), order && copy(order), back && copy(back), finals];
};
op.PackedRNN = (...args) => packedBy(op.RNN, 1)(...args);
op.PackedGRU = (...args) => packedBy(op.GRU, 1)(...args);
op.PackedLSTM = (...args) => packedBy(op.LSTM, 2)(...args);
