// The numbers that the page computes: the published program, run in float64 on the inputs of a case or on the reader's.
import { FLOAT, INT, flat, nd, runProgram } from "#replay/operations/interpreter.js";
import { STATISTICS } from "#replay/statistics.js";
import { sizeOf } from "./numbers.js";
import { computing, live, now, watchers } from "./state.js";

/** @typedef {import("#replay/operations/interpreter.js").NdArray} NdArray */
/** @type {(packed: import("./data.js").Packed) => NdArray} */
const unpack = ([dtype, shape, given]) => {
  if (typeof given !== "string") return nd(shape, dtype === "bool" ? 0 : INT, Float64Array.from(given));
  const size = dtype === "float32" ? 4 : 8;
  const planes = atob(given);
  const n = planes.length / size;
  const view = new DataView(new ArrayBuffer(planes.length));
  for (let i = 0; i < planes.length; i++) view.setUint8((i % n) * size + Math.floor(i / n), planes.charCodeAt(i));
  const read = (i) => (size === 4 ? view.getFloat32(4 * i, true) : view.getFloat64(8 * i, true));
  return nd(shape, FLOAT, Float64Array.from({ length: n }, (_, i) => read(i)));
};
const unpackAll = (group) => Object.fromEntries(Object.entries(group).map(([name, packed]) => [name, unpack(packed)]));
const sharedTensors = live && unpackAll(live.tensors);
const given = {};
export const caseData = (id) => {
  const { inputs, tensors } = live.cases[id];
  given[id] ??= { inputs: unpackAll(inputs), tensors: { ...sharedTensors, ...unpackAll(tensors) } };
  return given[id];
};
export const compute = (id, inputs, slots) => {
  const recorded = caseData(id);
  live.takeWay?.(id);
  return runProgram(live.program, { ...recorded.inputs, ...inputs }, recorded.tensors, slots);
};
export const inputOf = (name) => now.inputs?.[name] ?? caseData(now.id).inputs[name];
// Take other inputs (null: the recorded ones), compute, and let everyone who shows a number know.
export const move = (inputs) => {
  if (!live) return null;
  try {
    const slots = [];
    const values = compute(now.id, inputs ?? {}, slots);
    Object.assign(now, { inputs, values, slots });
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
  watchers.forEach((watch) => watch());
  return null;
};
export const enter = (id) => {
  now.id = live && id in live.cases ? id : now.id;
  return move(null);
};
// A recorded figure's numbers as they are now: flat, with the shape that was published.
const placesOf = ({ shape, at }) => (typeof at === "number" ? Array.from({ length: sizeOf(shape) }, (_, i) => at + i) : at);
export const figureNow = (kind, at, values = now.values) => {
  const source = live?.[kind][at];
  if (!source) return null;
  const numbers = source.ports.flatMap((port) => [...flat(values[port])]);
  return { shape: source.shape, whole: values[source.ports[0]].kind !== FLOAT, numbers: placesOf(source).map((i) => numbers[i]) };
};
// Where a figure's element comes from: its port and its place there.
const originOf = (kind, at, element) => {
  const source = live?.[kind][at];
  if (!source) return null;
  let place = placesOf(source)[element];
  for (const port of source.ports) {
    const size = sizeOf(now.values[port].shape);
    if (place < size) return { port, at: place };
    place -= size;
  }
  return null;
};
export const metricNow = (at, values = now.values) => {
  const metric = live?.metrics[at];
  const figure = metric && figureNow(...metric.figure, values);
  return figure ? { value: STATISTICS[metric.statistic](figure.numbers), whole: metric.statistic.startsWith("arg") || figure.whole } : null;
};
Object.assign(computing, { showCase: enter, figure: figureNow, metric: metricNow, origin: originOf });
