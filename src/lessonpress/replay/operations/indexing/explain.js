// Places of what is not 0, and sums that are written to places.
EXPLAIN.nonzero = ([x], place, out, step) => {
  const [row, d] = step.out.length > 1 || !place.length || place.length < 2 ? [place[0], out] : place;
  const found = counted(sizeOf(x.shape), (i) => ref(x, placeOf(i, x.shape))).filter((part) => valueOf(part) !== 0);
  const value = placeOf(found[row].at, x.shape)[d];
  return { value, blocks: [{ says: `Number ${row} of the ${found.length} elements that are not 0; its place along axis ${d}.` }, { line: [found[row], ": ", value] }] };
};
const gathered = (self, parts, times) => {
  const value = valueOf(self) + times * total(parts);
  return { value, blocks: [
    { says: `What was there, plus ${parts.length} values that were added to this place.` },
    ...(parts.length ? [{ head: ["Value"], rows: parts.map((part) => [part]), total: ["Sum", total(parts)] }] : []),
    { line: [self, times === 1 ? " + " : ` + ${times} × `, total(parts), " = ", value] },
  ] };
};
EXPLAIN.scatter_add = ([x, dim, index, src], place) => {
  const d = (dim + x.shape.length) % x.shape.length;
  const lines = place.every((p, e) => e === d || p < index.shape[e]) ? lineAlong(index, place, d) : [];
  const hits = lines.filter((part) => (valueOf(part) + x.shape[d]) % x.shape[d] === place[d]);
  return gathered(ref(x, place), hits.map((part) => ref(src, placeOf(part.at, index.shape))), 1);
};
EXPLAIN.index_add = ([x, dim, index, source, alpha], place) => {
  const d = (dim + x.shape.length) % x.shape.length;
  const hits = counted(sizeOf(index.shape), (i) => i).filter((i) => valueOf({ port: index.port, at: i }) === place[d]);
  return gathered(ref(x, place), hits.map((i) => ref(source, place.map((p, e) => (e === d ? i : p)))), alpha);
};
// Each value alone, over zeros, tells where it is added.
EXPLAIN.index_put = ([x, , values, accumulate], place, out, step) => {
  if (!accumulate) return moved(step, place, out);
  const args = machine.decode(step.args, live.program.ports.map((port) => now.values[port]));
  const single = (shape, at) => machine.nd(shape, machine.FLOAT, Float64Array.from({ length: sizeOf(shape) }, (_, i) => +(i === at)));
  const times = (at) => machine.flat(machine.op.index_put(single(x.shape, -1), args[1], single(values.shape, at), true))[atPlace(place, x.shape)];
  const parts = counted(sizeOf(values.shape), (at) => counted(times(at), () => ({ port: values.port, at }))).flat();
  return gathered(ref(x, place), parts, 1);
};
