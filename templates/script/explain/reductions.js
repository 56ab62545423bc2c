// Reductions: the elements that one result is made of.
const reduced = ([x, dim, keepdim], place) => {
  const rank = x.shape.length;
  const dims = dim === null || dim === undefined || [dim].flat().length === 0 ? counted(rank, (d) => d) : [dim].flat().map((d) => (d + rank) % rank).filter((d) => d < rank);
  const kept = keepdim ? place : counted(rank, (d) => d).reduce((full, d) => [...full, dims.includes(d) ? 0 : place[full.filter((_, e) => !dims.includes(e)).length]], []);
  const spans = dims.map((d) => x.shape[d]);
  return counted(sizeOf(spans), (i) => {
    const inner = placeOf(i, spans);
    return ref(x, kept.map((p, d) => (dims.includes(d) ? inner[dims.indexOf(d)] : p)));
  });
};
const listed = (parts, says, last) => ({ blocks: [{ says }, { head: ["Term", "Value"], rows: parts.map((part, i) => [String(i), part]), total: last }], value: last[1] });
EXPLAIN.sum = (args, place) => {
  const parts = reduced(args, place);
  return listed(parts, `${parts.length} values added up.`, ["Sum", total(parts)]);
};
EXPLAIN.mean = (args, place) => {
  const parts = reduced(args, place);
  const told = listed(parts, `The mean of ${parts.length} values.`, ["Sum", total(parts)]);
  const value = told.value / parts.length;
  return { value, blocks: [...told.blocks, { line: [told.value, ` / ${parts.length} = `, value] }] };
};
const picked = (choose, word) => (args, place, out) => {
  if (out) return null;
  const parts = reduced(args, place);
  return listed(parts, `The ${word} of ${parts.length} values.`, [word, choose(...parts.map(valueOf))]);
};
EXPLAIN.amax = picked(Math.max, "largest");
EXPLAIN.amin = picked(Math.min, "smallest");
EXPLAIN.norm = ([x, p, dim, keepdim], place) => {
  if (![2, "fro", null].includes(p)) return null;
  const parts = reduced([x, dim, keepdim], place);
  const sum = parts.reduce((s, part) => s + valueOf(part) ** 2, 0);
  const value = Math.sqrt(sum);
  const rows = parts.map((part) => [part, valueOf(part) ** 2]);
  return { value, blocks: [{ says: `The length of ${parts.length} values.` }, { head: ["Value", "Square"], rows, total: ["Sum of the squares", sum] }, { line: ["√ ", sum, " = ", value] }] };
};
