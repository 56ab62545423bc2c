// Images and signals in other sizes: the JavaScript of kernels.py.
import { FLOAT, along, copy, nd, op, permute, range, reshape, view, write } from "../interpreter.js";

const ofAxes = (value, rank) => (Array.isArray(value) ? value.map(Number) : range(rank).map(() => Number(value)));
const CUBIC = -0.75;
const cubicWeights = (t) => {
  const [near, far] = [
    (d) => ((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1,
    (d) => ((CUBIC * d - 5 * CUBIC) * d + 8 * CUBIC) * d - 4 * CUBIC,
  ];
  return [far(1 + t), near(t), near(1 - t), far(2 - t)];
};
// Which elements of an axis make the new one at a place, with their weights.
const resizeTerms = (at, old, fresh, step, mode, corners) => {
  if (mode === "nearest") return [[Math.min(Math.floor(at * step), old - 1), 1]];
  if (mode === "nearest-exact") return [[Math.min(Math.floor((at + 0.5) * step), old - 1), 1]];
  if (mode === "area") {
    const [first, end] = [Math.floor((at * old) / fresh), Math.ceil(((at + 1) * old) / fresh)];
    return range(end - first).map((i) => [first + i, 1 / (end - first)]);
  }
  const place = corners ? at * step : (at + 0.5) * step - 0.5;
  if (mode.endsWith("linear")) {
    const first = Math.min(Math.floor(Math.max(place, 0)), old - 1);
    const part = Math.max(place, 0) - first;
    return [[first, 1 - part], [Math.min(first + 1, old - 1), part]];
  }
  const first = Math.floor(place);
  return cubicWeights(place - first).map((weight, i) => [Math.min(Math.max(first - 1 + i, 0), old - 1), weight]);
};
op.resize = (x, size, scale, mode, corners, recompute) => {
  const rank = x.shape.length - 2;
  const factors = scale === null ? [] : ofAxes(scale, rank);
  const sizes = size === null ? factors.map((f, d) => Math.floor(x.shape[d + 2] * f)) : ofAxes(size, rank);
  return sizes.reduce((y, fresh, d) => {
    const old = x.shape[d + 2];
    let step = !factors.length || recompute ? old / fresh : 1 / factors[d];
    if (corners) step = fresh > 1 ? (old - 1) / (fresh - 1) : 0;
    const terms = range(fresh).map((at) => resizeTerms(at, old, fresh, step, mode, corners));
    return along(y, d + 2, FLOAT, (line) => terms.map((pairs) => pairs.reduce((sum, [i, weight]) => sum + weight * line[i], 0)));
  }, x);
};
const aroundPlaces = (before, n, after, mode) => range(before + n + after).map((i) => i - before).map((i) => {
  if (mode === "circular") return ((i % n) + n) % n;
  if (mode === "replicate") return Math.min(Math.max(i, 0), n - 1);
  return n - 1 - Math.abs(n - 1 - Math.abs(i));
});
const padAround = (x, pad, mode) => range(pad.length / 2).reduce((y, at) => {
  const d = x.shape.length - 1 - at;
  const places = aroundPlaces(pad[2 * at], y.shape[d], pad[2 * at + 1], mode);
  return along(y, d, x.kind, (line) => places.map((i) => line[i]));
}, x);
op.pad_around = padAround;
const padLayerAround = (rank, mode) => (w, p, x) => padAround(x, ofAxes(p.padding, 2 * rank), mode);
op.ReflectionPad1d = padLayerAround(1, "reflect");
op.ReflectionPad2d = padLayerAround(2, "reflect");
op.ReplicationPad1d = padLayerAround(1, "replicate");
op.ReplicationPad2d = padLayerAround(2, "replicate");
op.CircularPad1d = padLayerAround(1, "circular");
op.CircularPad2d = padLayerAround(2, "circular");
const patchesOf = (x, kernelSize, dilation, padding, stride) => {
  if (x.shape.length === 3) {
    const all = patchesOf(reshape(x, [1, ...x.shape]), kernelSize, dilation, padding, stride);
    return reshape(all, all.shape.slice(1));
  }
  const [[kh, kw], [dh, dw], [ph, pw], [sh, sw]] = [kernelSize, dilation, padding, stride].map((value) => ofAxes(value, 2));
  const [batch, channels, height, width] = x.shape;
  const padded = nd([batch, channels, height + 2 * ph, width + 2 * pw], x.kind);
  write(view(padded, x.shape, padded.strides, ph * padded.strides[2] + pw), x);
  const [rows, columns] = [[height + 2 * ph, dh * (kh - 1), sh], [width + 2 * pw, dw * (kw - 1), sw]].map(([n, span, step]) => Math.floor((n - span - 1) / step) + 1);
  const [b, c, h, w] = padded.strides;
  const seen = view(padded, [batch, channels, kh, kw, rows, columns], [b, c, h * dh, w * dw, h * sh, w * sw]);
  return reshape(copy(seen), [batch, channels * kh * kw, rows * columns]);
};
op.patches = patchesOf;
op.Unfold = (w, p, x) => patchesOf(x, p.kernel_size, p.dilation, p.padding, p.stride);
const pixelShuffled = (x, r) => {
  const [lead, [channels, height, width]] = [x.shape.slice(0, -3), x.shape.slice(-3)];
  const n = lead.length;
  const parts = reshape(x, [...lead, channels / (r * r), +r, +r, height, width]);
  return reshape(copy(permute(parts, [...range(n), n, n + 3, n + 1, n + 4, n + 2])), [...lead, channels / (r * r), height * r, width * r]);
};
const pixelUnshuffled = (x, r) => {
  const [lead, [channels, height, width]] = [x.shape.slice(0, -3), x.shape.slice(-3)];
  const n = lead.length;
  const parts = reshape(x, [...lead, channels, height / r, +r, width / r, +r]);
  return reshape(copy(permute(parts, [...range(n), n, n + 2, n + 4, n + 1, n + 3])), [...lead, channels * r * r, height / r, width / r]);
};
const channelShuffled = (x, groups) => {
  const [batch, channels, ...rest] = x.shape;
  const parts = reshape(x, [batch, +groups, channels / groups, ...rest]);
  return reshape(copy(permute(parts, [0, 2, 1, ...rest.map((_, d) => d + 3)])), x.shape);
};
op.pixel_shuffle = pixelShuffled;
op.pixel_unshuffle = pixelUnshuffled;
op.channel_shuffle = channelShuffled;
op.PixelShuffle = (w, p, x) => pixelShuffled(x, p.upscale_factor);
op.PixelUnshuffle = (w, p, x) => pixelUnshuffled(x, p.downscale_factor);
op.ChannelShuffle = (w, p, x) => channelShuffled(x, p.groups);
