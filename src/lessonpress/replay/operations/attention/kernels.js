// Scaled dot-product attention and the multi-head module: the JavaScript of kernels.py.
import { softmaxLine, total } from "../activations/kernels.js";
import { real } from "../elementwise/kernels.js";
import { BOOL, FLOAT, along, map, nd, op, permute, reduce, refuse, reshape, unsqueezed } from "../interpreter.js";
import { added, linear, matmul } from "../products/kernels.js";
import { narrowed, selected } from "../shapes/kernels.js";

const lowerTriangle = (n, m) => op.tril(map(BOOL, () => 1, nd([n, m], BOOL)), 0);
op.scaled_dot_product_attention = (query, key, value, mask, dropout, causal, scale, grouped) => {
  if (dropout > 0) refuse("random numbers are drawn inside it");
  if (grouped) {
    const times = query.shape[query.shape.length - 3] / key.shape[key.shape.length - 3];
    [key, value] = [key, value].map((x) => op.repeat_interleave(x, times, -3));
  }
  const size = scale ?? 1 / Math.sqrt(query.shape[query.shape.length - 1]);
  let scores = real((v) => v * size, matmul(query, op.mT(key)));
  const seen = causal ? lowerTriangle(...scores.shape.slice(-2)) : mask;
  if (seen) scores = real(seen.kind === BOOL ? (v, m) => (m !== 0 ? v : -Infinity) : (v, m) => v + m, scores, seen);
  const attend = (line) => (seen && line.every((v) => v === -Infinity) ? line.map(() => 0) : softmaxLine(line));
  return matmul(along(scores, -1, FLOAT, attend), value);
};
const maskAdded = (mask) => (mask.kind === BOOL ? real((m) => (m !== 0 ? -Infinity : 0), mask) : mask);
const projections = (w, inputs) => {
  const third = (x, i) => x && narrowed(x, 0, (i * x.shape[0]) / 3, x.shape[0] / 3);
  const weight = (i) => (w.in_proj_weight ? third(w.in_proj_weight, i) : w[`${"qkv"[i]}_proj_weight`]);
  return inputs.map((x, i) => linear(x, weight(i), third(w.in_proj_bias, i)));
};
op.MultiheadAttention = (w, p, query, key, value, padding, needWeights, mask, average, causal) => {
  if (p.dropout > 0 && p.training) refuse("random numbers are drawn inside it");
  if (w.bias_k || p.add_zero_attn) refuse("attention with an added key");
  if (causal && mask === null) refuse("a causal call without its mask");
  const batched = query.shape.length === 3;
  const turn = (x) => (p.batch_first ? x : permute(x, [1, 0, 2]));
  const heads = p.num_heads;
  const [q, k, v] = projections(w, [query, key, value].map((x) => (batched ? turn(x) : unsqueezed(x, 0))));
  const [batch, length, width] = q.shape;
  const apart = (x) => permute(reshape(x, [batch, -1, heads, width / heads]), [0, 2, 1, 3]);
  const root = Math.sqrt(width / heads);
  let scores = matmul(real((a) => a / root, apart(q)), op.mT(apart(k)));
  if (mask) {
    const rows = mask.shape.slice(-2);
    scores = added(scores, maskAdded(mask.shape.length === 3 ? reshape(mask, [batch, heads, ...rows]) : mask));
  }
  if (padding) scores = added(scores, maskAdded(reshape(padding, [batch, 1, 1, -1])));
  const weights = op.softmax(scores, -1);
  const joined = reshape(permute(matmul(weights, apart(v)), [0, 2, 1, 3]), [batch, length, width]);
  const out = linear(joined, w["out_proj.weight"], w["out_proj.bias"]);
  const result = batched ? turn(out) : selected(out, 0, 0);
  if (!needWeights) return [result, null];
  const shown = average ? reduce(weights, 1, false, FLOAT, (line) => total(line) / line.length) : weights;
  return [result, batched ? shown : selected(shown, 0, 0)];
};
