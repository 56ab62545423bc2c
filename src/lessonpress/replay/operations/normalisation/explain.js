// Layer and batch normalisation.
import { EXPLAIN, numberOf, ref, sumOf } from "#page/explain.js";
import { counted, placeOf, sizeOf } from "#page/numbers.js";

const normed = (self, parts, eps, scale, shift, says) => {
  const values = parts.map(numberOf);
  const mean = sumOf(parts) / values.length;
  const variance = values.reduce((s, v) => s + (v - mean) ** 2, 0) / values.length;
  const value = (numberOf(self) - mean) / Math.sqrt(variance + eps);
  return shifted(value, scale, shift, [
    { says },
    { fold: "The values", blocks: [{ head: ["Term", "Value"], rows: parts.map((part, i) => [String(i), part]), total: ["Mean", mean] }] },
    { line: ["mean ", mean, ", variance ", variance] },
    { line: ["(", self, " − ", mean, `) / √(variance + ${eps}) = `, value] },
  ]);
};
const shifted = (before, scale, shift, blocks) => {
  const value = before * (scale ? numberOf(scale) : 1) + (shift ? numberOf(shift) : 0);
  const line = [before, ...(scale ? [" × ", scale] : []), ...(shift ? [" + ", shift] : []), " = ", value];
  return { value, blocks: scale || shift ? [...blocks, { line }] : blocks };
};
const featuresOf = (x, shape, place) => {
  const n = [shape].flat().length;
  const spans = x.shape.slice(-n);
  return { tail: place.slice(-n), parts: counted(sizeOf(spans), (i) => ref(x, [...place.slice(0, -n), ...placeOf(i, spans)])) };
};
EXPLAIN.layer_norm = ([x, shape, weight, bias, eps], place) => {
  const { tail, parts } = featuresOf(x, shape, place);
  const says = `Centred and scaled by the mean and variance of ${parts.length} values.`;
  return normed(ref(x, place), parts, eps, weight && ref(weight, tail), bias && ref(bias, tail), says);
};
EXPLAIN.LayerNorm = ([w, p, x], place) => EXPLAIN.layer_norm([x, p.normalized_shape, w.weight, w.bias, p.eps], place);
EXPLAIN.rms_norm = ([x, shape, weight, eps], place) => {
  const { tail, parts } = featuresOf(x, shape, place);
  const sum = parts.reduce((s, part) => s + numberOf(part) ** 2, 0);
  const mean = sum / parts.length;
  const value = numberOf(ref(x, place)) / Math.sqrt(mean + eps);
  return shifted(value, weight && ref(weight, tail), null, [
    { says: `Divided by the root of the mean square of ${parts.length} values.` },
    { fold: "The values", blocks: [{ head: ["Value", "Square"], rows: parts.map((part) => [part, numberOf(part) ** 2]), total: ["Sum", sum] }] },
    { line: [ref(x, place), " / √(", mean, ` + ${eps}) = `, value] },
  ]);
};
EXPLAIN.RMSNorm = ([w, p, x], place) => EXPLAIN.rms_norm([x, p.normalized_shape, w.weight, p.eps ?? { float32: 2 ** -23, float64: 2 ** -52 }[p.dtype]], place);
// The channels of one group, and all that lies in them.
EXPLAIN.group_norm = ([x, groups, weight, bias, eps], place) => {
  const spans = [x.shape[1] / groups, ...x.shape.slice(2)];
  const group = Math.floor(place[1] / spans[0]);
  const parts = counted(sizeOf(spans), (i) => placeOf(i, spans)).map(([c, ...rest]) => ref(x, [place[0], group * spans[0] + c, ...rest]));
  const [scale, shift] = [weight, bias].map((each) => each && ref(each, [place[1]]));
  return normed(ref(x, place), parts, eps, scale, shift, `Centred and scaled by the mean and variance of the ${parts.length} values of group ${group}.`);
};
EXPLAIN.GroupNorm = ([w, p, x], place) => EXPLAIN.group_norm([x, p.num_groups, w.weight, w.bias, p.eps], place);
EXPLAIN.instance_norm = ([x, , , weight, bias, , , eps], place) => EXPLAIN.group_norm([x, x.shape[1], weight, bias, eps], place);
EXPLAIN.InstanceNorm1d = ([w, p, x], place) => EXPLAIN.group_norm([x, x.shape[1], w.weight, w.bias, p.eps], place);
EXPLAIN.InstanceNorm2d = EXPLAIN.InstanceNorm1d;
// Over the batch in training and without running figures, by the running figures otherwise.
EXPLAIN.batch_norm = ([x, heldMean, heldVariance, weight, bias, training, , eps], place) => {
  const channel = place[1];
  const [self, scale, shift] = [ref(x, place), ...[weight, bias].map((each) => each && ref(each, [channel]))];
  if (training || !heldMean) {
    const parts = counted(sizeOf(x.shape), (i) => placeOf(i, x.shape)).filter((each) => each[1] === channel).map((each) => ref(x, each));
    return normed(self, parts, eps, scale, shift, `Centred and scaled by the mean and variance of ${parts.length} values of feature ${channel}.`);
  }
  const [mean, variance] = [ref(heldMean, [channel]), ref(heldVariance, [channel])];
  const value = (numberOf(self) - numberOf(mean)) / Math.sqrt(numberOf(variance) + eps);
  return shifted(value, scale, shift, [{ says: "Centred and scaled by the running mean and variance." }, { line: ["(", self, " − ", mean, ") / √(", variance, ` + ${eps}) = `, value] }]);
};
EXPLAIN.BatchNorm1d = ([w, p, x], place) => EXPLAIN.batch_norm([x, w.running_mean, w.running_var, w.weight, w.bias, p.training, 0, p.eps], place);
EXPLAIN.BatchNorm2d = EXPLAIN.BatchNorm1d;
