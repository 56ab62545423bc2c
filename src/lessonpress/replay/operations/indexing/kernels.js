// Picking elements and writing them back: the JavaScript of kernels.py.
import { same } from "../elementwise/kernels.js";
import {
  BOOL, FLOAT, INT, arr, axis, broadcast, commonShape, converted, copy, count, flat, isArray, map, nd, offsets, op,
  packed, permute, range, refuse, reshape, unsqueezed, view, write,
} from "../interpreter.js";
import { narrowed, selected, taken } from "../shapes/kernels.js";

const clipped = (v, n, low, high) => Math.min(Math.max(v < 0 ? v + n : v, low), high);
export const plainNumber = (v) => (isArray(v) ? flat(v)[0] : v === null ? null : Number(v));
export const sliced = (x, d, parts) => {
  const n = x.shape[d];
  const [start, stop, step] = parts.map(plainNumber);
  const by = step ?? 1;
  const [first, last] = [start === null ? 0 : clipped(start, n, 0, n), stop === null ? n : clipped(stop, n, 0, n)];
  const length = Math.max(Math.ceil((last - first) / by), 0);
  const shape = x.shape.map((m, e) => (e === d ? length : m));
  const strides = x.strides.map((s, e) => (e === d ? s * by : s));
  return view(x, shape, strides, x.offset + (length ? first : 0) * x.strides[d]);
};
const consumed = (part) => {
  if (part === null || typeof part === "boolean") return 0;
  return isArray(part) && part.kind === BOOL ? part.shape.length : 1;
};
// The places of true elements, one array an axis.
const truePlaces = (mask) => {
  const places = mask.shape.map(() => []);
  const strides = packed(mask.shape);
  flat(mask).forEach((v, i) => {
    if (v !== 0) places.forEach((list, d) => list.push(Math.floor(i / strides[d]) % mask.shape[d]));
  });
  return places.map((list) => nd([list.length], INT, Float64Array.from(list)));
};
// The view that the basic parts of an index give, and for each of its axes the integer array that picks along it.
const parted = (x, index) => {
  const at = index.findIndex((part) => part !== null && typeof part === "object" && "ellipsis" in part);
  const full = { slice: [null, null, null] };
  const missing = x.shape.length - index.reduce((n, part, i) => n + (i === at ? 0 : consumed(part)), 0);
  const parts = at < 0 ? index : [...index.slice(0, at), ...new Array(missing).fill(full), ...index.slice(at + 1)];
  const picks = [];
  let seen = x;
  for (const part of parts) {
    const d = picks.length;
    if (part === null) {
      seen = unsqueezed(seen, d);
      picks.push(null);
    } else if (typeof part === "boolean" || (isArray(part) && part.kind === BOOL && !part.shape.length)) {
      seen = unsqueezed(seen, d);
      picks.push(nd([isArray(part) ? flat(part)[0] : +part], INT));
    } else if (typeof part === "number" || (isArray(part) && !part.shape.length)) {
      seen = selected(seen, d, plainNumber(part));
    } else if ("slice" in part) {
      seen = sliced(seen, d, part.slice);
      picks.push(null);
    } else if (part.kind === BOOL) {
      if (String(part.shape) !== String(seen.shape.slice(d, d + part.shape.length))) refuse("a mask of another shape");
      picks.push(...truePlaces(part));
    } else {
      picks.push(part);
    }
  }
  return { seen, picks: picks.some((pick) => pick) ? picks : null };
};
// Where the elements lie that integer arrays pick: their shape and their places in the data.
const located = (seen, picks) => {
  const dims = range(seen.shape.length).filter((d) => picks[d]);
  const rest = range(seen.shape.length).filter((d) => !picks[d]);
  const together = dims[dims.length - 1] - dims[0] === dims.length - 1;
  const lead = together ? rest.filter((d) => d < dims[0]) : [];
  const tail = rest.filter((d) => !lead.includes(d));
  const shape = commonShape(dims.map((d) => picks[d].shape));
  const lists = dims.map((d) => flat(broadcast(picks[d], shape)));
  const middle = range(count(shape)).map((i) =>
    dims.reduce((sum, d, k) => {
      const [place, n] = [lists[k][i], seen.shape[d]];
      if (!(place >= -n && place < n)) refuse(`place ${place} of ${n}`);
      return sum + (place < 0 ? place + n : place) * seen.strides[d];
    }, 0),
  );
  const outer = offsets(permute(seen, lead));
  const inner = offsets(permute({ ...seen, offset: 0 }, tail));
  const places = [];
  for (const a of outer) for (const b of middle) for (const c of inner) places.push(a + b + c);
  return { shape: [...lead.map((d) => seen.shape[d]), ...shape, ...tail.map((d) => seen.shape[d])], places };
};
op.getitem = (x, index) => {
  const { seen, picks } = parted(x, index);
  if (!picks) return seen;
  const { shape, places } = located(seen, picks);
  return nd(shape, x.kind, Float64Array.from(places, (at) => seen.data[at]));
};
op.setitem = (x, index, value) => {
  const { seen, picks } = parted(x, index);
  let source = arr(value);
  const shape = picks ? located(seen, picks).shape : seen.shape;
  while (source.shape.length > shape.length && source.shape[0] === 1) source = selected(source, 0, 0);
  if (!picks) {
    write(seen, source);
    return x;
  }
  const from = flat(broadcast(source, shape)).slice();
  located(seen, picks).places.forEach((at, i) => {
    seen.data[at] = converted(from[i], x.kind);
  });
  return x;
};
op.index_put = (x, indices, values, accumulate) => {
  const out = copy(x);
  const { seen, picks } = parted(out, indices);
  const { shape, places } = located(seen, picks);
  const from = flat(broadcast(arr(values), shape));
  places.forEach((at, i) => {
    seen.data[at] = converted(from[i] + (accumulate ? seen.data[at] : 0), x.kind);
  });
  return out;
};
op.select = (x, dim, index) => selected(x, dim, plainNumber(index));
op.narrow = (x, dim, start, length) => {
  const first = plainNumber(start);
  return narrowed(x, dim, first < 0 ? first + x.shape[axis(dim, x.shape.length)] : first, length);
};
// Places of which torch counts none from the end.
const fromStart = (index) => (flat(index).some((place) => place < 0) ? refuse("a place before the first") : flat(index));
op.index_select = (x, dim, index) => taken(x, dim, fromStart(index));
op.take = (x, index) => nd(index.shape, x.kind, flat(taken(reshape(x, [-1]), 0, flat(index))));
op.masked_select = (x, mask) => {
  const shape = commonShape([x.shape, mask.shape]);
  const chosen = flat(broadcast(mask, shape));
  const values = flat(broadcast(x, shape)).filter((_, i) => chosen[i] !== 0);
  return nd([values.length], x.kind, values);
};
op.masked_scatter = (x, mask, source) => {
  const shape = commonShape([x.shape, mask.shape]);
  const [chosen, from] = [flat(broadcast(mask, shape)), flat(source)];
  const out = copy(broadcast(x, shape));
  let next = 0;
  chosen.forEach((yes, i) => {
    if (yes) out.data[i] = next < from.length ? from[next++] : refuse("fewer numbers than places for them");
  });
  return out;
};
op.as_strided = (x, size, stride, offset) => view(x, size.map(Number), stride.map(Number), x.offset + Number(offset ?? 0));
op.nonzero = (x, asTuple) => {
  const places = truePlaces(x);
  if (asTuple) return places;
  const n = places.length ? places[0].shape[0] : 0;
  const rank = places.length;
  const data = Float64Array.from({ length: n * rank }, (_, i) => places[i % rank].data[Math.floor(i / rank)]);
  return nd([n, rank], INT, data);
};
// For each element of `index`: where in `x` the element lies that it names along `dim`.
const named = (x, dim, index) => {
  const d = axis(dim, x.shape.length);
  const grid = { data: x.data, shape: index.shape, strides: x.strides.map((s, e) => (e === d ? 0 : s)), offset: x.offset };
  const list = flat(index);
  return offsets(grid).map((at, i) => {
    const [place, n] = [list[i], x.shape[d]];
    if (!(place >= 0 && place < n)) refuse(`place ${place} of ${n}`);
    return at + place * x.strides[d];
  });
};
op.gather = (x, dim, index) => nd(index.shape, x.kind, Float64Array.from(named(x, dim, index), (at) => x.data[at]));
op.take_along_dim = (x, indices, dim) => {
  const counted = (y, n) => same((v) => (v < 0 ? v + n : v), y); // places may count from the end here
  if (dim === null) return op.gather(reshape(x, [-1]), 0, counted(reshape(indices, [-1]), count(x.shape)));
  const d = axis(dim, x.shape.length);
  const shape = commonShape([x.shape, indices.shape].map((s) => s.filter((_, e) => e !== d)));
  const fit = (y) => broadcast(y, [...shape.slice(0, d), y.shape[d], ...shape.slice(d)]);
  return op.gather(fit(x), d, counted(fit(indices), x.shape[d]));
};
const covered = (src, index) => flat(arr(src).shape.length ? view(src, index.shape, src.strides) : broadcast(arr(src), index.shape));
const scattered = (x, dim, index, src, f) => {
  const out = copy(x);
  const from = covered(src, index);
  named(out, dim, index).forEach((at, i) => {
    out.data[at] = f(out.data[at], converted(from[i], x.kind));
  });
  return out;
};
op.scatter = (x, dim, index, src, value, reduce) =>
  reduce === null ? scattered(x, dim, index, src ?? value, (old, v) => v) : refuse("scatter with reduce");
