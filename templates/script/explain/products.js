// Affine maps, products of matrices, and look-ups.
EXPLAIN.Linear = ([w, , x], place) => EXPLAIN.linear([x, w.weight, w.bias ?? null], place);
EXPLAIN.linear = ([x, weight, bias], place) => {
  const [before, o] = [place.slice(0, -1), place[place.length - 1] ?? 0];
  const pairs = counted(x.shape[x.shape.length - 1], (i) => [ref(x, [...before, i]), ref(weight, weight.shape.length > 1 ? [o, i] : [i])]);
  const told = products(pairs, bias && ref(bias, [o]));
  return { ...told, blocks: [{ says: `Each input times its weight in row ${o}, added up${bias ? ", plus a bias" : ""}.` }, ...told.blocks] };
};
EXPLAIN.matmul = ([a, b], place) => {
  const [x, y] = [a.shape.length > 1, b.shape.length > 1];
  const column = y ? place[place.length - 1] : null;
  const row = x ? place[place.length - 1 - (y ? 1 : 0)] : null;
  const batch = place.slice(0, place.length - (x ? 1 : 0) - (y ? 1 : 0));
  const within = (t, tail) => {
    const lead = t.shape.length - tail.length;
    return ref(t, [...counted(lead, (d) => (t.shape[d] === 1 ? 0 : batch[batch.length - lead + d])), ...tail]);
  };
  const pairs = counted(a.shape[a.shape.length - 1], (k) => [within(a, x ? [row, k] : [k]), within(b, y ? [k, column] : [k])]);
  const told = products(pairs, null, ["Left", "Right"]);
  return { ...told, blocks: [{ says: "A row times a column, added up." }, ...told.blocks] };
};
EXPLAIN.mm = EXPLAIN.matmul;
EXPLAIN.bmm = EXPLAIN.matmul;
EXPLAIN.mv = EXPLAIN.matmul;
EXPLAIN.dot = EXPLAIN.matmul;
EXPLAIN.addmm = ([x, a, b, beta, alpha], place) => {
  const told = EXPLAIN.matmul([a, b], place);
  const start = spread(x, place);
  const value = beta * valueOf(start) + alpha * told.value;
  return { value, blocks: [...told.blocks, { line: [beta, " × ", start, " + ", alpha, " × ", told.value, " = ", value] }] };
};
EXPLAIN.Embedding = ([w, , x], place) => EXPLAIN.embedding([x, w.weight], place);
EXPLAIN.embedding = ([x, weight], place) => {
  const [id, column] = [ref(x, place.slice(0, -1)), place[place.length - 1]];
  const cell = ref(weight, [valueOf(id), column]);
  return { value: valueOf(cell), blocks: [{ says: `A look-up: the token's id picks a row of the table, this is its column ${column}.` }, { line: ["row ", id, ", column ", String(column), ": ", cell] }] };
};
