// The same elements under another shape, joined, parted, repeated or turned round: the JavaScript of kernels.py.
import {
  arr, axes, axis, broadcast, commonShape, copy, count, flat, isArray, kindOf, nd, op, permute, range, refuse,
  reshape, squeezed, unsqueezed, view, write,
} from "../interpreter.js";

op.view = (x, size) => (size.some((n) => typeof n === "string") ? refuse("view as another dtype") : reshape(x, size));
op.reshape = (x, shape) => reshape(x, shape);
op.view_as = (x, other) => reshape(x, other.shape);
op.reshape_as = (x, other) => reshape(x, other.shape);
op.ravel = (x) => reshape(x, [-1]);
op.tolist = (x) => Array.from(flat(x), (v) => nd([], x.kind, Float64Array.of(v)));
op.flatten = (x, start, end) => {
  const [first, last] = [axis(start, x.shape.length), axis(end, x.shape.length)];
  return reshape(x, [...x.shape.slice(0, first), count(x.shape.slice(first, last + 1)), ...x.shape.slice(last + 1)]);
};
op.unflatten = (x, dim, sizes) => {
  const at = axis(dim, x.shape.length);
  const known = count(sizes.filter((n) => n !== -1));
  return reshape(x, [...x.shape.slice(0, at), ...sizes.map((n) => (n === -1 ? x.shape[at] / known : n)), ...x.shape.slice(at + 1)]);
};
op.transpose = (x, dim0, dim1) => {
  const order = range(x.shape.length);
  const [a, b] = [axis(dim0, order.length), axis(dim1, order.length)];
  if (order.length) [order[a], order[b]] = [order[b], order[a]];
  return permute(x, order);
};
op.permute = (x, dims) => permute(x, dims.map((d) => axis(d, x.shape.length)));
op.movedim = (x, source, destination) => {
  const rank = x.shape.length;
  const [from, to] = [source, destination].map((dims) => [dims].flat().map((d) => axis(d, rank)));
  const rest = range(rank).filter((d) => !from.includes(d));
  return permute(x, range(rank).map((d) => (to.includes(d) ? from[to.indexOf(d)] : rest.shift())));
};
op.T = (x) => permute(x, range(x.shape.length).reverse());
op.t = (x) => op.T(x);
op.mT = (x) => op.transpose(x, -1, -2);
op.squeeze = (x, dim) => squeezed(x, axes(x, dim));
op.unsqueeze = (x, dim) => unsqueezed(x, dim);
op.expand = (x, size) => broadcast(x, size.map((n, d) => (n === -1 ? x.shape[d - size.length + x.shape.length] : n)));
op.broadcast_to = (x, size) => op.expand(x, size);
op.broadcast_tensors = (tensors) => {
  const shape = commonShape(tensors.map((x) => x.shape));
  return tensors.map((x) => broadcast(x, shape));
};
op.expand_as = (x, other) => broadcast(x, other.shape);
// The slices of `x` at the given places of one axis, as a copy.
export const taken = (x, dim, places) => {
  const d = axis(dim, x.shape.length);
  const inner = count(x.shape.slice(d + 1));
  const [data, n] = [flat(x), x.shape[d]];
  const out = nd([...x.shape.slice(0, d), places.length, ...x.shape.slice(d + 1)], x.kind);
  let at = 0;
  for (let outer = 0; outer < count(x.shape.slice(0, d)); outer++) {
    for (const place of places) {
      const start = (outer * n + (place < 0 ? place + n : place)) * inner;
      if (!(start >= outer * n * inner && start < (outer + 1) * n * inner) && inner) refuse(`place ${place} of ${n}`);
      out.data.set(data.subarray(start, start + inner), at);
      at += inner;
    }
  }
  return out;
};
op.repeat = (x, repeats) => {
  let out = reshape(x, [...repeats.slice(x.shape.length).map(() => 1), ...x.shape]);
  repeats.forEach((times, d) => {
    const n = out.shape[d];
    out = taken(out, d, range(n * times).map((i) => i % n));
  });
  return copy(out);
};
op.tile = (x, dims) => op.repeat(x, [...x.shape.slice(dims.length).map(() => 1), ...dims]);
op.repeat_interleave = (x, repeats, dim) => {
  const [source, d] = dim === null ? [reshape(x, [-1]), 0] : [x, dim];
  const times = flat(reshape(arr(repeats), [-1]));
  const n = source.shape[axis(d, source.shape.length)];
  const places = range(n).flatMap((i) => range(times[times.length > 1 ? i : 0]).map(() => i));
  return taken(source, d, places);
};
op.flip = (x, dims) => dims.reduce((y, d) => taken(y, d, range(y.shape[axis(d, y.shape.length)]).reverse()), copy(x));
op.fliplr = (x) => op.flip(x, [1]);
op.flipud = (x) => op.flip(x, [0]);
op.roll = (x, shifts, dims) => {
  if (dims === null || (Array.isArray(dims) && !dims.length)) return copy(reshape(op.roll(reshape(x, [-1]), shifts, 0), x.shape));
  const moves = [shifts].flat();
  return [dims].flat().reduce((y, d, i) => {
    const n = y.shape[axis(d, y.shape.length)];
    return taken(y, d, range(n).map((k) => (((k - moves[i]) % n) + n) % n));
  }, copy(x));
};
op.cat = (tensors, dim) => {
  const parts = tensors.filter((x) => String(x.shape) !== "0");
  if (!parts.length) return copy(tensors[0]);
  const d = axis(dim, parts[0].shape.length);
  const kind = kindOf(...parts);
  const lead = count(parts[0].shape.slice(0, d));
  const out = nd(parts[0].shape.map((n, e) => (e === d ? parts.reduce((m, x) => m + x.shape[d], 0) : n)), kind);
  const lines = parts.map((x) => [flat(x), count(x.shape.slice(d))]);
  let at = 0;
  for (let i = 0; i < lead; i++) {
    for (const [data, n] of lines) {
      out.data.set(data.subarray(i * n, i * n + n), at);
      at += n;
    }
  }
  return out;
};
op.stack = (tensors, dim) => {
  const d = dim < 0 ? dim + tensors[0].shape.length + 1 : dim;
  return op.cat(tensors.map((x) => unsqueezed(x, d)), d);
};
op.hstack = (tensors) => op.cat(tensors.map((x) => (x.shape.length ? x : reshape(x, [1]))), tensors[0].shape.length > 1 ? 1 : 0);
op.vstack = (tensors) => op.cat(tensors.map((x) => (x.shape.length > 1 ? x : reshape(x, [1, -1]))), 0);
export const narrowed = (x, dim, start, length) => {
  const d = axis(dim, x.shape.length);
  return view(x, x.shape.map((n, e) => (e === d ? length : n)), x.strides, x.offset + start * x.strides[d]);
};
op.split = (x, sections, dim) => {
  const n = x.shape[axis(dim, x.shape.length)];
  const even = (step) => range(Math.max(Math.ceil(n / step), 1)).map((i) => Math.min(step, n - i * step));
  let start = 0;
  return (Array.isArray(sections) ? sections : even(sections)).map((size) => narrowed(x, dim, (start += size) - size, size));
};
op.chunk = (x, chunks, dim) => op.split(x, Math.max(Math.ceil(x.shape[axis(dim, x.shape.length)] / chunks), 1), dim);
export const selected = (x, dim, index) => {
  const d = axis(dim, x.shape.length);
  const i = index < 0 ? index + x.shape[d] : index;
  if (!(i >= 0 && i < x.shape[d])) refuse(`place ${index} of ${x.shape[d]}`);
  const without = (list) => list.filter((_, e) => e !== d);
  return view(x, without(x.shape), without(x.strides), x.offset + i * x.strides[d]);
};
op.unbind = (x, dim) => range(x.shape[axis(dim, x.shape.length)]).map((i) => selected(x, dim, i));
op.unfold = (x, dim, size, step) => {
  const d = axis(dim, x.shape.length);
  const shape = x.shape.map((n, e) => (e === d ? Math.floor((n - size) / step) + 1 : n));
  return view(x, [...shape, size], [...x.strides.map((s, e) => (e === d ? s * step : s)), x.strides[d]]);
};
op.diagonal = (x, offset, dim1, dim2) => {
  const [a, b] = [axis(dim1, x.shape.length), axis(dim2, x.shape.length)];
  const [down, right] = [Math.max(-offset, 0), Math.max(offset, 0)];
  const n = Math.max(Math.min(x.shape[a] - down, x.shape[b] - right), 0);
  const rest = (list) => list.filter((_, e) => e !== a && e !== b);
  const start = n ? x.offset + down * x.strides[a] + right * x.strides[b] : x.offset;
  return view(x, [...rest(x.shape), n], [...rest(x.strides), x.strides[a] + x.strides[b]], start);
};
op.diag = (x, offset) => {
  if (x.shape.length > 1) return copy(op.diagonal(x, offset, 0, 1));
  const n = x.shape[0] + Math.abs(offset);
  const out = nd([n, n], x.kind);
  write(op.diagonal(out, offset, 0, 1), x);
  return out;
};
const triangle = (x, keep) => {
  const out = copy(x);
  const [rows, columns] = x.shape.slice(-2);
  out.data.forEach((_, i) => {
    if (!keep((i % columns) - (Math.floor(i / columns) % rows))) out.data[i] = 0;
  });
  return out;
};
op.tril = (x, diagonal) => triangle(x, (d) => d <= diagonal);
op.triu = (x, diagonal) => triangle(x, (d) => d >= diagonal);
op.pad = (x, pad, mode, value) => {
  if (mode !== "constant") refuse(`pad with mode ${mode}`);
  const rank = x.shape.length;
  const pairs = x.shape.map((_, d) => (2 * (rank - 1 - d) < pad.length ? pad.slice(2 * (rank - 1 - d), 2 * (rank - d)) : [0, 0]));
  const out = nd(x.shape.map((n, d) => n + pairs[d][0] + pairs[d][1]), x.kind);
  out.data.fill(Number(value ?? 0));
  let [to, from] = [out, x];
  pairs.forEach(([before, after], d) => {
    const length = x.shape[d] + Math.min(before, 0) + Math.min(after, 0);
    to = narrowed(to, d, Math.max(before, 0), length);
    from = narrowed(from, d, Math.max(-before, 0), length);
  });
  write(to, from);
  return out;
};
op.meshgrid = (tensors, indexing) => {
  const order = range(tensors.length);
  if (indexing === "xy" && order.length > 1) [order[0], order[1]] = [1, 0];
  const shape = tensors.map((x) => count(x.shape));
  const grids = tensors.map((x, d) => broadcast(reshape(x, shape.map((_, e) => (d === e ? -1 : 1))), shape));
  return grids.map((x) => copy(permute(x, order)));
};
op.Identity = (w, p, input) => input;
op.Flatten = (w, p, input) => op.flatten(input, p.start_dim, p.end_dim);
op.Unflatten = (w, p, input) => op.unflatten(input, p.dim, p.unflattened_size);
const padLayer = (rank, p, x) => {
  const margins = Array.isArray(p.padding) ? p.padding : range(2 * rank).map(() => +p.padding);
  return op.pad(x, margins, "constant", p.value);
};
op.ZeroPad1d = (w, p, x) => padLayer(1, p, x);
op.ZeroPad2d = (w, p, x) => padLayer(2, p, x);
op.ConstantPad1d = (w, p, x) => padLayer(1, p, x);
op.ConstantPad2d = (w, p, x) => padLayer(2, p, x);
op.tensor_split = (x, places, dim) => {
  if (isArray(places)) refuse("places to cut that are a tensor");
  const n = x.shape[axis(dim, x.shape.length)];
  const inside = (at) => Math.min(Math.max(at < 0 ? at + n : Number(at), 0), n);
  const long = (i) => Math.floor(n / places) + (i < n % places ? 1 : 0);
  if (!Array.isArray(places)) return op.split(x, range(Number(places)).map(long), dim);
  const cuts = [0, ...places.map(inside), n];
  return range(cuts.length - 1).map((i) => narrowed(x, dim, cuts[i], Math.max(cuts[i + 1] - cuts[i], 0)));
};
