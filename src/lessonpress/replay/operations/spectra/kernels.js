// Complex numbers as pairs on a last axis, and Fourier transforms: the JavaScript of kernels.py.
import { FLOAT, broadcast, commonShape, copy, count, flat, nd, op, permute, range } from "../interpreter.js";

const leadOf = (pairs) => pairs.shape.slice(0, -1);
const eachPair = (pairs, f) => {
  const data = flat(pairs);
  return Array.from({ length: data.length / 2 }, (_, i) => f(data[2 * i], data[2 * i + 1]));
};
const pairsOf = (lead, list) => nd([...lead, 2], FLOAT, Float64Array.from(list.flat()));
const numbersOf = (lead, list) => nd(lead, FLOAT, Float64Array.from(list));
op.complex_from = (x) => pairsOf(x.shape, Array.from(flat(x), (v) => [v, 0]));
op.complex_polar = (size, angle) => {
  const lead = commonShape([size.shape, angle.shape]);
  const [r, phi] = [flat(broadcast(size, lead)), flat(broadcast(angle, lead))];
  return pairsOf(lead, Array.from(r, (v, i) => [v * Math.cos(phi[i]), v * Math.sin(phi[i])]));
};
op.complex_abs = (x) => numbersOf(leadOf(x), eachPair(x, (a, b) => Math.hypot(a, b)));
op.complex_angle = (x) => numbersOf(leadOf(x), eachPair(x, (a, b) => Math.atan2(b, a)));
op.complex_conj = (x) => pairsOf(leadOf(x), eachPair(x, (a, b) => [a, -b]));
op.complex_exp = (x) => pairsOf(leadOf(x), eachPair(x, (a, b) => [Math.exp(a) * Math.cos(b), Math.exp(a) * Math.sin(b)]));
const both = (x, y, f) => {
  const shape = commonShape([x.shape, y.shape]);
  const [a, b] = [flat(broadcast(x, shape)), flat(broadcast(y, shape))];
  return pairsOf(shape.slice(0, -1), range(a.length / 2).map((i) => f(a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1])));
};
op.complex_mul = (x, y) => both(x, y, (a, b, c, d) => [a * c - b * d, a * d + b * c]);
op.complex_div = (x, y) => both(x, y, (a, b, c, d) => {
  const size = c * c + d * d;
  return [(a * c + b * d) / size, (b * c - a * d) / size];
});
op.complex_matmul = (x, y) => {
  const [n, k, m] = [...x.shape.slice(-3, -1), y.shape[y.shape.length - 2]];
  const lead = commonShape([x.shape.slice(0, -3), y.shape.slice(0, -3)]);
  const [a, b] = [flat(broadcast(x, [...lead, n, k, 2])), flat(broadcast(y, [...lead, k, m, 2]))];
  const out = nd([...lead, n, m, 2], FLOAT);
  for (let at = 0; at < count(lead) * n * m; at++) {
    const [row, column] = [Math.floor(at / m), at % m];
    for (let j = 0; j < k; j++) {
      const [p, q] = [2 * (row * k + j), 2 * ((Math.floor(row / n) * k + j) * m + column)];
      out.data[2 * at] += a[p] * b[q] - a[p + 1] * b[q + 1];
      out.data[2 * at + 1] += a[p] * b[q + 1] + a[p + 1] * b[q];
    }
  }
  return out;
};
const waves = (size, sign) => range(size).map((i) => [Math.cos((2 * Math.PI * i) / size), sign * Math.sin((2 * Math.PI * i) / size)]);
const transformed = (line, size, sign, scale, turns) => range(size).map((k) => {
  let [re, im] = [0, 0];
  for (let j = 0; j < Math.min(line.length, size); j++) {
    const [c, s] = turns[(j * k) % size];
    re += line[j][0] * c - line[j][1] * s;
    im += line[j][0] * s + line[j][1] * c;
  }
  return [re * scale, im * scale];
});
// The other half of a transform of real numbers mirrors the first.
const mirrored = (line, size) => {
  const given = (k) => line[k] ?? [0, 0];
  return range(size).map((k) => {
    const [a, b] = given(Math.min(k, size - k));
    return 2 * k === size || k === 0 ? [a, 0] : [a, 2 * k > size ? -b : b];
  });
};
op.complex_fourier = (x, sizes, dims, norm, inverse, half) => {
  let pairs = x;
  dims.forEach((d, at) => {
    const [size, last] = [Number(sizes[at]), at === dims.length - 1];
    const sign = inverse || half === "fill" ? 1 : -1;
    const scaled = { ortho: 1 / Math.sqrt(size), forward: sign < 0 ? 1 / size : 1 }[norm] ?? (sign > 0 ? 1 / size : 1);
    const rest = range(pairs.shape.length - 1).filter((e) => e !== d);
    const lines = flat(permute(pairs, [...rest, d, pairs.shape.length - 1]));
    const n = pairs.shape[d];
    const lead = rest.map((e) => pairs.shape[e]);
    const turns = waves(size, sign);
    const kept = last && half === "keep" ? Math.floor(size / 2) + 1 : size;
    const list = range(count(lead)).map((i) => {
      const line = range(n).map((j) => [lines[2 * (i * n + j)], lines[2 * (i * n + j) + 1]]);
      return transformed(last && half === "fill" ? mirrored(line, size) : line, size, sign, scaled, turns).slice(0, kept);
    });
    const out = nd([...lead, kept, 2], FLOAT, Float64Array.from(list.flat(2)));
    const order = range(rest.length);
    order.splice(d, 0, rest.length);
    pairs = copy(permute(out, [...order, rest.length + 1]));
  });
  return half === "fill" ? numbersOf(leadOf(pairs), eachPair(pairs, (a) => a)) : pairs;
};
