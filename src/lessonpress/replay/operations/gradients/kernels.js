// The derivative of each operation, times what arrives: the JavaScript of kernels.py.
import { erf, real } from "../elementwise/kernels.js";
import { FLOAT, axis, count, flat, map, nd, op, range, reduce, refuse, view, write } from "../interpreter.js";

op.tanh_backward = (g, y) => real((a, b) => a * (1 - b * b), g, y);
op.sigmoid_backward = (g, y) => real((a, b) => a * (1 - b) * b, g, y);
op.threshold_backward = (g, x, threshold) => real((a, b) => (b > threshold ? a : 0), g, x);
op.silu_backward = (g, x) => real((a, b) => {
  const share = 1 / (1 + Math.exp(-b));
  return a * share * (1 + b * (1 - share));
}, g, x);
op.gelu_backward = (g, x, approximate) => {
  const width = Math.sqrt(2 / Math.PI);
  const approximated = (v) => {
    const bend = Math.tanh(width * (v + 0.044715 * v ** 3));
    return 0.5 * (1 + bend) + 0.5 * v * (1 - bend * bend) * width * (1 + 3 * 0.044715 * v * v);
  };
  if (approximate === "tanh") return real((a, b) => a * approximated(b), g, x);
  const slope = (v) => 0.5 * (1 + erf(v / Math.SQRT2)) + (v * Math.exp((-v * v) / 2)) / Math.sqrt(2 * Math.PI);
  return real((a, b) => a * slope(b), g, x);
};
op.mse_loss_backward = (g, x, y, reduction) => {
  const size = reduction === "mean" ? count(x.shape) : 1;
  return real((a, b, c) => (2 * (b - c) * a) / size, g, x, y);
};
const summedAlong = (x, dim) => reduce(x, axis(dim, x.shape.length), true, FLOAT, (line) => line.reduce((a, b) => a + b, 0));
op._softmax_backward_data = (g, y, dim) => real((a, b, sum) => b * (a - sum), g, y, summedAlong(map(FLOAT, (a, b) => a * b, g, y), dim));
op._log_softmax_backward_data = (g, y, dim) => real((a, b, sum) => a - Math.exp(b) * sum, g, y, summedAlong(g, dim));
op.select_backward = (g, sizes, dim, index) => {
  const out = nd(sizes.map(Number), FLOAT);
  const [d, rest] = [axis(dim, sizes.length), range(sizes.length)];
  const at = index < 0 ? index + out.shape[d] : Number(index);
  const kept = rest.filter((e) => e !== d);
  write(view(out, kept.map((e) => out.shape[e]), kept.map((e) => out.strides[e]), at * out.strides[d]), g);
  return out;
};
op.slice_backward = (g, sizes, dim, start, end, step) => {
  const out = nd(sizes.map(Number), FLOAT);
  const d = axis(dim, sizes.length);
  const first = start < 0 ? Math.max(start + out.shape[d], 0) : Math.min(start, out.shape[d]);
  const strides = out.strides.map((n, e) => (e === d ? n * step : n));
  write(view(out, g.shape, strides, first * out.strides[d]), g);
  return out;
};
op.embedding_dense_backward = (g, ids, rows, padding, scaled) => {
  if (scaled) refuse("gradients divided by how often an id occurs");
  const width = g.shape[g.shape.length - 1];
  const [out, from] = [nd([Number(rows), width], FLOAT), flat(g)];
  flat(ids).forEach((id, i) => {
    for (let c = 0; c < width && id !== padding; c++) out.data[id * width + c] += from[i * width + c];
  });
  return out;
};
op.leaky_relu_backward = (g, x, slope) => real((a, b) => (b > 0 ? a : a * slope), g, x);
op.elu_backward = (g, alpha, scale, inputScale, isResult, x) => {
  const below = (v) => (isResult ? v + alpha * scale : alpha * scale * Math.exp(v * inputScale));
  return real((a, b) => a * (b > 0 ? Number(scale) : inputScale * below(b)), g, x);
};
op.softplus_backward = (g, x, beta, threshold) => real((a, b) => (b * beta > threshold ? a : a / (1 + Math.exp(-b * beta))), g, x);
// Torch counts the reductions none 0, mean 1, sum 2.
const shared = (g, x, reduction) => (Number(reduction) === 1 ? real((a) => a / count(x.shape), g) : g);
const within = (v, most) => (v > most ? most : v < -most ? -most : v);
op.smooth_l1_loss_backward = (g, x, y, reduction, beta) =>
  real((a, b, c) => (Number(beta) ? within((b - c) / beta, 1) : Math.sign(b - c)) * a, shared(g, x, reduction), x, y);
op.huber_loss_backward = (g, x, y, reduction, delta) => real((a, b, c) => within(b - c, Number(delta)) * a, shared(g, x, reduction), x, y);
op.binary_cross_entropy_backward = (g, x, y, weight, reduction) => {
  if (weight !== null) refuse("binary_cross_entropy with weight");
  return real((a, b, c) => ((b - c) / Math.max((1 - b) * b, 1e-12)) * a, shared(g, x, reduction), x, y);
};
