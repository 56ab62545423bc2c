// Losses: one number a pair, then their sum or mean.
import { recomputed } from "../creation/explain.js";
import { EXPLAIN, numberOf, ref, spread, sumOf } from "#page/explain.js";
import { counted, placeOf, sizeOf } from "#page/numbers.js";
import { logSoftmax } from "../activations/explain.js";

const explainReduced = (rows, reduction, head, says, n = rows.length) => {
  const sum = sumOf(rows.map((row) => row[row.length - 1]));
  if (reduction === "none") return { value: sum, blocks: [{ says }, { head, rows, total: ["Loss", sum] }] };
  const blocks = [{ says }, { head, rows, total: ["Sum", sum] }];
  return reduction === "sum" ? { value: sum, blocks } : { value: sum / n, blocks: [...blocks, { line: [sum, ` / ${n} = `, sum / n] }] };
};
const pairLoss = (says, f) => ([x, target, reduction, ...settings], place) => {
  const places = reduction === "none" ? [place] : counted(sizeOf(x.shape), (i) => placeOf(i, x.shape));
  const rows = places.map((at) => [ref(x, at), spread(target, at)]).map(([a, b]) => [a, b, f(numberOf(a), numberOf(b), ...settings)]);
  return explainReduced(rows, reduction, ["Input", "Target", "Loss"], says, reduction === "batchmean" ? x.shape[0] : rows.length);
};
EXPLAIN.mse_loss = pairLoss("The squared difference of each pair.", (a, b) => (a - b) ** 2);
EXPLAIN.l1_loss = pairLoss("The size of the difference of each pair.", (a, b) => Math.abs(a - b));
EXPLAIN.binary_cross_entropy = pairLoss("−(t log x + (1 − t) log(1 − x)) for each pair, logarithms not below −100.", (x, t) => -(t * Math.max(Math.log(x), -100) + (1 - t) * Math.max(Math.log1p(-x), -100)));
EXPLAIN.binary_cross_entropy_with_logits = pairLoss("The cross-entropy of σ(input) and target: max(x, 0) − x t + log(1 + exp(−|x|)).", (x, t) => Math.max(x, 0) - x * t + Math.log1p(Math.exp(-Math.abs(x))));
EXPLAIN.huber_loss = pairLoss("Half the squared difference where it is small, a line beyond.", (a, b, delta) => (Math.abs(a - b) < delta ? (a - b) ** 2 / 2 : delta * (Math.abs(a - b) - delta / 2)));
EXPLAIN.smooth_l1_loss = pairLoss("The squared difference where it is small, a line beyond.", (a, b, beta) => (Math.abs(a - b) < beta ? (a - b) ** 2 / 2 / beta : Math.abs(a - b) - beta / 2));
EXPLAIN.kl_div = pairLoss("The target times the logarithm of target over input; the input is a logarithm already.", (x, t, log) => (log ? Math.exp(t) * (t - x) : (t > 0 ? t * Math.log(t) : 0) - t * x));
// One class a position: minus its score, or minus the logarithm of its share.
const classLoss = (cell) => (x, target, ignored, reduction, place, says) => {
  const places = reduction === "none" ? [place] : counted(sizeOf(target.shape), (i) => placeOf(i, target.shape));
  const ids = places.map((at) => ref(target, at));
  const rows = places.map((at, i) => [ids[i], numberOf(ids[i])]).map(([id, c], i) => {
    if (c === ignored) return [id, 0, 0];
    const at = x.shape.length > 1 ? [places[i][0], c, ...places[i].slice(1)] : [c];
    return [id, ref(x, at), cell(x, at)];
  });
  return explainReduced(rows, reduction, ["Class", "Its score", "Loss"], says, ids.filter((id) => numberOf(id) !== ignored).length);
};
const byScore = classLoss((x, at) => -numberOf(ref(x, at)));
const byShare = classLoss((x, at) => -logSoftmax(x, x.shape.length > 1 ? 1 : 0, at).value);
EXPLAIN.nll_loss = ([x, target, ignored, reduction], place) => byScore(x, target, ignored, reduction, place, "Minus the score of each right class.");
EXPLAIN.cross_entropy = ([x, target, ignored, reduction], place) => byShare(x, target, ignored, reduction, place, "Minus the logarithm of the softmax of each right class.");
EXPLAIN.MSELoss = ([, p, x, target], place) => EXPLAIN.mse_loss([x, target, p.reduction], place);
EXPLAIN.L1Loss = ([, p, x, target], place) => EXPLAIN.l1_loss([x, target, p.reduction], place);
EXPLAIN.BCELoss = ([, p, x, target], place) => EXPLAIN.binary_cross_entropy([x, target, p.reduction], place);
EXPLAIN.BCEWithLogitsLoss = ([, p, x, target], place) => EXPLAIN.binary_cross_entropy_with_logits([x, target, p.reduction], place);
EXPLAIN.NLLLoss = ([, p, x, target], place) => EXPLAIN.nll_loss([x, target, p.ignore_index, p.reduction], place);
EXPLAIN.CrossEntropyLoss = ([, p, x, target], place) => EXPLAIN.cross_entropy([x, target, p.ignore_index, p.reduction], place);
EXPLAIN.ctc_loss = recomputed("Minus the logarithm of the share of all paths through time that spell the labels, blanks and repeats taken out.");
