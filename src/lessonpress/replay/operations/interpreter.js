// An array is {data, shape, strides, offset, kind}: a window on a Float64Array, so that views share memory.
// Kinds are 0 bool, 1 integer, 2 float; all are stored as doubles, integers are exact up to 2 ** 53.
/** @typedef {{ data: Float64Array, shape: number[], strides: number[], offset: number, kind: number }} NdArray */
export const BOOL = 0;
export const INT = 1;
export const FLOAT = 2;
/** @type {Record<string, (...args: any[]) => any>} */
export const op = {};
/** @type {(why: string) => never} */
export const refuse = (why) => {
  throw new Error(why);
};
export const count = (shape) => shape.reduce((n, m) => n * m, 1);
export const range = (n) => Array.from({ length: n }, (_, i) => i);
export const packed = (shape) => {
  const strides = new Array(shape.length);
  for (let d = shape.length - 1, n = 1; d >= 0; n *= shape[d], d--) strides[d] = n;
  return strides;
};
/** @type {(shape: number[], kind: number, data?: Float64Array) => NdArray} */
export const nd = (shape, kind, data = new Float64Array(count(shape))) => ({ data, shape, strides: packed(shape), offset: 0, kind });
/** @type {(x: NdArray, shape: number[], strides: number[], offset?: number) => NdArray} */
export const view = (x, shape, strides, offset = x.offset) => ({ data: x.data, shape, strides, offset, kind: x.kind });
export const isArray = (x) => x !== null && typeof x === "object" && x.data instanceof Float64Array;
// A whole float such as 2.0 arrives as a boxed Number, since JavaScript would take a bare 2 for an integer.
export const kindOf = (...xs) =>
  Math.max(...xs.map((x) => (isArray(x) ? x.kind : typeof x === "boolean" ? BOOL : Number.isInteger(x) ? INT : FLOAT)));
