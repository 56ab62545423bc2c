// The numbers that the page computes: the published program, run in float64 on the inputs of a case or on the reader's.
import { FLOAT, INT, flat, nd, runProgram } from "#replay/operations/interpreter.js";
import { STATISTICS } from "#replay/statistics.js";
import { data } from "./data.js";
import { sizeOf } from "./numbers.js";

/** @typedef {import("#replay/operations/interpreter.js").NdArray} NdArray */
export const live = data.live;
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
// `inputs` are the reader's own arrays, by name; null as long as nothing was moved.
/** @type {{ id: string, inputs: Record<string, NdArray>, values: Record<string, NdArray>, slots: NdArray[] }} */
export const now = { id: live ? Object.keys(live.cases)[0] : null, inputs: null, values: null, slots: null };
/** @type {(() => void)[]} */
export const watchers = [];
export const compute = (id, inputs, slots) => {
  const recorded = caseData(id);
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
// Ports and names: "7:1.0" is an output of call 7; a step has a layer.
export const stepOf = {};
export const layerPorts = {};
if (live) {
  live.program.steps.forEach((step, at) => step.out.forEach(([slot]) => {
    const port = live.program.ports[slot];
    stepOf[port] = at;
    (layerPorts[step.layer] ??= []).push(port);
  }));
  live.program.ports.filter((port) => port.startsWith("input:")).forEach((port) => (layerPorts[port] = [port]));
  Object.assign(layerPorts, live.modules);
}
export const nodeOf = (port) => (port in stepOf ? live.program.steps[stepOf[port]].layer : port);
export const portName = (port) => {
  if (!(port in stepOf)) return port.replace(/^(input|param|buffer):/, "");
  const path = port.slice(port.indexOf(":") + 1);
  const layer = nodeOf(port);
  const calls = [...new Set(layerPorts[layer].map((each) => each.slice(0, each.indexOf(":"))))];
  const call = calls.length > 1 ? "#" + calls.indexOf(port.slice(0, port.indexOf(":"))) : "";
  return layer + (path ? path.split(".").map((key) => `[${key}]`).join("") : "") + call;
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
export const originOf = (kind, at, element) => {
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
  const figure = metric && figureNow(...metric.of, values);
  return figure ? { value: STATISTICS[metric.value](figure.numbers), whole: metric.value.startsWith("arg") || figure.whole } : null;
};
