// Softmax: an exponential as a share of a sum.
const lineAlong = (x, place, d) => counted(x.shape[d], (i) => ref(x, place.map((p, e) => (e === d ? i : p))));
const softmax = (x, dim, place) => {
  const d = dim === null ? x.shape.length - 1 : (dim + x.shape.length) % x.shape.length;
  const line = lineAlong(x, place, d);
  const top = Math.max(...line.map(valueOf));
  const shift = top > 300 || top < -300 ? top : 0; // as it is computed, but written plainly where that is safe
  const powers = line.map((part) => Math.exp(valueOf(part) - shift));
  const sum = powers.reduce((a, b) => a + b, 0);
  const head = ["Place", "Input", shift ? `exp(input − ${short(shift)})` : "exp(input)"];
  const value = powers[place[d]] / sum;
  return { value, blocks: [
    { says: `The exponential of this input, as a share of the sum of all exponentials along axis ${d}.` },
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
