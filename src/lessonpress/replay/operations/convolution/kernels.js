// Convolutions and pooling over one or two axes: the JavaScript of kernels.py.
import "../resampling/kernels.js";
import { largest, total } from "../activations/kernels.js";
import { real } from "../elementwise/kernels.js";
import { sliced } from "../indexing/kernels.js";
import {
  FLOAT, INT, along, copy, count, map, nd, offsets, op, packed, permute, range, reduce, refuse, reshape, unsqueezed,
  view, write,
} from "../interpreter.js";
import { added, linear, matmul } from "../products/kernels.js";
import { narrowed, selected } from "../shapes/kernels.js";

const perAxis = (value, rank) => {
  const values = [value].flat().map(Number);
  return values.length === 1 ? range(rank).map(() => values[0]) : values;
};
const margins = (padding, kernel, dilation) => {
  if (padding !== "same") return perAxis(padding === "valid" ? 0 : padding, kernel.length).map((n) => [n, n]);
  return kernel.map((k, d) => dilation[d] * (k - 1)).map((span) => [Math.floor(span / 2), span - Math.floor(span / 2)]);
};
// A view of all windows of the last axes, [..., out..., kernel...], of the padded array.
const windows = (x, kernel, stride, around, dilation, fill) => {
  const rank = kernel.length;
  const padded = op.pad(x, [...around].reverse().flat(), "constant", fill);
  const lead = padded.shape.length - rank;
  const steps = padded.strides.slice(lead);
  const out = padded.shape.slice(lead).map((n, d) => Math.floor((n - dilation[d] * (kernel[d] - 1) - 1) / stride[d]) + 1);
  return view(
    padded,
    [...padded.shape.slice(0, lead), ...out, ...kernel],
    [...padded.strides.slice(0, lead), ...steps.map((s, d) => s * stride[d]), ...steps.map((s, d) => s * dilation[d])],
  );
};
const convolve = (rank, x, weight, bias, stride, padding, dilation, groups) => {
  if (x.shape.length === rank + 1) {
    return selected(convolve(rank, unsqueezed(x, 0), weight, bias, stride, padding, dilation, groups), 0, 0);
  }
  const kernel = weight.shape.slice(2);
  const spacing = perAxis(dilation, rank);
  const seen = windows(x, kernel, perAxis(stride, rank), margins(padding, kernel, spacing), spacing, 0);
  const [batch, out] = [seen.shape[0], seen.shape.slice(2, 2 + rank)];
  const parts = range(groups).map((g) => {
    const ours = narrowed(seen, 1, (g * seen.shape[1]) / groups, seen.shape[1] / groups);
    const theirs = narrowed(weight, 0, (g * weight.shape[0]) / groups, weight.shape[0] / groups);
    const lines = permute(ours, [0, ...range(rank).map((d) => d + 2), 1, ...range(rank).map((d) => d + 2 + rank)]);
    const flatWeight = reshape(theirs, [theirs.shape[0], -1]);
    return linear(reshape(lines, [batch * count(out), flatWeight.shape[1]]), flatWeight, null);
  });
  const result = reshape(added(op.cat(parts, 1), bias), [batch, ...out, weight.shape[0]]);
  return copy(permute(result, [0, rank + 1, ...range(rank).map((d) => d + 1)]));
};
op.conv1d = (...args) => convolve(1, ...args);
op.conv2d = (...args) => convolve(2, ...args);
const transposed = (rank, x, weight, bias, stride, padding, outputPadding, groups, dilation) => {
  const settings = [stride, padding, outputPadding, groups, dilation];
  if (x.shape.length === rank + 1) return selected(transposed(rank, unsqueezed(x, 0), weight, bias, ...settings), 0, 0);
  const [steps, spacing, cut, extra] = [stride, dilation, padding, outputPadding].map((v) => perAxis(v, rank));
  const [sizes, kernel] = [x.shape.slice(2), weight.shape.slice(2)];
  const full = sizes.map((n, d) => (n - 1) * steps[d] + spacing[d] * (kernel[d] - 1) + 1 + extra[d]);
  const [ins, outs] = [x.shape[1] / groups, weight.shape[1]];
  const out = nd([x.shape[0], outs * groups, ...full], FLOAT);
  const places = offsets(nd(kernel, INT));
  for (let g = 0; g < groups; g++) {
    const lines = permute(narrowed(x, 1, g * ins, ins), [0, ...range(rank).map((d) => d + 2), 1]);
    const spread = matmul(lines, reshape(narrowed(weight, 0, g * ins, ins), [ins, -1])); // [batch, ..., outs * kernel]
    for (const place of places) {
      const at = packed(kernel).map((s, d) => Math.floor(place / s) % kernel[d]);
      const ours = range(outs).map((o) => selected(spread, -1, o * places.length + place));
      let target = narrowed(out, 1, g * outs, outs);
      at.forEach((k, d) => {
        const from = k * spacing[d];
        target = sliced(target, d + 2, [from, from + (sizes[d] - 1) * steps[d] + 1, steps[d]]);
      });
      write(target, real((a, b) => a + b, target, op.stack(ours, 1)));
    }
  }
  const kept = cut.reduce((y, c, d) => narrowed(y, d + 2, c, full[d] - 2 * c), out);
  return copy(added(kept, bias && reshape(bias, [-1, ...range(rank).map(() => 1)])));
};
op.conv_transpose1d = (...args) => transposed(1, ...args);
op.conv_transpose2d = (...args) => transposed(2, ...args);
op.interpolate = (x, size, scale, mode) => {
  const sizes = x.shape.slice(2);
  const factors = size !== null ? perAxis(size, sizes.length).map((v, d) => v / sizes[d]) : perAxis(scale, sizes.length);
  if (mode !== "nearest" || factors.some((f) => f !== Math.floor(f))) refuse(`interpolation of the mode ${mode}`);
  return factors.reduce((y, f, d) => op.repeat_interleave(y, f, d + 2), copy(x));
};
const pooled = (rank, x, size, stride, padding, dilation, ceilMode, fill) => {
  if (ceilMode) refuse("pooling with ceil_mode");
  const kernel = perAxis(size, rank);
  const steps = stride === null || (Array.isArray(stride) && !stride.length) ? kernel : perAxis(stride, rank);
  const seen = windows(x, kernel, steps, margins(padding, kernel), perAxis(dilation, rank), fill);
  return reshape(seen, [...seen.shape.slice(0, -rank), count(kernel)]);
};
const maxPool = (rank, x, size, stride, padding, dilation, ceilMode, indices) => {
  if (indices) refuse("max pooling with indices");
  return reduce(pooled(rank, x, size, stride, padding, dilation, ceilMode, -Infinity), -1, false, x.kind, largest);
};
const avgPool = (rank, x, size, stride, padding, ceilMode, countPad, divisor) => {
  const sums = (y) => reduce(pooled(rank, y, size, stride, padding, 1, ceilMode, 0), -1, false, FLOAT, total);
  const n = divisor ?? count(perAxis(size, rank));
  if (divisor !== null || countPad) return real((v) => v / n, sums(x));
  return real((a, b) => a / b, sums(x), sums(map(FLOAT, () => 1, x)));
};
op.max_pool1d = (...args) => maxPool(1, ...args);
op.max_pool2d = (...args) => maxPool(2, ...args);
op.avg_pool1d = (...args) => avgPool(1, ...args, null);
op.avg_pool2d = (...args) => avgPool(2, ...args);
const adaptive = (x, dim, parts) =>
  along(x, dim, FLOAT, (line) => {
    const n = line.length;
    const m = parts ?? n;
    return range(m).map((i) => {
      const stretch = line.subarray(Math.floor((i * n) / m), Math.ceil(((i + 1) * n) / m));
      return total(stretch) / stretch.length;
    });
  });
