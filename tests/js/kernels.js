// Runs kernels on given arguments: the other half of tests/replay/test_operations.py. Follows the whole table's script, and
// takes for every case the script of its operation alone, so that a forgotten dependency is found.
const given = (a) => {
  if (Array.isArray(a)) return a.map(given);
  if (a === null || typeof a !== "object") return a;
  if ("array" in a) return nd(a.shape, a.kind, Float64Array.from(a.array, Number));
  if ("dict" in a) return Object.fromEntries(Object.entries(a.dict).map(([k, v]) => [k, given(v)]));
  if ("slice" in a) return { slice: given(a.slice) };
  return decode(a, []);
};
const shown = (x) => {
  if (Array.isArray(x)) return x.map(shown);
  if (x === null) return null;
  return { shape: x.shape, kind: x.kind, array: Array.from(flat(x), (v) => (Number.isFinite(v) ? v : String(v))) };
};
const alone = {};
const main = ({ scripts, cases }) =>
  cases.map(({ op: name, inplace, args }) => {
    try {
      alone[name] ??= new Function(`${scripts[name]}; return op;`)();
      const ready = given(args);
      const result = alone[name][name](...ready);
      return { result: shown(inplace ? write(ready[0], result) : result) };
    } catch (error) {
      return { error: String(error.stack) };
    }
  });
