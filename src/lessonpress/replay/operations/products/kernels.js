// Products of matrices and vectors, affine maps and embeddings: the JavaScript of kernels.py.
import { total } from "../activations/kernels.js";
import { real, same } from "../elementwise/kernels.js";
import {
  FLOAT, INT, axis, broadcast, commonShape, count, flat, kindOf, nd, offsets, op, permute, range, reduce, refuse,
  reshape, unsqueezed, view, write,
} from "../interpreter.js";
import { lineNorm } from "../reductions/kernels.js";
import { taken } from "../shapes/kernels.js";

export const matmul = (a, b) => {
  const [x, y] = [a.shape.length > 1 ? a : unsqueezed(a, 0), b.shape.length > 1 ? b : unsqueezed(b, 1)];
  const [n, k] = x.shape.slice(-2);
  const m = y.shape[y.shape.length - 1];
  if (y.shape[y.shape.length - 2] !== k) refuse(`a product of shapes ${JSON.stringify([a.shape, b.shape])}`);
  const batch = commonShape([x.shape.slice(0, -2), y.shape.slice(0, -2)]);
  const [left, right] = [flat(broadcast(x, [...batch, n, k])), flat(broadcast(y, [...batch, k, m]))];
  const out = nd([...batch, n, m], kindOf(a, b));
  for (let at = 0, i = 0; i < count(batch) * n; i++, at += m) {
    const from = Math.floor(i / n) * k * m;
    for (let j = 0; j < k; j++) {
      const factor = left[i * k + j];
      for (let c = 0; c < m; c++) out.data[at + c] += factor * right[from + j * m + c];
    }
  }
  const shape = [...batch, ...(a.shape.length > 1 ? [n] : []), ...(b.shape.length > 1 ? [m] : [])];
  return reshape(out, shape);
};
export const added = (x, bias) => (bias === null || bias === undefined ? x : same((a, b) => a + b, x, bias));
export const linear = (x, weight, bias) => added(matmul(x, permute(weight, [1, 0])), bias);
op.matmul = (x, other) => matmul(x, other);
op.mm = (x, other) => matmul(x, other);
op.bmm = (x, other) => matmul(x, other);
op.mv = (x, other) => matmul(x, other);
op.dot = (x, other) => matmul(x, other);
op.inner = (x, other) => {
  if (!x.shape.length || !other.shape.length) return same((a, b) => a * b, x, other);
  const rows = (y) => reshape(y, [count(y.shape.slice(0, -1)), y.shape[y.shape.length - 1]]);
  return reshape(matmul(rows(x), permute(rows(other), [1, 0])), [...x.shape.slice(0, -1), ...other.shape.slice(0, -1)]);
};
op.outer = (x, other) => same((a, b) => a * b, reshape(x, [-1, 1]), reshape(other, [1, -1]));
op.addmm = (x, mat1, mat2, beta, alpha) => same((a, b) => beta * a + alpha * b, x, matmul(mat1, mat2));
op.einsum = (equation, operands) => {
  const [left, right] = equation.replace(/\s/g, "").split("->");
  const spare = [..."0123456789"];
  const named = left.split(",").map((term, i) => {
    const dots = operands[i].shape.length - term.replace("...", "").length;
    return term.replace("...", dots ? spare.slice(-dots).join("") : "");
  });
  const letters = [...new Set(named.join(""))];
  const dots = letters.filter((c) => /\d/.test(c)).sort().join("");
  const single = letters.filter((c) => /[a-zA-Z]/.test(c) && named.join("").split(c).length === 2).sort().join("");
  const result = right === undefined ? dots + single : right.replace("...", dots);
  const order = [...result, ...letters.filter((c) => !result.includes(c))];
  const sizes = order.map((c) => Math.max(...named.map((term, i) => (term.includes(c) ? operands[i].shape[term.indexOf(c)] : 1))));
  const places = operands.map((x, i) => {
    const strides = order.map((c, d) =>
      [...named[i]].reduce((sum, letter, e) => sum + (letter === c && (x.shape[e] > 1 || sizes[d] === 1) ? x.strides[e] : 0), 0),
    );
    return offsets({ shape: sizes, strides, offset: x.offset });
  });
  const out = nd(sizes.slice(0, result.length), kindOf(...operands));
  const inner = count(sizes.slice(result.length));
  for (let at = 0; at < count(sizes); at++) {
    let term = 1;
    for (let i = 0; i < operands.length; i++) term *= operands[i].data[places[i][at]];
    out.data[Math.floor(at / inner)] += term;
  }
  return out;
};
op.trace = (x) => reduce(op.diagonal(x, 0, 0, 1), null, false, Math.max(x.kind, INT), total);
op.tensordot = (a, b, dims) => {
  const [m, n] = [a.shape.length, b.shape.length];
  const [left, right] = Array.isArray(dims) ? dims : [range(dims).map((d) => m - dims + d), range(dims)];
  const [ours, theirs] = [left.map((d) => axis(d, m)), right.map((d) => axis(d, n))];
  const [rest, others] = [range(m).filter((d) => !ours.includes(d)), range(n).filter((d) => !theirs.includes(d))];
  const inner = count(ours.map((d) => a.shape[d]));
  const [sizes, otherSizes] = [rest.map((d) => a.shape[d]), others.map((d) => b.shape[d])];
  const first = reshape(permute(a, [...rest, ...ours]), [count(sizes), inner]);
  return reshape(matmul(first, reshape(permute(b, [...theirs, ...others]), [inner, count(otherSizes)])), [...sizes, ...otherSizes]);
};
op.cdist = (x1, x2, p) => {
  const off = real((a, b) => a - b, unsqueezed(x1, -2), unsqueezed(x2, -3));
  return reduce(off, -1, false, FLOAT, (line) => lineNorm(line, p));
};
op.linear = (x, weight, bias) => linear(x, weight, bias);
op.bilinear = (x1, x2, weight, bias) => added(op.einsum("...i,oij,...j->...o", [x1, weight, x2]), bias);
op.embedding = (x, weight) => {
  if (flat(x).some((id) => id < 0)) refuse("ids begin at 0");
  return reshape(taken(weight, 0, flat(x)), [...x.shape, weight.shape[1]]);
};
op.embedding_renorm = (table, ids, maxNorm, kind) => {
  for (const id of new Set(flat(ids))) {
    if (!(id >= 0 && id < table.shape[0])) refuse("an id that the table does not have");
    const row = view(table, [table.shape[1]], [table.strides[1]], table.offset + id * table.strides[0]);
    const length = lineNorm(flat(row), Number(kind));
    if (length > maxNorm) write(row, real((v) => v * (maxNorm / (length + 1e-7)), row));
  }
  return table;
};
op.Linear = (w, p, x) => linear(x, w.weight, w.bias);
op.Bilinear = (w, p, x1, x2) => op.bilinear(x1, x2, w.weight, w.bias);
op.Embedding = (w, p, x) => op.embedding(x, w.weight);
const bagged = (input, weight, starts, { mode, shares, last, padding, maxNorm }) => {
  const [ids, table, width] = [flat(input), flat(weight), weight.shape[1]];
  if (maxNorm !== null || !ids.every((id) => id >= 0 && id < weight.shape[0])) refuse("ids without a row, or max_norm");
  const n = input.shape[1];
  const ends = starts ? [...flat(starts), ...(last ? [] : [ids.length])] : range(input.shape[0] + 1).map((i) => i * n);
  const left = padding === null ? null : padding < 0 ? padding + weight.shape[0] : +padding;
  const factors = shares ? flat(shares) : null;
  const out = nd([ends.length - 1, width], FLOAT);
  for (let bag = 0; bag < ends.length - 1; bag++) {
    const kept = range(ends[bag + 1] - ends[bag]).map((i) => i + ends[bag]).filter((i) => ids[i] !== left);
    for (let c = 0; c < width && kept.length; c++) {
      const numbers = kept.map((i) => table[ids[i] * width + c] * (factors ? factors[i] : 1));
      const sum = numbers.reduce((a, b) => a + b, 0);
      out.data[bag * width + c] = mode === "max" ? Math.max(...numbers) : mode === "mean" ? sum / kept.length : sum;
    }
  }
  return out;
};
op.embedding_bag = (x, weight, starts, maxNorm, normType, byFrequency, mode, sparse, shares, last, padding) =>
  bagged(x, weight, starts, { mode, shares, last, padding, maxNorm });
op.EmbeddingBag = (w, p, x, starts, shares) =>
  bagged(x, w.weight, starts, { mode: p.mode, shares, last: p.include_last_offset, padding: p.padding_idx, maxNorm: p.max_norm });
