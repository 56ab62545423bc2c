// Sums, means, extremes, norms, running sums, order and losses: the JavaScript of kernels.py.
import { largest, total } from "../activations/kernels.js";
import { real, same } from "../elementwise/kernels.js";
import {
  BOOL, FLOAT, INT, along, axis, broadcast, commonShape, flat, isArray, kindNamed, nd, op, range, reduce, refuse,
} from "../interpreter.js";

const summed = (x, dtype) => (dtype ? kindNamed(dtype) : Math.max(x.kind, INT));
const product = (line) => line.reduce((a, b) => a * b, 1);
export const least = (line) => line.reduce((a, b) => Math.min(a, b), Infinity);
// The first place whose value no other beats; NaN beats all.
const firstBest = (line, beats) => {
  let best = 0;
  for (let i = 0; i < line.length && !Number.isNaN(line[best]); i++) {
    if (Number.isNaN(line[i]) || beats(line[i], line[best])) best = i;
  }
  return best;
};
export const mostAt = (line) => firstBest(line, (a, b) => a > b);
export const leastAt = (line) => firstBest(line, (a, b) => a < b);
export const variance = (line, correction) => {
  const mean = total(line) / line.length;
  return total(line.map((v) => (v - mean) ** 2)) / Math.max(line.length - (correction ?? 1), 0);
};
export const lineNorm = (line, p) => {
  const order = p === null || p === "fro" ? 2 : Number(p);
  const sizes = line.map(Math.abs);
  if (order === Infinity) return largest(sizes);
  if (order === -Infinity) return least(sizes);
  if (order === 0) return sizes.filter((v) => v !== 0).length;
  return order === 2 ? Math.sqrt(total(sizes.map((v) => v * v))) : total(sizes.map((v) => v ** order)) ** (1 / order);
};
const running = (line, f) => {
  const out = line.slice();
  for (let i = 1; i < out.length; i++) out[i] = f(out[i - 1], out[i]);
  return out;
};

op.sum = (x, dim, keepdim, dtype) => reduce(x, dim, keepdim, summed(x, dtype), total);
op.nansum = (x, dim, keepdim, dtype) => op.sum(same((v) => (Number.isNaN(v) ? 0 : v), x), dim, keepdim, dtype);
op.mean = (x, dim, keepdim) => reduce(x, dim, keepdim, FLOAT, (line) => total(line) / line.length);
op.prod = (x, dim, keepdim, dtype) => reduce(x, dim, keepdim, summed(x, dtype), product);
op.amax = (x, dim, keepdim) => reduce(x, dim, keepdim, x.kind, largest);
op.amin = (x, dim, keepdim) => reduce(x, dim, keepdim, x.kind, least);
op.argmax = (x, dim, keepdim) => reduce(x, dim, keepdim, INT, mostAt);
op.argmin = (x, dim, keepdim) => reduce(x, dim, keepdim, INT, leastAt);
op.max = (x, dim, keepdim) => [op.amax(x, dim, keepdim), op.argmax(x, dim, keepdim)];
op.min = (x, dim, keepdim) => [op.amin(x, dim, keepdim), op.argmin(x, dim, keepdim)];
op.var = (x, dim, keepdim, correction) => reduce(x, dim, keepdim, FLOAT, (line) => variance(line, correction));
op.std = (x, dim, keepdim, correction) => real(Math.sqrt, op.var(x, dim, keepdim, correction));
op.var_mean = (x, dim, keepdim, correction) => [op.var(x, dim, keepdim, correction), op.mean(x, dim, keepdim)];
op.std_mean = (x, dim, keepdim, correction) => [op.std(x, dim, keepdim, correction), op.mean(x, dim, keepdim)];
op.norm = (x, p, dim, keepdim) => (p === "nuc" ? refuse("the nuclear norm") : reduce(x, dim, keepdim, FLOAT, (line) => lineNorm(line, p)));
op.cosine_similarity = (x1, x2, dim, eps) => {
  const shape = commonShape([x1.shape, x2.shape]);
  const [a, b] = [broadcast(x1, shape), broadcast(x2, shape)];
  const size = (x) => reduce(x, dim, false, FLOAT, (line) => Math.max(lineNorm(line, 2), eps));
  const dot = reduce(same((v, w) => v * w, a, b), dim, false, FLOAT, total);
  return real((d, m, n) => d / (m * n), dot, size(a), size(b));
};
op.pairwise_distance = (x1, x2, p, eps, keepdim) =>
  reduce(real((a, b) => a - b + eps, x1, x2), -1, keepdim, FLOAT, (line) => lineNorm(line, p));
op.all_finite = (x) => reduce(x, null, false, BOOL, (line) => +line.every(Number.isFinite));
op.all = (x, dim, keepdim) => reduce(x, dim, keepdim, BOOL, (line) => +line.every((v) => v !== 0));
op.any = (x, dim, keepdim) => reduce(x, dim, keepdim, BOOL, (line) => +line.some((v) => v !== 0));
op.count_nonzero = (x, dim) => reduce(x, dim, false, INT, (line) => line.filter((v) => v !== 0).length);
op.logsumexp = (x, dim, keepdim) =>
  reduce(x, dim, keepdim, FLOAT, (line) => {
    const most = largest(line);
    const top = Number.isFinite(most) ? most : 0;
    return Math.log(total(line.map((v) => Math.exp(v - top)))) + top;
  });