op.adaptive_avg_pool1d = (x, size) => adaptive(x, -1, [size].flat()[0]);
op.adaptive_avg_pool2d = (x, size) => {
  const [rows, columns] = Array.isArray(size) ? size : [size, size];
  return adaptive(adaptive(x, -2, rows), -1, columns);
};
const convLayer = (rank, w, p, x) => {
  if (p.padding_mode !== "zeros") refuse(`padding_mode ${p.padding_mode}`);
  return convolve(rank, x, w.weight, w.bias, p.stride, p.padding, p.dilation, p.groups);
};
const maxLayer = (rank, p, x) => maxPool(rank, x, p.kernel_size, p.stride, p.padding, p.dilation, p.ceil_mode, p.return_indices);
const avgLayer = (rank, p, x) => avgPool(rank, x, p.kernel_size, p.stride, p.padding, p.ceil_mode, p.count_include_pad, p.divisor_override);
op.Conv1d = (w, p, x) => convLayer(1, w, p, x);
op.Conv2d = (w, p, x) => convLayer(2, w, p, x);
const backLayer = (rank, w, p, x) =>
  transposed(rank, x, w.weight, w.bias, p.stride, p.padding, p.output_padding, p.groups, p.dilation);
op.ConvTranspose1d = (w, p, x) => backLayer(1, w, p, x);
op.ConvTranspose2d = (w, p, x) => backLayer(2, w, p, x);
op.Upsample = (w, p, x) => {
  if (p.mode === "nearest") return op.interpolate(x, p.size, p.scale_factor, p.mode);
  return op.resize(x, p.size, p.scale_factor, p.mode, p.align_corners ?? false, false);
};
op.MaxPool1d = (w, p, x) => maxLayer(1, p, x);
op.MaxPool2d = (w, p, x) => maxLayer(2, p, x);
op.AvgPool1d = (w, p, x) => avgLayer(1, p, x);
op.AvgPool2d = (w, p, x) => avgLayer(2, p, x);
op.AdaptiveAvgPool1d = (w, p, x) => op.adaptive_avg_pool1d(x, p.output_size);
op.AdaptiveAvgPool2d = (w, p, x) => op.adaptive_avg_pool2d(x, p.output_size);
