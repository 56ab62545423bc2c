// Normalisation over features, groups of channels, or the batch: the JavaScript of kernels.py.
import { total } from "../activations/kernels.js";
import { real, same } from "../elementwise/kernels.js";
import { FLOAT, along, count, flat, op, range, reduce, refuse, reshape, write } from "../interpreter.js";
import { added } from "../products/kernels.js";
import { variance } from "../reductions/kernels.js";

const scaled = (x, weight, bias) => added(weight ? real((a, b) => a * b, x, weight) : x, bias);
const standardLine = (line, eps) => {
  const mean = total(line) / line.length;
  const spread = Math.sqrt(variance(line, 0) + eps);
  return line.map((v) => (v - mean) / spread);
};
const perChannel = (vector, rank) => (vector ? reshape(vector, [1, -1, ...range(rank - 2).map(() => 1)]) : vector);
// The last axes that a normalised shape names, merged into one line each.
const featureLines = (x, shape, f) => {
  const lead = x.shape.slice(0, x.shape.length - [shape].flat().length);
  return reshape(along(reshape(x, [...lead, -1]), -1, FLOAT, f), x.shape);
};
op.layer_norm = (x, shape, weight, bias, eps) => scaled(featureLines(x, shape, (line) => standardLine(line, eps)), weight, bias);
op.rms_norm = (x, shape, weight, eps) => {
  if (eps === null || eps === undefined) refuse("rms_norm without eps");
  const f = (line) => {
    const root = Math.sqrt(total(line.map((v) => v * v)) / line.length + Number(eps));
    return line.map((v) => v / root);
  };
  return scaled(featureLines(x, shape, f), weight, null);
};
op.group_norm = (x, groups, weight, bias, eps) => {
  const lines = along(reshape(x, [x.shape[0], groups, -1]), -1, FLOAT, (line) => standardLine(line, eps));
  const rank = x.shape.length;
  return scaled(reshape(lines, x.shape), perChannel(weight, rank), perChannel(bias, rank));
};
op.batch_norm = (x, runningMean, runningVar, weight, bias, training, momentum, eps) => {
  const rank = x.shape.length;
  let [mean, spread] = [runningMean, runningVar];
  if (training || !runningMean) {
    const others = [0, ...range(rank).slice(2)];
    mean = reduce(x, others, false, FLOAT, (line) => total(line) / line.length);
    spread = reduce(x, others, false, FLOAT, (line) => variance(line, 0));
    if (training && runningMean) {
      const n = count(x.shape) / x.shape[1];
      write(runningMean, real((a, b) => (1 - momentum) * a + momentum * b, runningMean, mean));
      write(runningVar, real((a, b) => (1 - momentum) * a + momentum * b * (n / Math.max(n - 1, 1)), runningVar, spread));
    }
  }
  const centred = real((v, m, s) => (v - m) / Math.sqrt(s + eps), x, perChannel(mean, rank), perChannel(spread, rank));
  return scaled(centred, perChannel(weight, rank), perChannel(bias, rank));
};
const batchNormLayer = (w, p, x) => {
  let { momentum } = p;
  if (p.training && w.num_batches_tracked) {
    write(w.num_batches_tracked, same((v) => v + 1, w.num_batches_tracked));
    momentum ??= 1 / flat(w.num_batches_tracked)[0];
  }
  return op.batch_norm(x, w.running_mean, w.running_var, w.weight, w.bias, p.training, momentum ?? 0, p.eps);
};
op.BatchNorm1d = (w, p, x) => batchNormLayer(w, p, x);
op.BatchNorm2d = (w, p, x) => batchNormLayer(w, p, x);
op.LayerNorm = (w, p, x) => op.layer_norm(x, p.normalized_shape, w.weight, w.bias, p.eps);
op.RMSNorm = (w, p, x) => op.rms_norm(x, p.normalized_shape, w.weight, p.eps ?? { float32: 2 ** -23, float64: 2 ** -52 }[p.dtype]);
op.GroupNorm = (w, p, x) => op.group_norm(x, p.num_groups, w.weight, w.bias, p.eps);
op.instance_norm = (x, mean, spread, weight, bias, fromInput, momentum, eps) => {
  if (mean || !fromInput) refuse("instance_norm with running figures");
  const [rank, lines] = [x.shape.length, reshape(x, [...x.shape.slice(0, 2), -1])];
  const standard = reshape(along(lines, -1, FLOAT, (line) => standardLine(line, eps)), x.shape);
  return scaled(standard, perChannel(weight, rank), perChannel(bias, rank));
};
const instanceLayer = (w, p, x) => op.instance_norm(x, w.running_mean, null, w.weight, w.bias, true, 0, p.eps);
op.InstanceNorm1d = (w, p, x) => instanceLayer(w, p, x);
op.InstanceNorm2d = (w, p, x) => instanceLayer(w, p, x);
