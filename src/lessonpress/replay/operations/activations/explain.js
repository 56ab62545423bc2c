// Element by element, but for softmax, an exponential as a share of a sum, and its like.
import { EXPLAIN, EXPLAIN_FAMILY, elementwise, moved, numberOf, ref, sumOf } from "#page/explain.js";
import { counted, short, sizeOf } from "#page/numbers.js";

EXPLAIN_FAMILY.activations = elementwise;
EXPLAIN.dropout = moved;
EXPLAIN.Dropout = moved;
export const lineAlong = (x, place, d) => counted(x.shape[d], (i) => ref(x, place.map((p, e) => (e === d ? i : p))));
const softmax = (x, dim, place) => {
  const d = dim === null ? x.shape.length - 1 : (dim + x.shape.length) % x.shape.length;
  const line = lineAlong(x, place, d);
  const top = Math.max(...line.map(numberOf));
  const shift = top > 300 || top < -300 ? top : 0; // as it is computed, but written plainly where that is safe
  const powers = line.map((part) => Math.exp(numberOf(part) - shift));
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
export const logSoftmax = (x, dim, place) => {
  const explained = softmax(x, dim, place);
  if (explained.value > 1e-200) return { value: Math.log(explained.value), blocks: [...explained.blocks, { line: ["log(", explained.value, ") = ", Math.log(explained.value)] }] };
  const line = lineAlong(x, place, dim === null ? x.shape.length - 1 : (dim + x.shape.length) % x.shape.length); // too small for a share
  const top = Math.max(...line.map(numberOf));
  const log = Math.log(sumOf(line.map((part) => Math.exp(numberOf(part) - top))));
  const value = numberOf(ref(x, place)) - top - log;
  return { value, blocks: [...explained.blocks, { line: [ref(x, place), " − largest input − log(sum) = ", value] }] };
};
EXPLAIN.log_softmax = ([x, dim], place) => logSoftmax(x, dim, place);
EXPLAIN.LogSoftmax = ([, p, x], place) => logSoftmax(x, p.dim ?? null, place);
EXPLAIN.softmin = ([x, dim], place) => {
  const d = (dim + x.shape.length) % x.shape.length;
  const line = lineAlong(x, place, d);
  const least = Math.min(...line.map(numberOf));
  const powers = line.map((part) => Math.exp(least - numberOf(part)));
  const value = powers[place[d]] / sumOf(powers);
  return { value, blocks: [
    { says: `The exponential of the negative of this input, as a share of the sum of all along axis ${d}.` },
    { head: ["Input", "exp(smallest − input)"], rows: line.map((part, i) => [part, powers[i]]), total: ["Sum", sumOf(powers)], chosen: place[d] },
    { line: [powers[place[d]], " / ", sumOf(powers), " = ", value] },
  ] };
};
EXPLAIN.Softmin = ([, p, x], place) => EXPLAIN.softmin([x, p.dim], place);
EXPLAIN.glu = ([x, dim], place) => {
  const d = (dim + x.shape.length) % x.shape.length;
  const [self, gate] = [0, x.shape[d] / 2].map((by) => ref(x, place.map((p, e) => (e === d ? p + by : p))));
  const value = numberOf(self) / (1 + Math.exp(-numberOf(gate)));
  return { value, blocks: [{ says: `A number of the first half along axis ${d}, let through by its gate in the second.` }, { line: [self, " × σ(", gate, ") = ", value] }] };
};
EXPLAIN.GLU = ([, p, x], place) => EXPLAIN.glu([x, p.dim], place);
EXPLAIN.prelu = ([x, weight], place) => {
  const [self, slope] = [ref(x, place), ref(weight, [sizeOf(weight.shape) > 1 ? place[1] : 0])];
  if (numberOf(self) > 0) return { value: numberOf(self), blocks: [{ says: "What is above 0 stays." }, { line: [self] }] };
  const value = numberOf(self) * numberOf(slope);
  return { value, blocks: [{ says: "What is not above 0 is multiplied by a learned slope." }, { line: [self, " × ", slope, " = ", value] }] };
};
EXPLAIN.PReLU = ([w, , x], place) => EXPLAIN.prelu([x, w.weight], place);
