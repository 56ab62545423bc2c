// Losses, as operations and as leaf modules: the JavaScript of kernels.py.
import { total } from "../activations/kernels.js";
import { real } from "../elementwise/kernels.js";
import { FLOAT, arr, flat, nd, op, permute, range, refuse, reshape, unsqueezed } from "../interpreter.js";
import "../reductions/kernels.js";

const reducedLoss = (loss, reduction) => {
  if (reduction === "none") return loss;
  return reduction === "sum" ? op.sum(loss, null, false, null) : op.mean(loss, null, false);
};
op.mse_loss = (input, target, reduction) => reducedLoss(real((a, b) => (a - b) ** 2, input, target), reduction);
op.l1_loss = (input, target, reduction) => reducedLoss(real((a, b) => Math.abs(a - b), input, target), reduction);
op.binary_cross_entropy_with_logits = (input, target, reduction) =>
  reducedLoss(real((x, t) => Math.max(x, 0) - x * t + Math.log1p(Math.exp(-Math.abs(x))), input, target), reduction);
op.nll_loss = (input, target, ignored, reduction) => {
  const [scores, classes] = input.shape.length > 1 ? [input, target] : [unsqueezed(input, 0), reshape(target, [1])];
  const at = flat(classes);
  const lines = permute(scores, [0, ...range(scores.shape.length).slice(2), 1]);
  const [data, n] = [flat(lines), scores.shape[1]];
  const scored = (c, i) => (c >= 0 && c < n ? -data[i * n + c] : refuse(`a class beyond the ${n} that there are`));
  const loss = nd(target.shape, FLOAT, Float64Array.from(at, (c, i) => (c === ignored ? 0 : scored(c, i))));
  const sum = total(loss.data);
  if (reduction === "none") return loss;
  return nd([], FLOAT, Float64Array.of(reduction === "sum" ? sum : sum / at.filter((c) => c !== ignored).length));
};
op.cross_entropy = (input, target, ignored, reduction, smoothing) => {
  if (target.kind === FLOAT || smoothing > 0) refuse("cross_entropy with soft or smoothed targets");
  return op.nll_loss(op.log_softmax(input, input.shape.length > 1 ? 1 : 0), target, ignored, reduction);
};
op.binary_cross_entropy = (input, target, reduction) => {
  if (!flat(input).every((x) => x >= 0 && x <= 1)) refuse("a probability that is not between 0 and 1");
  const f = (x, t) => -(t * Math.max(Math.log(x), -100) + (1 - t) * Math.max(Math.log1p(-x), -100));
  return reducedLoss(real(f, input, target), reduction);
};
op.huber_loss = (input, target, reduction, delta) => {
  const f = (off) => (off < delta ? off ** 2 / 2 : delta * (off - delta / 2));
  return reducedLoss(real((a, b) => f(Math.abs(a - b)), input, target), reduction);
};
op.smooth_l1_loss = (input, target, reduction, beta) => {
  const f = (off) => (off < beta ? off ** 2 / 2 / beta : off - beta / 2);
  return reducedLoss(real((a, b) => f(Math.abs(a - b)), input, target), reduction);
};
op.kl_div = (input, target, reduction, logTarget) => {
  const plain = (x, t) => (t > 0 ? t * Math.log(t) : 0) - t * x;
  const loss = real(logTarget ? (x, t) => Math.exp(t) * (t - x) : plain, input, target);
  if (reduction !== "batchmean") return reducedLoss(loss, reduction);
  return real((sum) => sum / input.shape[0], op.sum(loss, null, false, null));
};
const unweighted = (w, p) => (Object.keys(w).length ? refuse("a loss with weights") : p);
op.MSELoss = (w, p, x, target) => op.mse_loss(x, target, p.reduction);
op.L1Loss = (w, p, x, target) => op.l1_loss(x, target, p.reduction);
op.BCELoss = (w, p, x, target) => op.binary_cross_entropy(x, target, unweighted(w, p).reduction);
op.BCEWithLogitsLoss = (w, p, x, target) => op.binary_cross_entropy_with_logits(x, target, unweighted(w, p).reduction);
op.NLLLoss = (w, p, x, target) => op.nll_loss(x, target, unweighted(w, p).ignore_index, p.reduction);
op.CrossEntropyLoss = (w, p, x, target) =>
  op.cross_entropy(x, target, unweighted(w, p).ignore_index, p.reduction, p.label_smoothing);
const addedShares = (list) => {
  const most = Math.max(...list);
  return Number.isFinite(most) ? most + Math.log(list.reduce((sum, v) => sum + Math.exp(v - most), 0)) : most;
};
const ctcOf = (scores, labels, blank) => {
  const spelled = [blank, ...labels.flatMap((label) => [label, blank])];
  let ways = spelled.map((label, at) => (at < 2 ? scores[0][label] : -Infinity));
  for (const line of scores.slice(1)) {
    ways = spelled.map((label, at) => {
      const before = [ways[at], ways[at - 1] ?? -Infinity];
      if (at > 1 && label !== blank && label !== spelled[at - 2]) before.push(ways[at - 2]);
      return addedShares(before) + line[label];
    });
  }
  return -addedShares(ways.slice(-2));
};
op.ctc_loss = (x, targets, times, lengths, blank, reduction, zeroInfinity) => {
  const single = x.shape.length === 2;
  const [batch, classes] = single ? [1, x.shape[1]] : x.shape.slice(1);
  const listOf = (y) => (y?.data ? [...flat(y)] : [y].flat().map(Number));
  const [data, labels, spans, wanted] = [flat(x), listOf(targets), listOf(times), listOf(lengths)];
  const together = targets.shape.length === 1 && !single;
  const losses = range(batch).map((at) => {
    const start = together ? wanted.slice(0, at).reduce((a, b) => a + b, 0) : (at * labels.length) / batch;
    const row = labels.slice(start, start + wanted[at]);
    const fits = row.length === wanted[at] && spans[at] <= x.shape[0] && row.every((n) => n >= 0 && n < classes);
    if (!fits) refuse("lengths or labels that do not fit");
    const scores = range(spans[at]).map((t) => Array.from(data.subarray((t * batch + at) * classes, (t * batch + at + 1) * classes)));
    const loss = ctcOf(scores, row, blank);
    return zeroInfinity && !Number.isFinite(loss) ? 0 : loss;
  });
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  if (reduction === "none") return nd(single ? [] : [batch], FLOAT, Float64Array.from(losses));
  return arr(Object(reduction === "sum" ? sum(losses) : sum(losses.map((loss, at) => loss / Math.max(wanted[at], 1))) / batch));
};
