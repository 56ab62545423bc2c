// Affine maps, products of matrices, and look-ups.
import { recomputed } from "../creation/explain.js";
import { EXPLAIN, numberOf, products, ref, spread, sumOf } from "#page/explain.js";
import { counted, placeOf, sizeOf } from "#page/numbers.js";
import { distance, lengthOf, listed } from "../reductions/explain.js";

EXPLAIN.Linear = ([w, , x], place) => EXPLAIN.linear([x, w.weight, w.bias ?? null], place);
EXPLAIN.linear = ([x, weight, bias], place) => {
  const [before, o] = [place.slice(0, -1), place[place.length - 1] ?? 0];
  const pairs = counted(x.shape[x.shape.length - 1], (i) => [ref(x, [...before, i]), ref(weight, weight.shape.length > 1 ? [o, i] : [i])]);
  const explained = products(pairs, bias && ref(bias, [o]));
  return { ...explained, blocks: [{ says: `Each input times its weight in row ${o}, added up${bias ? ", plus a bias" : ""}.` }, ...explained.blocks] };
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
  const explained = products(pairs, null, ["Left", "Right"]);
  return { ...explained, blocks: [{ says: "A row times a column, added up." }, ...explained.blocks] };
};
EXPLAIN.mm = EXPLAIN.matmul;
EXPLAIN.bmm = EXPLAIN.matmul;
EXPLAIN.mv = EXPLAIN.matmul;
EXPLAIN.dot = EXPLAIN.matmul;
EXPLAIN.addmm = ([x, a, b, beta, alpha], place) => {
  const explained = EXPLAIN.matmul([a, b], place);
  const start = spread(x, place);
  const value = beta * numberOf(start) + alpha * explained.value;
  return { value, blocks: [...explained.blocks, { line: [beta, " × ", start, " + ", alpha, " × ", explained.value, " = ", value] }] };
};
EXPLAIN.embedding_renorm = ([table, ids, limit, kind], place) => {
  const self = ref(table, place);
  const asked = counted(sizeOf(ids.shape), (i) => numberOf(ref(ids, placeOf(i, ids.shape)))).includes(place[0]);
  const row = counted(table.shape[1], (column) => ref(table, [place[0], column]));
  const length = lengthOf(row.map(numberOf), kind);
  const value = asked && length > limit ? numberOf(self) * (limit / (length + 1e-7)) : numberOf(self);
  const says = `A row that is looked up and is longer than ${limit} is shortened to that: × ${limit} / length. This row is ${asked ? "" : "not "}looked up.`;
  return { value, blocks: [listed(row, says, ["Length", length]).blocks, { line: [self, " → ", value] }].flat() };
};
EXPLAIN.Embedding = ([w, , x], place) => EXPLAIN.embedding([x, w.weight], place);
EXPLAIN.embedding = ([x, weight], place) => {
  const [id, column] = [ref(x, place.slice(0, -1)), place[place.length - 1]];
  const cell = ref(weight, [numberOf(id), column]);
  return { value: numberOf(cell), blocks: [{ says: `A look-up: the token's id picks a row of the table, this is its column ${column}.` }, { line: ["row ", id, ", column ", String(column), ": ", cell] }] };
};
// Products of several tensors, one sum for each place of the result.
const manifold = (rows, says, bias) => {
  const lines = rows.map((parts) => [...parts, parts.reduce((value, part) => value * numberOf(part), 1)]);
  const sum = sumOf(lines.map((line) => line[line.length - 1]));
  const value = sum + (bias ? numberOf(bias) : 0);
  const head = [...counted(rows[0]?.length ?? 0, (i) => `Factor ${i + 1}`), "Product"];
  return { value, blocks: [{ says }, { head, rows: lines, total: ["Sum of the products", sum] }, ...(bias ? [{ line: [sum, " + bias ", bias, " = ", value] }] : [])] };
};
EXPLAIN.einsum = ([equation, operands, bias], place) => {
  const [left, right] = equation.replace(/\s/g, "").split("->");
  const named = left.split(",").map((term, i) => {
    const dots = operands[i].shape.length - term.replace("...", "").length;
    return term.replace("...", dots ? "0123456789".slice(-dots) : "");
  });
  const letters = [...new Set(named.join(""))];
  const dots = letters.filter((c) => /\d/.test(c)).sort().join("");
  const single = letters.filter((c) => /\D/.test(c) && named.join("").split(c).length === 2).sort().join("");
  const result = right === undefined ? dots + single : right.replace("...", dots);
  const inner = letters.filter((c) => !result.includes(c));
  const sizes = inner.map((c) => Math.max(...named.map((term, i) => (term.includes(c) ? operands[i].shape[term.indexOf(c)] : 1))));
  const rows = counted(sizeOf(sizes), (at) => {
    const own = Object.fromEntries([...inner.map((c, d) => [c, placeOf(at, sizes)[d]]), ...[...result].map((c, d) => [c, place[d]])]);
    return operands.map((x, i) => ref(x, [...named[i]].map((c, d) => (x.shape[d] === 1 ? 0 : own[c]))));
  });
  return manifold(rows, inner.length ? `Products added up over ${inner.join(", ")}, after ${equation}.` : `One product, after ${equation}.`, bias);
};
EXPLAIN.outer = (operands, place) => EXPLAIN.einsum(["i,j->ij", operands], place);
EXPLAIN.bilinear = ([a, b, weight, bias], place) => EXPLAIN.einsum(["...i,oij,...j->...o", [a, weight, b], bias && ref(bias, [place[place.length - 1]])], place);
EXPLAIN.Bilinear = ([w, , a, b], place) => EXPLAIN.bilinear([a, b, w.weight, w.bias], place);
EXPLAIN.trace = ([x], place) => EXPLAIN.einsum(["ii->", [x]], place);
EXPLAIN.tensordot = ([a, b, dims], place) => {
  const [m, n] = [a.shape.length, b.shape.length];
  const [ours, theirs] = (Array.isArray(dims) ? dims : [counted(dims, (d) => m - dims + d), counted(dims, (d) => d)]).map((list, i) => list.map((d) => (d + [m, n][i]) % [m, n][i]));
  const first = counted(m, (d) => String.fromCharCode(97 + d));
  const other = counted(n, (d) => (theirs.includes(d) ? first[ours[theirs.indexOf(d)]] : String.fromCharCode(110 + d)));
  const rest = [...first.filter((_, d) => !ours.includes(d)), ...other.filter((_, d) => !theirs.includes(d))];
  return EXPLAIN.einsum([`${first.join("")},${other.join("")}->${rest.join("")}`, [a, b]], place);
};
EXPLAIN.inner = ([a, b], place) => {
  if (!a.shape.length || !b.shape.length) return manifold([[spread(a, place), spread(b, place)]], "One product.");
  return EXPLAIN.tensordot([a, b, [[-1], [-1]]], place);
};
EXPLAIN.cdist = ([a, b, p], place) => {
  const [lead, [i, j]] = [place.slice(0, -2), place.slice(-2)];
  return distance(counted(a.shape[a.shape.length - 1], (k) => [spread(a, [...lead, i, k]), spread(b, [...lead, j, k])]), p);
};
EXPLAIN.embedding_bag = recomputed("The sum, mean or maximum of this column over the rows of the table that the ids of the bag name.");
EXPLAIN.EmbeddingBag = recomputed("The sum, mean or maximum of this column over the rows of the table that the ids of the bag name.");