export const arr = (x) => (isArray(x) ? x : nd([], kindOf(x), Float64Array.of(Number(x))));
export const kindNamed = (dtype) => (dtype === "bool" ? BOOL : dtype.includes("int") ? INT : FLOAT);
export const isPacked = (x) => packed(x.shape).every((n, d) => x.shape[d] === 1 || x.strides[d] === n);
// Where each element lies in the data, in row-major order.
export const offsets = (x) => {
  let list = Int32Array.of(x.offset);
  x.shape.forEach((n, d) => {
    const next = new Int32Array(list.length * n);
    let k = 0;
    for (const base of list) for (let i = 0; i < n; i++) next[k++] = base + i * x.strides[d];
    list = next;
  });
  return list;
};
// The elements in row-major order, to be read only: a packed array gives its own memory.
/** @type {(x: NdArray) => Float64Array} */
export const flat = (x) => {
  if (isPacked(x)) return x.data.subarray(x.offset, x.offset + count(x.shape));
  return Float64Array.from(offsets(x), (at) => x.data[at]);
};
export const copy = (x, kind = x.kind) => nd(x.shape, kind, flat(x).slice());
export const commonShape = (shapes) => {
  const rank = Math.max(...shapes.map((s) => s.length));
  return range(rank).map((d) => {
    const sizes = shapes.map((s) => s[d - rank + s.length]).filter((n) => n !== undefined && n !== 1);
    if (sizes.some((n) => n !== sizes[0])) refuse(`shapes ${JSON.stringify(shapes)} do not go together`);
    return sizes.length ? sizes[0] : 1;
  });
};
export const broadcast = (x, shape) => {
  const lead = shape.length - x.shape.length;
  if (lead < 0) refuse("an array with more axes than its target");
  return view(x, shape, shape.map((n, d) => (d < lead || (x.shape[d - lead] === 1 && n !== 1) ? 0 : x.strides[d - lead])));
};
export const map = (kind, f, ...xs) => {
  const arrays = xs.map(arr);
  const shape = commonShape(arrays.map((x) => x.shape));
  const out = nd(shape, kind);
  const [a, b, c] = arrays.map((x) => flat(broadcast(x, shape)));
  const y = out.data;
  if (c) for (let i = 0; i < y.length; i++) y[i] = f(a[i], b[i], c[i]);
  else if (b) for (let i = 0; i < y.length; i++) y[i] = f(a[i], b[i]);
  else for (let i = 0; i < y.length; i++) y[i] = f(a[i]);
  if (kind === BOOL) for (let i = 0; i < y.length; i++) y[i] = y[i] === 0 ? 0 : 1;
  return out;
};
export const converted = (v, kind) => (kind === FLOAT ? v : kind === INT ? Math.trunc(v) : v === 0 ? 0 : 1);
export const write = (x, value) => {
  const source = arr(value);
  const from = flat(broadcast(source, x.shape));
  const values = from.buffer === x.data.buffer ? from.slice() : from;
  offsets(x).forEach((at, i) => {
    x.data[at] = converted(values[i], x.kind);
  });
  return x;
};
export const axis = (d, rank) => (d < 0 ? +d + Math.max(rank, 1) : +d);
export const axes = (x, dim) => {
  const rank = x.shape.length;
  return dim === null || (Array.isArray(dim) && !dim.length) ? range(rank) : [dim].flat().map((d) => axis(d, rank)).filter((d) => d < rank);
};
export const permute = (x, order) => view(x, order.map((d) => x.shape[d]), order.map((d) => x.strides[d]));
// The strides under which the same memory has another shape, or null when only a copy can.
const viewStrides = (x, shape) => {
  const rank = x.shape.length;
  if (!rank || !count(x.shape)) return packed(shape);
  const strides = new Array(shape.length);
  let at = shape.length - 1;
  let base = x.strides[rank - 1];
  let [have, used] = [1, 1];
  for (let d = rank - 1; d >= 0; d--) {
    have *= x.shape[d];
    if (d > 0 && (x.shape[d - 1] === 1 || x.strides[d - 1] === have * base)) continue;
    for (; at >= 0 && (used < have || shape[at] === 1); at--) {
      strides[at] = used * base;
      used *= shape[at];
    }
    if (used !== have) return null;
    if (d > 0) [base, have, used] = [x.strides[d - 1], 1, 1];
  }
  return at < 0 ? strides : null;
};
export const reshape = (x, wanted) => {
  const total = count(x.shape);
  const known = count(wanted.filter((n) => n !== -1));
  const shape = wanted.map((n) => (n === -1 ? total / known : +n));
  if (count(shape) !== total) refuse(`shape ${JSON.stringify(x.shape)} as ${JSON.stringify(wanted)}`);
  const strides = viewStrides(x, shape);
  return strides ? view(x, shape, strides) : nd(shape, x.kind, flat(x));
};
export const squeezed = (x, dims) => {
  const kept = range(x.shape.length).filter((d) => !dims.includes(d) || x.shape[d] !== 1);
  return permute(x, kept);
};
export const unsqueezed = (x, dim) => {
  const d = dim < 0 ? dim + x.shape.length + 1 : +dim;
  return view(x, [...x.shape.slice(0, d), 1, ...x.shape.slice(d)], [...x.strides.slice(0, d), 1, ...x.strides.slice(d)]);
};
// One number for every line of elements along `dim`.
export const reduce = (x, dim, keepdim, kind, f) => {
  const dims = axes(x, dim);
  const rest = range(x.shape.length).filter((d) => !dims.includes(d));
  const data = flat(permute(x, [...rest, ...dims]));
  const n = count(dims.map((d) => x.shape[d]));
  const out = nd(keepdim ? x.shape.map((m, d) => (dims.includes(d) ? 1 : m)) : rest.map((d) => x.shape[d]), kind);
  for (let i = 0; i < out.data.length; i++) out.data[i] = f(data.subarray(i * n, i * n + n));
  return out;
};
// A new line for every line of elements along `dim`; `f(line)` may give another length.
export const along = (x, dim, kind, f) => {
  if (!x.shape.length) return nd([], kind, Float64Array.from(f(flat(x))));
  const d = axis(dim, x.shape.length);
  const rest = range(x.shape.length).filter((e) => e !== d);
  const data = flat(permute(x, [...rest, d]));
  const n = x.shape[d];
  const lines = range(count(rest.map((e) => x.shape[e]))).map((i) => f(data.subarray(i * n, i * n + n)));
  const m = lines.length ? lines[0].length : n;
  const out = nd([...rest.map((e) => x.shape[e]), m], kind);
  lines.forEach((line, i) => out.data.set(line, i * m));
  const order = range(rest.length);
  order.splice(d, 0, rest.length);
  return copy(permute(out, order));
};
// Nested lists as an array, or flat ones with a shape; whole floats and no-numbers may be marked.
export const tensor = (values, dtype = "float64", shape = null) => {
  const sizes = [];
  for (let v = values; Array.isArray(v); v = v[0]) sizes.push(v.length);
  const number = (v) => Number(v !== null && typeof v === "object" && "float" in v ? v.float : v);
  return nd(shape ?? sizes, kindNamed(dtype), Float64Array.from([values].flat(Infinity), number));
};
export const decode = (a, slots) => {
  if (Array.isArray(a)) return a.map((part) => decode(part, slots));
  if (a === null || typeof a !== "object") return a;
  if ("slot" in a) return slots[a.slot];
  if ("float" in a) return Object(Number(a.float));
  if ("dtype" in a) return a.dtype;
  if ("slice" in a) return { slice: decode(a.slice, slots) };
  if ("list" in a) return tensor(a.list, a.kind);
  if ("dict" in a) return Object.fromEntries(Object.entries(a.dict).map(([k, v]) => [k, decode(v, slots)]));
  return a;
};
// Repeats a recorded program. `inputs` and `tensors` map names to arrays; the result maps every port ("input:state",
// "param:head.weight", "7:" or "7:1.0" for a call's output) to a copy of its value when it arose. `slots` takes the
// arrays themselves, whose memory later steps may have written to.
/** @type {(program: any, inputs: Record<string, NdArray>, tensors: Record<string, NdArray>, slots?: NdArray[]) => Record<string, NdArray>} */
export const runProgram = (program, inputs, tensors, slots = []) => {
  /** @type {Record<string, NdArray>} */
  const values = {};
  const keep = (slot, x) => {
    slots[slot] = x;
    values[program.ports[slot]] = copy(x);
  };
  program.ports.forEach((port, slot) => {
    const [family, name] = port.split(/:([^]*)/);
    if (+family >= 0) return; // the number of the call that gives it
    const given = (family === "input" ? inputs : tensors)[name];
    if (given.kind < FLOAT && !flat(given).every(Number.isInteger)) refuse(`${name} takes whole numbers`);
    keep(slot, copy(given));
  });
  for (const step of program.steps) {
    const args = decode(step.args, slots);
    let result = op[step.op](...args);
    if (step.inplace) result = write(args[0], result);
    if ("guard" in step) op["guard"](step, result); // by its name, so that only programs that need it carry it
    const leaves = [result].flat(Infinity).filter((x) => x !== null);
    step.out.forEach(([slot, shape], i) => {
      if (String(leaves[i].shape) !== String(shape)) refuse(`${step.layer}: its shape is another than the recorded one`);
      keep(slot, leaves[i]);
    });
  }
  return values;
};
