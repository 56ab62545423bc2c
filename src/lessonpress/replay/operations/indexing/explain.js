// Numbers that are picked or written to places; what is not 0, and sums that are written to places.
import { EXPLAIN, EXPLAIN_FAMILY, moved, movedFrom, numberOf, ref, sumOf } from "#page/explain.js";
import { atPlace, counted, placeOf, sizeOf } from "#page/numbers.js";
import { live, now } from "#page/state.js";
import { lineAlong } from "../activations/explain.js";
import { recomputed } from "../creation/explain.js";
import { FLOAT, decode, flat, nd, op } from "../interpreter.js";
import "./kernels.js";

EXPLAIN_FAMILY.indexing = moved;
EXPLAIN.setitem = movedFrom(0, 2);
EXPLAIN.scatter = movedFrom(0, 3);
EXPLAIN.index_copy = movedFrom(0, 3);
EXPLAIN.masked_scatter = movedFrom(0, 2);
EXPLAIN.nonzero = ([x], place, out, step) => {
  const [row, d] = step.out.length > 1 || !place.length || place.length < 2 ? [place[0], out] : place;
  const hits = counted(sizeOf(x.shape), (i) => ref(x, placeOf(i, x.shape))).filter((part) => numberOf(part) !== 0);
  const value = placeOf(hits[row].at, x.shape)[d];
  return { value, blocks: [{ says: `Number ${row} of the ${hits.length} elements that are not 0; its place along axis ${d}.` }, { line: [hits[row], ": ", value] }] };
};
const gathered = (self, parts, times) => {
  const value = numberOf(self) + times * sumOf(parts);
  return { value, blocks: [
    { says: `What was there, plus ${parts.length} values that were added to this place.` },
    ...(parts.length ? [{ head: ["Value"], rows: parts.map((part) => [part]), total: ["Sum", sumOf(parts)] }] : []),
    { line: [self, times === 1 ? " + " : ` + ${times} × `, sumOf(parts), " = ", value] },
  ] };
};
EXPLAIN.scatter_add = ([x, dim, index, src], place) => {
  const d = (dim + x.shape.length) % x.shape.length;
  const lines = place.every((p, e) => e === d || p < index.shape[e]) ? lineAlong(index, place, d) : [];
  const hits = lines.filter((part) => (numberOf(part) + x.shape[d]) % x.shape[d] === place[d]);
  return gathered(ref(x, place), hits.map((part) => ref(src, placeOf(part.at, index.shape))), 1);
};
EXPLAIN.index_add = ([x, dim, index, source, alpha], place) => {
  const d = (dim + x.shape.length) % x.shape.length;
  const hits = counted(sizeOf(index.shape), (i) => i).filter((i) => numberOf({ port: index.port, at: i }) === place[d]);
  return gathered(ref(x, place), hits.map((i) => ref(source, place.map((p, e) => (e === d ? i : p)))), alpha);
};
// Each value alone, over zeros, tells where it is added.
EXPLAIN.index_put = (given, place, out, step) => {
  const [x, , values, accumulate] = given;
  if (!accumulate) return movedFrom(0, 2)(given, place, out, step);
  const args = decode(step.args, live.program.ports.map((port) => now.values[port]));
  const single = (shape, at) => nd(shape, FLOAT, Float64Array.from({ length: sizeOf(shape) }, (_, i) => +(i === at)));
  const times = (at) => flat(op.index_put(single(x.shape, -1), args[1], single(values.shape, at), true))[atPlace(place, x.shape)];
  const parts = counted(sizeOf(values.shape), (at) => counted(times(at), () => ({ port: values.port, at }))).flat();
  return gathered(ref(x, place), parts, 1);
};
EXPLAIN.bucketize = recomputed("How many of the edges are below the number.");
EXPLAIN.searchsorted = recomputed("How many of the edges are below the number.");
EXPLAIN.bincount = recomputed("How often this whole number occurs, or the sum of its weights.");
