// Layer normalisation.
EXPLAIN.LayerNorm = ([w, p, x], place) => {
  const n = [p.normalized_shape].flat().length;
  const spans = x.shape.slice(-n);
  const parts = counted(sizeOf(spans), (i) => ref(x, [...place.slice(0, -n), ...placeOf(i, spans)]));
  const values = parts.map(valueOf);
  const mean = total(parts) / values.length;
  const variance = values.reduce((s, v) => s + (v - mean) ** 2, 0) / values.length;
  const [self, tail] = [ref(x, place), place.slice(-n)];
  let value = (valueOf(self) - mean) / Math.sqrt(variance + p.eps);
  const blocks = [
    { says: `Centred and scaled by the mean and variance of ${values.length} values.` },
    { fold: "The values", blocks: [{ head: ["Term", "Value"], rows: parts.map((part, i) => [String(i), part]), total: ["Mean", mean] }] },
    { line: ["mean ", mean, ", variance ", variance] },
    { line: ["(", self, " − ", mean, `) / √(variance + ${p.eps}) = `, value] },
  ];
  if (w.weight) {
    const before = value;
    const [scale, shift] = [ref(w.weight, tail), w.bias ? ref(w.bias, tail) : 0];
    value = before * valueOf(scale) + valueOf(shift);
    blocks.push({ line: [before, " × ", scale, " + ", shift, " = ", value] });
  }
  return { value, blocks };
};
