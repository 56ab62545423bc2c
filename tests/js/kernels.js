// Runs kernels on given arguments: the other half of tests/test_operations.py. Follows the whole table's script.
const given = (a) => {
  if (Array.isArray(a)) return a.map(given);
  if (a !== null && typeof a === "object" && "array" in a) return nd(a.shape, a.kind, Float64Array.from(a.array, Number));
  if (a !== null && typeof a === "object" && "dict" in a) return Object.fromEntries(Object.entries(a.dict).map(([k, v]) => [k, given(v)]));
  if (a !== null && typeof a === "object" && "slice" in a) return { slice: given(a.slice) };
  return decode(a, []);
};
const shown = (x) => {
  if (Array.isArray(x)) return x.map(shown);
  if (x === null) return null;
  return { shape: x.shape, kind: x.kind, array: Array.from(flat(x), (v) => (Number.isFinite(v) ? v : String(v))) };
};
const main = (cases) =>
  cases.map(({ op: name, inplace, args }) => {
    try {
      const ready = given(args);
      const result = op[name](...ready);
      return { result: shown(inplace ? write(ready[0], result) : result), first: isArray(ready[0]) ? shown(ready[0]) : null };
    } catch (error) {
      return { error: String(error.stack) };
    }
  });
