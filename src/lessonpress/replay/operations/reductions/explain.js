// Reductions: the elements that one result is made of.
import { recomputed } from "../creation/explain.js";
import { EXPLAIN, numberOf, products, ref, spread, sumOf } from "#page/explain.js";
import { counted, placeOf, sizeOf } from "#page/numbers.js";
import { lineAlong } from "../activations/explain.js";

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
export const listed = (parts, says, last) => ({ blocks: [{ says }, { head: ["Term", "Value"], rows: parts.map((part, i) => [String(i), part]), total: last }], value: last[1] });
EXPLAIN.sum = (args, place) => {
  const parts = reduced(args, place);
  return listed(parts, `${parts.length} values added up.`, ["Sum", sumOf(parts)]);
};
EXPLAIN.mean = (args, place) => {
  const parts = reduced(args, place);
  const explained = listed(parts, `The mean of ${parts.length} values.`, ["Sum", sumOf(parts)]);
  const value = explained.value / parts.length;
  return { value, blocks: [...explained.blocks, { line: [explained.value, ` / ${parts.length} = `, value] }] };
};
const picked = (choose, word) => (args, place) => {
  const parts = reduced(args, place);
  return listed(parts, `The ${word} of ${parts.length} values.`, [word[0].toUpperCase() + word.slice(1), choose(...parts.map(numberOf))]);
};
EXPLAIN.amax = picked(Math.max, "largest");
EXPLAIN.amin = picked(Math.min, "smallest");
EXPLAIN.norm = ([x, p, dim, keepdim], place) => {
  const parts = reduced([x, dim, keepdim], place);
  if (![2, "fro", null].includes(p)) return listed(parts, `The length, of order ${p}, of ${parts.length} values.`, ["Length", lengthOf(parts.map(numberOf), p)]);
  const sum = parts.reduce((s, part) => s + numberOf(part) ** 2, 0);
  const value = Math.sqrt(sum);
  const rows = parts.map((part) => [part, numberOf(part) ** 2]);
  return { value, blocks: [{ says: `The length of ${parts.length} values.` }, { head: ["Value", "Square"], rows, total: ["Sum of the squares", sum] }, { line: ["√ ", sum, " = ", value] }] };
};
EXPLAIN.max = (args, place, out) => (out ? EXPLAIN.argmax(args, place) : EXPLAIN.amax(args, place));
EXPLAIN.min = (args, place, out) => (out ? EXPLAIN.argmin(args, place) : EXPLAIN.amin(args, place));
// NaN is taken for the best of all, and the first of equals.
const bestPlace = (choose, word) => (args, place) => {
  const parts = reduced(args, place);
  const values = parts.map(numberOf);
  const odd = values.findIndex(Number.isNaN);
  const chosen = odd < 0 ? values.indexOf(choose(...values)) : odd;
  const explained = listed(parts, `The place of the ${word} of ${parts.length} values.`, ["Place", chosen]);
  Object.assign(explained.blocks[1], { chosen });
  return explained;
};
EXPLAIN.argmax = bestPlace(Math.max, "largest");
EXPLAIN.argmin = bestPlace(Math.min, "smallest");
EXPLAIN.nansum = (args, place) => {
  const parts = reduced(args, place);
  const kept = parts.filter((part) => !Number.isNaN(numberOf(part)));
  return listed(kept, `${kept.length} values added up; ${parts.length - kept.length} that are no numbers count as 0.`, ["Sum", sumOf(kept)]);
};
const productOf = (parts) => parts.reduce((value, part) => value * numberOf(part), 1);
EXPLAIN.prod = (args, place) => {
  const parts = reduced(args, place);
  return listed(parts, `${parts.length} values multiplied.`, ["Product", productOf(parts)]);
};
const truth = (says, f) => (args, place) => {
  const parts = reduced(args, place);
  return listed(parts, `${says} of ${parts.length} values.`, ["Result", f(parts.filter((part) => numberOf(part) !== 0).length, parts.length)]);
};
EXPLAIN.any = truth("1 when any is not 0,", (n) => +(n > 0));
EXPLAIN.all = truth("1 when none is 0,", (n, all) => +(n === all));
EXPLAIN.count_nonzero = truth("How many are not 0,", (n) => n);
EXPLAIN.logsumexp = (args, place) => {
  const parts = reduced(args, place);
  const most = Math.max(...parts.map(numberOf));
  const top = Number.isFinite(most) ? most : 0;
  const rows = parts.map((part) => [part, Math.exp(numberOf(part) - top)]);
  const sum = sumOf(rows.map((row) => row[1]));
  const value = Math.log(sum) + top;
  const says = `The logarithm of the sum of ${parts.length} exponentials; the largest value is taken out first, so that none overflows.`;
  return { value, blocks: [{ says }, { head: ["Value", "exp(value − largest)"], rows, total: ["Sum", sum] }, { line: ["log ", sum, " + ", top, " = ", value] }] };
};
// Variance and its root.
const varianceOf = (args, place, correction) => {
  const parts = reduced(args, place);
  const mean = sumOf(parts) / parts.length;
  const rows = parts.map((part) => [part, (numberOf(part) - mean) ** 2]);
  const sum = sumOf(rows.map((row) => row[1]));
  const n = Math.max(parts.length - (correction ?? 1), 0);
  const value = sum / n;
  return { value, blocks: [
    { says: `How far ${parts.length} values lie from their mean.` }, { line: ["mean ", mean] },
    { head: ["Value", "Squared distance"], rows, total: ["Sum", sum] }, { line: [sum, ` / ${n} = `, value] },
  ] };
};
EXPLAIN.var = ([x, dim, keepdim, correction], place) => varianceOf([x, dim, keepdim], place, correction);
EXPLAIN.std = (args, place) => {
  const explained = EXPLAIN.var(args, place);
  const value = Math.sqrt(explained.value);
  return { value, blocks: [...explained.blocks, { line: ["√ ", explained.value, " = ", value] }] };
};
EXPLAIN.var_mean = (args, place, out) => (out ? EXPLAIN.mean : EXPLAIN.var)(args, place);
EXPLAIN.std_mean = (args, place, out) => (out ? EXPLAIN.mean : EXPLAIN.std)(args, place);
// Running sums and products, differences of neighbours.
const upTo = (x, dim, place) => {
  const d = x.shape.length ? (dim + x.shape.length) % x.shape.length : 0;
  return x.shape.length ? lineAlong(x, place, d).slice(0, place[d] + 1) : [ref(x, [])];
};
EXPLAIN.cumsum = ([x, dim], place) => {
  const parts = upTo(x, dim, place);
  return listed(parts, `The ${parts.length} values up to here, added up.`, ["Sum", sumOf(parts)]);
};
EXPLAIN.cumprod = ([x, dim], place) => {
  const parts = upTo(x, dim, place);
  return listed(parts, `The ${parts.length} values up to here, multiplied.`, ["Product", productOf(parts)]);
};
EXPLAIN.diff = ([x, n, dim], place) => {
  const d = (dim + x.shape.length) % x.shape.length;
  const parts = counted(n + 1, (i) => ref(x, place.map((p, e) => (e === d ? p + i : p))));
  const share = parts.reduce((all, _, i) => [...all, i ? (-all[i - 1] * (n - i + 1)) / i : (-1) ** n], []);
  return { ...products(parts.map((part, i) => [part, share[i]]), null, ["Value", "Sign"]) };
};
// Order: a line sorted, equals in their old order, NaN as the largest.
const ranked = (x, dim, falling, place, out) => {
  const d = (dim + x.shape.length) % x.shape.length;
  const line = x.shape.length ? lineAlong(x, place, d) : [ref(x, [])];
  const rank = (i) => (Number.isNaN(numberOf(line[i])) ? Infinity : numberOf(line[i]));
  const after = (i, j) => +Number.isNaN(numberOf(line[i])) - +Number.isNaN(numberOf(line[j])) || +(rank(i) > rank(j)) - +(rank(i) < rank(j));
  const order = counted(line.length, (i) => i).sort((i, j) => (falling ? after(j, i) : after(i, j)) || i - j);
  const [at, chosen] = [order[place[d] ?? 0], place[d] ?? 0];
  const value = out ? at : numberOf(line[at]);
  const rows = order.map((i) => [line[i], i]);
  return { value, blocks: [{ says: `${out ? "The old place of number" : "Number"} ${chosen} of ${line.length} values in ${falling ? "falling" : "rising"} order.` }, { head: ["Value", "Old place"], rows, total: ["Here", value], chosen }] };
};
EXPLAIN.sort = ([x, dim, falling], place, out) => ranked(x, dim, falling, place, out);
EXPLAIN.argsort = ([x, dim, falling], place) => ranked(x, dim, falling, place, 1);
EXPLAIN.topk = ([x, , dim, most], place, out) => ranked(x, dim, most, place, out);
// Lengths and distances.
export const lengthOf = (values, p) => {
  const sizes = values.map(Math.abs);
  if (p === 0) return sizes.filter((v) => v !== 0).length;
  if (!Number.isFinite(p)) return (p > 0 ? Math.max : Math.min)(...sizes);
  return sumOf(sizes.map((v) => v ** p)) ** (1 / p);
};
export const distance = (pairs, p, extra = 0) => {
  const rows = pairs.map(([a, b]) => [a, b, numberOf(a) - numberOf(b) + extra]);
  const value = lengthOf(rows.map((row) => row[2]), p);
  return { value, blocks: [{ says: `The length, of order ${p}, of ${rows.length} differences.` }, { head: ["One", "Other", "Difference"], rows, total: ["Length", value] }] };
};
EXPLAIN.pairwise_distance = ([a, b, p, eps, keepdim], place) => {
  const lead = keepdim ? place.slice(0, -1) : place;
  const n = Math.max(a.shape[a.shape.length - 1], b.shape[b.shape.length - 1]);
  return distance(counted(n, (i) => [spread(a, [...lead, i]), spread(b, [...lead, i])]), p, eps);
};
EXPLAIN.cosine_similarity = ([a, b, dim, eps], place) => {
  const rank = Math.max(a.shape.length, b.shape.length);
  const d = (dim + rank) % rank;
  const size = (x) => x.shape[x.shape.length - rank + d] ?? 1;
  const at = (i) => [...place.slice(0, d), i, ...place.slice(d)];
  const pairs = counted(Math.max(size(a), size(b)), (i) => [spread(a, at(i)), spread(b, at(i))]);
  const explained = products(pairs, null, ["One", "Other"]);
  const [m, n] = [0, 1].map((k) => Math.max(Math.hypot(...pairs.map((pair) => numberOf(pair[k]))), eps));
  const value = explained.value / (m * n);
  return { value, blocks: [{ says: "The products added up, divided by both lengths." }, ...explained.blocks, { line: [explained.value, " / (", m, " × ", n, ") = ", value] }] };
};
EXPLAIN.normalize = ([x, p, dim], place) => {
  const self = ref(x, place);
  const parts = reduced([x, dim, true], place.map((at, d) => ([dim].flat().some((e) => (e + x.shape.length) % x.shape.length === d) ? 0 : at)));
  const explained = listed(parts, `This number divided by the length, of order ${p}, of ${parts.length} values.`, ["Length", lengthOf(parts.map(numberOf), p)]);
  const value = numberOf(self) / explained.value;
  return { value, blocks: [...explained.blocks, { line: [self, " / ", explained.value, " = ", value] }] };
};
// Whether two tensors are alike, pair by pair.
const alike = (f) => ([a, b, ...settings]) => {
  const pairs = counted(sizeOf(a.shape), (i) => [ref(a, placeOf(i, a.shape)), spread(b, placeOf(i, a.shape))]);
  const rows = pairs.map(([one, other]) => [one, other, +f(numberOf(one), numberOf(other), ...settings)]);
  return { value: +rows.every((row) => row[2]), blocks: [{ says: "1 when every pair agrees." }, { head: ["One", "Other", "Agrees"], rows, total: ["All", +rows.every((row) => row[2])] }] };
};
EXPLAIN.equal = alike((a, b) => a === b);
EXPLAIN.allclose = alike((a, b, rtol, atol, nan) => a === b || Math.abs(a - b) <= atol + rtol * Math.abs(b) || (nan && Number.isNaN(a) && Number.isNaN(b)));
EXPLAIN.all_finite = recomputed("Whether every element is a finite number.");
EXPLAIN.cummax = recomputed("The largest element up to here along the axis, and where it stands.");
EXPLAIN.cummin = recomputed("The smallest element up to here along the axis, and where it stands.");
EXPLAIN.logcumsumexp = recomputed("The logarithm of the sum of the exponentials of all elements up to here.");
EXPLAIN.unique = recomputed("The elements that differ, in order; where each element stands among them; how often each occurs.");
EXPLAIN.median = recomputed("The elements in order; this one stands at the place that is asked for (a quantile lies between two).");
EXPLAIN.median_along = recomputed("The elements in order; this one stands at the place that is asked for (a quantile lies between two).");
EXPLAIN.kthvalue = recomputed("The elements in order; this one stands at the place that is asked for (a quantile lies between two).");
EXPLAIN.quantile = recomputed("The elements in order; this one stands at the place that is asked for (a quantile lies between two).");
