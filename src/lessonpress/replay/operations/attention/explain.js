// Scaled dot-product attention: a mean of values, weighed by the softmax of scores.
import { EXPLAIN, TABLES, numberOf, products, ref, spread, sumOf } from "#page/explain.js";
import { atPlace, counted, short } from "#page/numbers.js";
import { now } from "#page/state.js";

EXPLAIN.scaled_dot_product_attention = ([q, k, v, mask, , causal, scale], place) => {
  const [lead, [i, c]] = [place.slice(0, -2), place.slice(-2)];
  const rank = place.length;
  const width = q.shape[q.shape.length - 1];
  const size = scale ?? 1 / Math.sqrt(width);
  const at = (x, j, d) => ref(x, [...lead.map((p, e) => (x.shape[e] === q.shape[e] ? p : Math.floor((p * x.shape[e]) / q.shape[e]))), j, d]);
  const keys = counted(k.shape[rank - 2], (j) => {
    const explained = products(counted(width, (d) => [at(q, i, d), at(k, j, d)]), null, ["Query", "Key"]);
    const cover = mask ? spread(mask, [...lead, i, j]) : null;
    const added = causal ? (j > i ? -Infinity : 0) : !cover ? 0 : now.values[mask.port].kind ? numberOf(cover) : numberOf(cover) ? 0 : -Infinity;
    return { explained, score: explained.value * size + added };
  });
  const top = Math.max(...keys.map(({ score }) => score));
  const powers = keys.map(({ score }) => (top === -Infinity ? 0 : Math.exp(score - top)));
  const sum = sumOf(powers) || 1;
  const rows = keys.map(({ score }, j) => [at(v, j, c), score, powers[j] / sum, (numberOf(at(v, j, c)) * powers[j]) / sum]);
  const value = sumOf(rows.map((row) => row[3]));
  const hidden = causal ? "; keys after the query are hidden" : mask ? "; a mask is added to it or hides keys" : "";
  return { value, blocks: [
    { says: `Every value times its weight, added up. The weights are the softmax of the scores: query times key, times ${short(size)}${hidden}.` },
    { head: ["Value", "Score", "Weight", "Product"], rows, total: ["Sum", value] },
    ...keys.slice(0, TABLES / 4).map(({ explained }, j) => ({ fold: `Query ${i} times key ${j}`, blocks: explained.blocks })),
  ] };
};
// The multi-head module: what a head reads at position `t`, with its scores, its weights and the mean of the values.
const readOf = (w, p, [q, k, v], padding, mask, n, t) => (head) => {
  const width = p.embed_dim / p.num_heads;
  const at = (x, s, c) => x.flat[atPlace(x.shape.length === 2 ? [s, c] : p.batch_first ? [n, s, c] : [s, n, c], x.shape)];
  const row = (i, r) => (w.in_proj_weight ? [w.in_proj_weight, i * p.embed_dim + r] : [w[`${"qkv"[i]}_proj_weight`], r]);
  const mapped = (i, x, s) => counted(width, (d) => {
    const [weight, r] = row(i, head * width + d);
    const sum = sumOf(counted(weight.shape[1], (c) => at(x, s, c) * weight.flat[r * weight.shape[1] + c]));
    return sum + (w.in_proj_bias ? w.in_proj_bias.flat[i * p.embed_dim + head * width + d] : 0);
  });
  const added = (m, place) => (m ? [spread(m, place)].map((part) => (now.values[m.port].kind ? numberOf(part) : numberOf(part) ? -Infinity : 0))[0] : 0);
  const own = mapped(0, q, t);
  const length = k.shape[k.shape.length === 2 || !p.batch_first ? 0 : 1];
  const scores = counted(length, (s) => {
    const key = mapped(1, k, s);
    return sumOf(own.map((value, d) => value * key[d])) / Math.sqrt(width) + added(padding, [n, s]) + added(mask, [n * p.num_heads + head, t, s]);
  });
  const top = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - top));
  const weights = powers.map((power) => power / sumOf(powers));
  const values = weights.map((weight, s) => mapped(2, v, s).map((value) => value * weight));
  return { scores, weights, mean: counted(width, (d) => sumOf(values.map((line) => line[d]))) };
};
const headTable = ({ scores, weights }, chosen) => ({ head: ["Key", "Score", "Weight"], rows: scores.map((score, s) => [String(s), score, weights[s]]), total: ["Sum", sumOf(weights)], chosen });
EXPLAIN.MultiheadAttention = ([w, p, q, k, v, padding, , mask, average], place, out) => {
  const single = q.shape.length === 2;
  const says = "Queries, keys and values are linear maps of the inputs, head by head; a score is query times key over the root of a head's width, the weights are the softmax of the scores.";
  if (out) {
    const [n, head, t, s] = [single ? 0 : place[0], average ? null : place[place.length - 3], ...place.slice(-2)];
    const read = readOf(w, p, [q, k, v], padding, mask, n, t);
    if (!average) return { value: read(head).weights[s], blocks: [{ says }, headTable(read(head), s)] };
    const weights = counted(p.num_heads, (each) => read(each).weights[s]);
    const value = sumOf(weights) / weights.length;
    return { value, blocks: [{ says: `${says} This is the mean over the heads.` }, { head: ["Head", "Weight"], rows: weights.map((weight, i) => [String(i), weight]), total: ["Mean", value] }] };
  }
  const [n, t] = single ? [0, place[0]] : p.batch_first ? place : [place[1], place[0]];
  const e = place[place.length - 1];
  const heads = counted(p.num_heads, readOf(w, p, [q, k, v], padding, mask, n, t));
  const bias = w["out_proj.bias"];
  const pairs = heads.flatMap(({ mean }) => mean).map((value, r) => [value, ref(w["out_proj.weight"], [e, r])]);
  const explained = products(pairs, bias && ref(bias, [e]), ["Reads", "Weight"]);
  explained.blocks[0].head.unshift("Head");
  explained.blocks[0].rows.forEach((row, r) => row.unshift(String(Math.floor((r * p.num_heads) / p.embed_dim))));
  return { ...explained, blocks: [{ says: `${says} What the heads read is joined and mapped once more.` }, ...explained.blocks, ...heads.map((head, i) => ({ fold: `Head ${i}`, blocks: [headTable(head)] }))] };
};
