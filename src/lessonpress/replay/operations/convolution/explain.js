// Convolutions and pooling over the last axes.
import { recomputed } from "../creation/explain.js";
import { EXPLAIN, moved, numberOf, products, ref, sumOf } from "#page/explain.js";
import { counted, placeOf, sizeOf } from "#page/numbers.js";

const sizesPerAxis = (value, rank) => ([value].flat().length === 1 ? counted(rank, () => Number([value].flat()[0])) : value.map(Number));
const inside = (at, x) => at.every((p, d) => Number.isInteger(p) && p >= 0 && p < x.shape[x.shape.length - at.length + d]);
// For each place of the kernel where in `x` it lies, for the result at `place`; null where it lies beside `x`.
const windowOf = (x, place, kernel, stride, before, dilation) => counted(sizeOf(kernel), (i) => {
  const own = place.slice(-kernel.length);
  const at = placeOf(i, kernel).map((k, d) => own[d] * stride[d] - before[d] + k * dilation[d]);
  return inside(at, x) ? at : null;
});
const weighed = (x, weight, place, window, [first, from], says, weightAt, bias) => {
  const rank = weight.shape.length - 2;
  const lead = place.slice(0, -rank - 1);
  const pairs = counted(first, (c) => window.flatMap((at, i) => (at ? [[ref(x, [...lead, from + c, ...at]), ref(weight, [...weightAt(c), ...placeOf(i, weight.shape.slice(2))])]] : []))).flat();
  const explained = products(pairs, bias && ref(bias, [place[lead.length]]));
  const padded = window.includes(null) ? ` Where the kernel lies beside the input, at ${window.filter((at) => !at).length} of its ${window.length} places, it adds nothing.` : "";
  return { ...explained, blocks: [{ says: says + (bias ? ", plus a bias." : ".") + padded }, ...explained.blocks] };
};
const explainConvolution = (x, weight, bias, stride, padding, dilation, groups, place) => {
  const kernel = weight.shape.slice(2);
  const rank = kernel.length;
  const spacing = sizesPerAxis(dilation, rank);
  const before = padding === "same" ? kernel.map((k, d) => Math.floor((spacing[d] * (k - 1)) / 2)) : sizesPerAxis(padding === "valid" ? 0 : padding, rank);
  const window = windowOf(x, place, kernel, sizesPerAxis(stride, rank), before, spacing);
  const o = place[place.length - rank - 1];
  const ins = weight.shape[1];
  const from = Math.floor((o * groups) / weight.shape[0]) * ins;
  return weighed(x, weight, place, window, [ins, from], `A window of the input times kernel ${o}, added up`, (c) => [o, c], bias);
};
const explainTransposed = (x, weight, bias, stride, padding, groups, dilation, place) => {
  const kernel = weight.shape.slice(2);
  const rank = kernel.length;
  const [steps, cut, spacing] = [stride, padding, dilation].map((v) => sizesPerAxis(v, rank));
  const window = counted(sizeOf(kernel), (i) => {
    const at = placeOf(i, kernel).map((k, d) => (place[place.length - rank + d] + cut[d] - k * spacing[d]) / steps[d]);
    return inside(at, x) ? at : null;
  });
  const o = place[place.length - rank - 1];
  const [ins, outs] = [weight.shape[0] / groups, weight.shape[1]];
  const from = Math.floor(o / outs) * ins;
  return weighed(x, weight, place, window, [ins, from], "Each input spreads the kernel over the result; those that reach this place are added up", (c) => [from + c, o % outs], bias);
};
EXPLAIN.conv1d = ([x, weight, bias, stride, padding, dilation, groups], place) => explainConvolution(x, weight, bias, stride, padding, dilation, groups, place);
EXPLAIN.conv2d = (args, place) => EXPLAIN.conv1d(args, place);
EXPLAIN.Conv1d = ([w, p, x], place) => explainConvolution(x, w.weight, w.bias, p.stride, p.padding, p.dilation, p.groups, place);
EXPLAIN.Conv2d = (args, place) => EXPLAIN.Conv1d(args, place);
EXPLAIN.conv_transpose1d = ([x, weight, bias, stride, padding, , groups, dilation], place) => explainTransposed(x, weight, bias, stride, padding, groups, dilation, place);
EXPLAIN.conv_transpose2d = (args, place) => EXPLAIN.conv_transpose1d(args, place);
EXPLAIN.ConvTranspose1d = ([w, p, x], place) => explainTransposed(x, w.weight, w.bias, p.stride, p.padding, p.groups, p.dilation, place);
EXPLAIN.ConvTranspose2d = (args, place) => EXPLAIN.ConvTranspose1d(args, place);
// Pooling: the elements under a window, their places beside them.
const windowParts = (rank, x, size, stride, padding, dilation, place) => {
  const kernel = sizesPerAxis(size, rank);
  const steps = stride === null || stride.length === 0 ? kernel : sizesPerAxis(stride, rank);
  const window = windowOf(x, place, kernel, steps, sizesPerAxis(padding, rank), sizesPerAxis(dilation, rank));
  return window.filter(Boolean).map((at) => ref(x, [...place.slice(0, -rank), ...at]));
};
const placed = (parts, says, last) => ({ value: last[1], blocks: [{ says }, { head: ["Value"], rows: parts.map((part) => [part]), total: last }] });
const explainMaxPool = (rank) => ([x, size, stride, padding, dilation], place) => {
  const parts = windowParts(rank, x, size, stride, padding, dilation, place);
  return placed(parts, `The largest of the ${parts.length} values under a window.`, ["Largest", Math.max(...parts.map(numberOf))]);
};
const meanOf = (parts, n, says) => {
  const explained = placed(parts, says, ["Sum", sumOf(parts)]);
  const value = explained.value / n;
  return { value, blocks: [...explained.blocks, { line: [explained.value, ` / ${n} = `, value] }] };
};
const explainAvgPool = (rank) => ([x, size, stride, padding, , countPad, divisor], place) => {
  const parts = windowParts(rank, x, size, stride, padding, 1, place);
  const n = divisor ?? (countPad ? sizeOf(sizesPerAxis(size, rank)) : parts.length);
  return meanOf(parts, n, `The ${parts.length} values under a window, added up and divided by ${n}.`);
};
const explainAdaptive = (rank) => ([x, size], place) => {
  const sizes = x.shape.slice(-rank);
  const own = place.slice(-rank);
  const parts = counted(rank, (d) => (Array.isArray(size) ? size[d] : size) ?? sizes[d]);
  const starts = own.map((i, d) => Math.floor((i * sizes[d]) / parts[d]));
  const spans = own.map((i, d) => Math.ceil(((i + 1) * sizes[d]) / parts[d]) - starts[d]);
  const refs = counted(sizeOf(spans), (i) => ref(x, [...place.slice(0, -rank), ...placeOf(i, spans).map((p, d) => p + starts[d])]));
  return meanOf(refs, refs.length, `The mean of the ${refs.length} values in its share of the input.`);
};
EXPLAIN.max_pool1d = explainMaxPool(1);
EXPLAIN.max_pool2d = explainMaxPool(2);
EXPLAIN.avg_pool1d = explainAvgPool(1);
EXPLAIN.avg_pool2d = explainAvgPool(2);
EXPLAIN.adaptive_avg_pool1d = explainAdaptive(1);
EXPLAIN.adaptive_avg_pool2d = explainAdaptive(2);
const explainMaxLayer = (rank) => ([, p, x], place) => explainMaxPool(rank)([x, p.kernel_size, p.stride, p.padding, p.dilation], place);
const explainAvgLayer = (rank) => ([, p, x], place) => explainAvgPool(rank)([x, p.kernel_size, p.stride, p.padding, null, p.count_include_pad, p.divisor_override], place);
EXPLAIN.MaxPool1d = explainMaxLayer(1);
EXPLAIN.MaxPool2d = explainMaxLayer(2);
EXPLAIN.AvgPool1d = explainAvgLayer(1);
EXPLAIN.AvgPool2d = explainAvgLayer(2);
EXPLAIN.AdaptiveAvgPool1d = ([, p, x], place) => explainAdaptive(1)([x, p.output_size], place);
EXPLAIN.AdaptiveAvgPool2d = ([, p, x], place) => explainAdaptive(2)([x, p.output_size], place);
EXPLAIN.interpolate = moved;
EXPLAIN.Upsample = (args, ...rest) => (args[1].mode === "nearest" ? moved(args, ...rest) : recomputed("A weighted sum of the old elements that lie nearest to where this one would lie among them.")(args, ...rest));
