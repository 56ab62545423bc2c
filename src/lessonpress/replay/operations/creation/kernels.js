// Arrays that arise from numbers alone: the JavaScript of kernels.py.
import { plainNumber } from "../indexing/kernels.js";
import {
  BOOL, FLOAT, INT, arr, converted, copy, count, flat, isArray, kindNamed, kindOf, map, nd, op, range, refuse, reshape, tensor,
} from "../interpreter.js";
import "../shapes/kernels.js";

const kindOr = (dtype, kind) => (dtype === null ? kind : kindNamed(dtype));
const filled = (shape, kind, value) => nd(shape, kind, new Float64Array(count(shape)).fill(converted(Number(plainNumber(value)), kind)));
const blank = (shape, kind) => (kind === BOOL ? refuse("bools that nobody has written") : filled(shape, kind, kind === FLOAT ? NaN : 2 ** 63));

op.zeros = (size, dtype) => nd(size, kindOr(dtype, FLOAT));
op.ones = (size, dtype) => filled(size, kindOr(dtype, FLOAT), 1);
op.full = (size, value, dtype) => filled(size, kindOr(dtype, kindOf(value)), value);
op.empty = (size, dtype) => blank(size, kindOr(dtype, FLOAT));
op.zeros_like = (x, dtype) => nd(x.shape, kindOr(dtype, x.kind));
op.ones_like = (x, dtype) => filled(x.shape, kindOr(dtype, x.kind), 1);
op.full_like = (x, value, dtype) => filled(x.shape, kindOr(dtype, x.kind), value);
op.empty_like = (x, dtype) => blank(x.shape, kindOr(dtype, x.kind));
op.new_empty = (x, size, dtype) => blank(size, kindOr(dtype, x.kind));
op.new_zeros = (x, size, dtype) => nd(size, kindOr(dtype, x.kind));
op.new_ones = (x, size, dtype) => filled(size, kindOr(dtype, x.kind), 1);
op.new_full = (x, size, value, dtype) => filled(size, kindOr(dtype, x.kind), value);
op.tensor = (data, dtype) => {
  if (isArray(data)) return copy(data, kindOr(dtype, data.kind));
  const parts = [data].flat(Infinity);
  const sizes = [];
  for (let part = data; Array.isArray(part); part = part[0]) sizes.push(part.length);
  const joined = parts.some(isArray) ? reshape(op.stack(parts.map(arr), 0), [...sizes, ...(isArray(parts[0]) ? parts[0].shape : [])]) : tensor(data);
  return map(kindOr(dtype, parts.length ? kindOf(...parts) : FLOAT), dtype && kindNamed(dtype) === INT ? Math.trunc : (v) => v, joined);
};
op.new_tensor = (x, data, dtype) => map(kindOr(dtype, x.kind), (v) => converted(v, kindOr(dtype, x.kind)), op.tensor(data, null));
op.arange = (start, end, step, dtype) => {
  const [first, last, by] = [start, end, step].map(plainNumber);
  const kind = kindOr(dtype, Math.max(kindOf(start, end, step), INT));
  return nd([Math.max(Math.ceil((last - first) / by), 0)], kind).data.length
    ? map(kind, (i) => converted(first + i * by, kind), tensor(range(Math.ceil((last - first) / by))))
    : nd([0], kind);
};
op.linspace = (start, end, steps, dtype) => {
  const [first, last] = [plainNumber(start), plainNumber(end)];
  const by = (last - first) / Math.max(steps - 1, 1);
  const kind = kindOr(dtype, FLOAT);
  const value = (i) => (steps === 1 || i < Math.floor(steps / 2) ? first + by * i : last - by * (steps - 1 - i));
  return nd([steps], kind, Float64Array.from({ length: steps }, (_, i) => converted(value(i), kind)));
};
op.eye = (n, m, dtype) => {
  const out = nd([n, m ?? n], kindOr(dtype, FLOAT));
  for (let i = 0; i < Math.min(n, m ?? n); i++) out.data[i * (m ?? n) + i] = 1;
  return out;
};
op.one_hot = (x, classes) => {
  const values = flat(x);
  const n = classes === -1 ? Math.max(...values) + 1 : classes;
  const out = nd([...x.shape, n], INT);
  values.forEach((v, i) => {
    if (!(v >= 0 && v < n)) refuse(`a class number beyond ${n} classes`);
    out.data[i * n + v] = 1;
  });
  return out;
};
const triangleIndices = (rows, columns, keep) => {
  const pairs = range(rows).flatMap((i) => range(columns).filter((j) => keep(j - i)).map((j) => [i, j]));
  return nd([2, pairs.length], INT, Float64Array.from([...pairs.map(([i]) => i), ...pairs.map(([, j]) => j)]));
};
op.tril_indices = (row, col, offset) => triangleIndices(row, col, (d) => d <= offset);
op.triu_indices = (row, col, offset) => triangleIndices(row, col, (d) => d >= offset);
