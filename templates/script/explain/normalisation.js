// Layer and batch normalisation.
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
// Over the batch in training and without running figures, by the running figures otherwise.
EXPLAIN.BatchNorm1d = ([w, p, x], place) => {
  const channel = place[1];
  const self = ref(x, place);
  const [scale, shift] = [w.weight, w.bias].map((each) => each && ref(each, [channel]));
  const parts = counted(sizeOf(x.shape), (i) => placeOf(i, x.shape)).filter((each) => each[1] === channel).map((each) => ref(x, each));
  const own = total(parts) / parts.length;
  const batch = p.training || !w.running_mean;
  const [mean, variance] = batch
    ? [own, parts.reduce((s, part) => s + (valueOf(part) - own) ** 2, 0) / parts.length]
    : [ref(w.running_mean, [channel]), ref(w.running_var, [channel])];
  let value = (valueOf(self) - valueOf(mean)) / Math.sqrt(valueOf(variance) + p.eps);
  const blocks = [
    { says: batch ? `Centred and scaled by the mean and variance of ${parts.length} values of feature ${channel}.` : "Centred and scaled by the running mean and variance." },
    ...(batch ? [{ fold: "The values", blocks: [{ head: ["Term", "Value"], rows: parts.slice(0, TABLES).map((part, i) => [String(i), part]), total: ["Mean", mean] }] }] : []),
    { line: ["mean ", mean, ", variance ", variance] },
    { line: ["(", self, " − ", mean, ") / √(", variance, ` + ${p.eps}) = `, value] },
  ];
  if (scale) {
    const before = value;
    value = before * valueOf(scale) + valueOf(shift);
    blocks.push({ line: [before, " × ", scale, " + ", shift, " = ", value] });
  }
  return { value, blocks };
};
EXPLAIN.BatchNorm2d = EXPLAIN.BatchNorm1d;