op.cumsum = (x, dim, dtype) => along(x, dim, summed(x, dtype), (line) => running(line, (a, b) => a + b));
op.diff = (x, n, dim) => {
  const less = (line) => line.slice(1).map((v, i) => v - line[i]);
  return range(n).reduce((y) => along(y, dim, x.kind, less), x);
};
op.cumprod = (x, dim, dtype) => along(x, dim, summed(x, dtype), (line) => running(line, (a, b) => a * b));

const bestSoFar = (x, dim, beats) => {
  const places = (line) => {
    const out = [0];
    for (let i = 1; i < line.length; i++) {
      const held = line[out[i - 1]];
      out.push(Number.isNaN(line[i]) || (!Number.isNaN(held) && beats(line[i], held)) ? i : out[i - 1]);
    }
    return out.slice(0, line.length);
  };
  return [along(x, dim, x.kind, (line) => places(line).map((i) => line[i])), along(x, dim, INT, places)];
};
op.cummax = (x, dim) => bestSoFar(x, dim, (a, b) => a >= b);
op.cummin = (x, dim) => bestSoFar(x, dim, (a, b) => a <= b);
const addedLogs = (a, b) => {
  const most = Math.max(a, b);
  return Number.isFinite(most) ? most + Math.log1p(Math.exp(Math.min(a, b) - most)) : most;
};
op.logcumsumexp = (x, dim) => along(x, dim, FLOAT, (line) => running(line, addedLogs));
op.unique = (x, sorted, inverse, counts, dim) => {
  if (dim !== null) refuse("unique along an axis");
  const numbers = [...flat(x)];
  const values = [...new Set(numbers)].sort((a, b) => a - b);
  const parts = [nd([values.length], x.kind, Float64Array.from(values))];
  if (inverse) parts.push(nd(x.shape, INT, Float64Array.from(numbers, (v) => values.indexOf(v))));
  if (counts) parts.push(nd([values.length], INT, Float64Array.from(values, (v) => numbers.filter((w) => w === v).length)));
  return parts.length > 1 ? parts : parts[0];
};

// The places that sort a line, equals in their old order, NaN as the largest.
export const sorting = (line, descending) => {
  const compare = (a, b) => (Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : Number.isNaN(b) ? -1 : a - b || 0);
  const places = Float64Array.from(line, (_, i) => i);
  return places.sort((i, j) => (line[i] === line[j] ? i - j : (descending ? -1 : 1) * compare(line[i], line[j]) || i - j));
};
const sortedLine = (line, descending) => sorting(line, descending).map((i) => line[i]);
op.argsort = (x, dim, descending) => along(x, dim, INT, (line) => sorting(line, descending));
op.sort = (x, dim, descending) => [along(x, dim, x.kind, (line) => sortedLine(line, descending)), op.argsort(x, dim, descending)];
op.topk = (x, k, dim, most) => [
  along(x, dim, x.kind, (line) => sortedLine(line, most).slice(0, k)),
  along(x, dim, INT, (line) => sorting(line, most).slice(0, k)),
];
op.normalize = (input, p, dim, eps) => {
  const size = reduce(input, dim, true, FLOAT, (line) => lineNorm(line, p));
  return real((a, n) => a / Math.max(n, eps), input, size);
};
const ascending = (line) => Float64Array.from(line).sort();
op.median = (x) => reduce(x, null, false, x.kind, (line) => (line.some(Number.isNaN) ? NaN : ascending(line)[(line.length - 1) >> 1]));
op.median_along = (x, dim, keepdim) => op.kthvalue(x, (x.shape[axis(dim, x.shape.length)] + 1) >> 1, dim, keepdim);
op.kthvalue = (x, k, dim, keepdim) => {
  const value = reduce(x, dim, keepdim, x.kind, (line) => {
    const kth = ascending(line)[k - 1];
    if (line.some(Number.isNaN)) refuse("the order of what is no number");
    if (line.filter((v) => v === kth).length > 1) refuse("a number that occurs twice has no one place");
    return kth;
  });
  return [value, reduce(x, dim, keepdim, INT, (line) => line.indexOf(ascending(line)[k - 1]))];
};
op.quantile = (x, q, dim, keepdim, interpolation) => {
  if (isArray(q) || interpolation !== "linear") refuse("quantile for several shares at once, or by another rule than linear");
  return reduce(x, dim, keepdim, FLOAT, (line) => {
    const at = q * (line.length - 1);
    const [ordered, low] = [ascending(line), Math.floor(at)];
    return line.some(Number.isNaN) ? NaN : ordered[low] + (ordered[Math.ceil(at)] - ordered[low]) * (at - low);
  });
};
