// The activation functions, as operations and as leaf modules: the JavaScript of kernels.py.
import { erf, real, same } from "../elementwise/kernels.js";
import { FLOAT, along, count, op, refuse, reshape, write } from "../interpreter.js";

const applied = (input, result, inplace) => (inplace ? write(input, result) : result);
export const logistic = (v) => 1 / (1 + Math.exp(-v));
const bounded = (v, low, high) => Math.min(Math.max(v, low), high);
const SELU = { scale: 1.0507009873554805, alpha: 1.6732632423543772 };

op.relu = (input, inplace) => applied(input, same((v) => Math.max(v, 0), input), inplace);
op.relu6 = (input, inplace) => applied(input, same((v) => bounded(v, 0, 6), input), inplace);
op.leaky_relu = (input, slope, inplace) => applied(input, real((v) => (v > 0 ? v : v * slope), input), inplace);
op.prelu = (input, weight) => {
  const n = count(weight.shape);
  const shape = input.shape.map((m, d) => (d === 1 && n > 1 ? n : 1));
  return real((v, w) => (v > 0 ? v : v * w), input, reshape(weight, shape));
};
op.elu = (input, alpha, inplace) => applied(input, real((v) => (v > 0 ? v : alpha * Math.expm1(v)), input), inplace);
op.celu = (input, alpha, inplace) => applied(input, real((v) => (v > 0 ? v : alpha * Math.expm1(v / alpha)), input), inplace);
op.selu = (input, inplace) => {
  const f = (v) => SELU.scale * (v > 0 ? v : SELU.alpha * Math.expm1(v));
  return applied(input, real(f, input), inplace);
};
op.gelu = (input, approximate) => {
  const inner = (v) => Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3);
  return real(approximate === "tanh" ? (v) => 0.5 * v * (1 + Math.tanh(inner(v))) : (v) => 0.5 * v * (1 + erf(v / Math.SQRT2)), input);
};
op.sigmoid = (input) => real(logistic, input);
op.logsigmoid = (input) => real((v) => Math.min(v, 0) - Math.log1p(Math.exp(-Math.abs(v))), input);
op.silu = (input, inplace) => applied(input, real((v) => v / (1 + Math.exp(-v)), input), inplace);
const softplus = (v, beta, threshold) => (v * beta > threshold ? v : Math.log1p(Math.exp(v * beta)) / beta);
op.softplus = (input, beta, threshold) => real((v) => softplus(v, beta, threshold), input);
op.mish = (input, inplace) => applied(input, real((v) => v * Math.tanh(softplus(v, 1, 20)), input), inplace);
op.softsign = (input) => real((v) => v / (1 + Math.abs(v)), input);
op.tanhshrink = (input) => real((v) => v - Math.tanh(v), input);
op.hardtanh = (input, low, high, inplace) => applied(input, same((v) => bounded(v, low, high), input), inplace);
op.hardsigmoid = (input, inplace) => applied(input, real((v) => bounded(v + 3, 0, 6) / 6, input), inplace);
op.hardswish = (input, inplace) => applied(input, real((v) => (v * bounded(v + 3, 0, 6)) / 6, input), inplace);
op.threshold = (input, threshold, value, inplace) => applied(input, same((v) => (v > threshold ? v : Number(value)), input), inplace);
op.glu = (input, dim) =>
  along(input, dim, FLOAT, (line) => {
    const half = line.length / 2;
    return line.slice(0, half).map((v, i) => v * logistic(line[half + i]));
  });
export const largest = (line) => line.reduce((a, b) => Math.max(a, b), -Infinity);
export const total = (line) => line.reduce((a, b) => a + b, 0);
export const softmaxLine = (line) => {
  const top = largest(line);
  const e = line.map((v) => Math.exp(v - top));
  const sum = total(e);
  return e.map((v) => v / sum);
};
const logSoftmaxLine = (line) => {
  const top = largest(line);
  const log = Math.log(total(line.map((v) => Math.exp(v - top))));
  return line.map((v) => v - top - log);
};
op.softmax = (input, dim) => along(input, dim ?? refuse("softmax without an axis"), FLOAT, softmaxLine);
op.log_softmax = (input, dim) => along(input, dim ?? refuse("softmax without an axis"), FLOAT, logSoftmaxLine);
op.softmin = (input, dim) => op.softmax(same((v) => -v, input), dim);
op.dropout = (input, p, training) => (training && p > 0 ? refuse("random numbers are drawn inside it") : input);

op.Tanh = (w, p, input) => op.tanh(input);
op.Sigmoid = (w, p, input) => op.sigmoid(input);
op.LogSigmoid = (w, p, input) => op.logsigmoid(input);
op.Softsign = (w, p, input) => op.softsign(input);
op.Tanhshrink = (w, p, input) => op.tanhshrink(input);
op.ReLU = (w, p, input) => op.relu(input, p.inplace);
op.ReLU6 = (w, p, input) => op.relu6(input, p.inplace);
op.SELU = (w, p, input) => op.selu(input, p.inplace);
op.SiLU = (w, p, input) => op.silu(input, p.inplace);
op.Mish = (w, p, input) => op.mish(input, p.inplace);
op.Hardsigmoid = (w, p, input) => op.hardsigmoid(input, p.inplace);
op.Hardswish = (w, p, input) => op.hardswish(input, p.inplace);
op.Softmax = (w, p, input) => op.softmax(input, p.dim);
op.LogSoftmax = (w, p, input) => op.log_softmax(input, p.dim);
op.Softmin = (w, p, input) => op.softmin(input, p.dim);
op.LeakyReLU = (w, p, input) => op.leaky_relu(input, p.negative_slope, p.inplace);
op.ELU = (w, p, input) => op.elu(input, p.alpha, p.inplace);
op.CELU = (w, p, input) => op.celu(input, p.alpha, p.inplace);
op.GELU = (w, p, input) => op.gelu(input, p.approximate);
op.Softplus = (w, p, input) => op.softplus(input, p.beta, p.threshold);
op.Hardtanh = (w, p, input) => op.hardtanh(input, p.min_val, p.max_val, p.inplace);
op.Threshold = (w, p, input) => op.threshold(input, p.threshold, p.value, p.inplace);
op.GLU = (w, p, input) => op.glu(input, p.dim);
op.Dropout = (w, p, input) => op.dropout(input, p.p, p.training);
op.PReLU = (w, p, input) => op.prelu(input, w.weight);