op.scatter_add = (x, dim, index, src) => scattered(x, dim, index, src, (old, v) => old + v);
const sliceWise = (x, dim, index, f) => {
  const out = copy(x);
  flat(index).forEach((place, i) => write(selected(out, dim, place), f(selected(out, dim, place), i)));
  return out;
};
op.index_add = (x, dim, index, source, alpha) =>
  sliceWise(x, dim, nd(index.shape, INT, fromStart(index)), (old, i) => same((a, b) => a + alpha * b, old, selected(source, dim, i)));
op.index_copy = (x, dim, index, source) => sliceWise(x, dim, nd(index.shape, INT, fromStart(index)), (old, i) => selected(source, dim, i));
op.index_fill = (x, dim, index, value) => sliceWise(x, dim, index, () => value);
const found = (edges, values, right) => {
  if (edges.shape.length !== 1) refuse("edges of their own for each line");
  const list = [...flat(edges)];
  const beyond = (v) => list.findIndex((edge) => (right ? edge > v : edge >= v));
  return map(INT, (v) => (beyond(v) < 0 ? list.length : beyond(v)), values);
};
op.bucketize = (x, edges, narrow, right) => found(edges, x, right);
op.searchsorted = (edges, x, narrow, right, side, sorter) => {
  if (sorter !== null) refuse("searchsorted with a sorter");
  return found(edges, x, right || side === "right");
};
op.bincount = (x, weights, least) => {
  const [ids, given] = [[...flat(x)], weights === null ? null : flat(weights)];
  if (ids.some((id) => id < 0)) refuse("a count of numbers below 0");
  const out = nd([ids.reduce((n, id) => Math.max(n, id + 1), Number(least))], given ? FLOAT : INT);
  ids.forEach((id, i) => {
    out.data[id] += given ? given[i] : 1;
  });
  return out;
};
