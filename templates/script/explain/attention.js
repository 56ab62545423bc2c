// Scaled dot-product attention: a mean of values, weighed by the softmax of scores.
EXPLAIN.scaled_dot_product_attention = ([q, k, v, mask, , causal, scale], place) => {
  const [lead, [i, c]] = [place.slice(0, -2), place.slice(-2)];
  const rank = place.length;
  const width = q.shape[q.shape.length - 1];
  const size = scale ?? 1 / Math.sqrt(width);
  const at = (x, j, d) => ref(x, [...lead.map((p, e) => (x.shape[e] === q.shape[e] ? p : Math.floor((p * x.shape[e]) / q.shape[e]))), j, d]);
  const keys = counted(k.shape[rank - 2], (j) => {
    const told = products(counted(width, (d) => [at(q, i, d), at(k, j, d)]), null, ["Query", "Key"]);
    const cover = mask ? spread(mask, [...lead, i, j]) : null;
    const added = causal ? (j > i ? -Infinity : 0) : !cover ? 0 : now.values[mask.port].kind ? valueOf(cover) : valueOf(cover) ? 0 : -Infinity;
    return { told, score: told.value * size + added };
  });
  const top = Math.max(...keys.map(({ score }) => score));
  const powers = keys.map(({ score }) => (top === -Infinity ? 0 : Math.exp(score - top)));
  const sum = total(powers) || 1;
  const rows = keys.map(({ score }, j) => [at(v, j, c), score, powers[j] / sum, (valueOf(at(v, j, c)) * powers[j]) / sum]);
  const value = total(rows.map((row) => row[3]));
  const hidden = causal ? "; keys after the query are hidden" : mask ? "; a mask is added to it or hides keys" : "";
  return { value, blocks: [
    { says: `Every value times its weight, added up. The weights are the softmax of the scores: query times key, times ${short(size)}${hidden}.` },
    { head: ["Value", "Score", "Weight", "Product"], rows, total: ["Sum", value] },
    ...keys.slice(0, TABLES / 4).map(({ told }, j) => ({ fold: `Query ${i} times key ${j}`, blocks: told.blocks })),
  ] };
};
