// The numbers that the page computes: the published program, run in float64 on the inputs of a case or on the reader's.
const live = data.live;
const unpack = ([dtype, shape, given]) => {
  if (typeof given !== "string") return machine.nd(shape, dtype === "bool" ? 0 : machine.INT, Float64Array.from(given));
  const size = dtype === "float32" ? 4 : 8;
  const planes = atob(given);
  const n = planes.length / size;
  const view = new DataView(new ArrayBuffer(planes.length));
  for (let i = 0; i < planes.length; i++) view.setUint8((i % n) * size + Math.floor(i / n), planes.charCodeAt(i));
  const read = (i) => (size === 4 ? view.getFloat32(4 * i, true) : view.getFloat64(8 * i, true));
  return machine.nd(shape, machine.FLOAT, Float64Array.from({ length: n }, (_, i) => read(i)));
};
const unpackAll = (group) => Object.fromEntries(Object.entries(group).map(([name, told]) => [name, unpack(told)]));
const same = live && unpackAll(live.tensors);
const given = {};
const caseData = (id) => {
  const told = live.cases[id];
  given[id] ??= { inputs: unpackAll(told.inputs), tensors: { ...same, ...unpackAll(told.tensors) } };
  return given[id];
};
// `inputs` are the reader's own arrays, by name; null as long as nothing was moved.
const now = { id: live ? Object.keys(live.cases)[0] : null, inputs: null, values: null, slots: null };
const watchers = [];
const compute = (id, inputs, slots) => {
  const told = caseData(id);
  return machine.runProgram(live.program, { ...told.inputs, ...inputs }, told.tensors, slots);
};
const inputOf = (name) => now.inputs?.[name] ?? caseData(now.id).inputs[name];
// Take other inputs (null: the recorded ones), compute, and tell everyone who shows a number.
const move = (inputs) => {
  if (!live) return null;
  try {
    const slots = [];
    const values = compute(now.id, inputs ?? {}, slots);
    Object.assign(now, { inputs, values, slots });
  } catch (error) {
    return error.message;
  }
  watchers.forEach((watch) => watch());
  return null;
};
const enter = (id) => {
  now.id = live && id in live.cases ? id : now.id;
  return move(null);
};
// Ports and names: "7:1.0" is an output of call 7; a step has a layer.
const stepOf = {};
const layerPorts = {};
if (live) {
  live.program.steps.forEach((step, at) => step.out.forEach(([slot]) => {
    const port = live.program.ports[slot];
    stepOf[port] = at;
    (layerPorts[step.layer] ??= []).push(port);
  }));
  live.program.ports.filter((port) => port.startsWith("input:")).forEach((port) => (layerPorts[port] = [port]));
  Object.assign(layerPorts, live.modules);
}
const nodeOf = (port) => (port in stepOf ? live.program.steps[stepOf[port]].layer : port);
const portName = (port) => {
  if (!(port in stepOf)) return port.replace(/^(input|param|buffer):/, "");
  const path = port.slice(port.indexOf(":") + 1);
  const layer = nodeOf(port);
  const calls = [...new Set(layerPorts[layer].map((each) => each.slice(0, each.indexOf(":"))))];
  const call = calls.length > 1 ? "#" + calls.indexOf(port.slice(0, port.indexOf(":"))) : "";
  return layer + (path ? path.split(".").map((key) => `[${key}]`).join("") : "") + call;
};
// A recorded figure's numbers as they are now: flat, with the shape that was published.
const placesOf = (told) => (typeof told.at === "number" ? Array.from({ length: sizeOf(told.shape) }, (_, i) => told.at + i) : told.at);
const figureNow = (kind, at, values = now.values) => {
  const told = live?.[kind][at];
  if (!told) return null;
  const numbers = told.ports.flatMap((port) => [...machine.flat(values[port])]);
  return { shape: told.shape, whole: values[told.ports[0]].kind !== machine.FLOAT, numbers: placesOf(told).map((i) => numbers[i]) };
};
// Where a figure's element comes from: its port and its place there.
const originOf = (kind, at, element) => {
  const told = live?.[kind][at];
  if (!told) return null;
  let place = placesOf(told)[element];
  for (const port of told.ports) {
    const size = sizeOf(now.values[port].shape);
    if (place < size) return { port, at: place };
    place -= size;
  }
  return null;
};
const STATISTICS = {
  sum: (v) => v.reduce((a, b) => a + b, 0),
  mean: (v) => v.reduce((a, b) => a + b, 0) / v.length,
  min: (v) => Math.min(...v),
  max: (v) => Math.max(...v),
  argmax: (v) => v.indexOf(Math.max(...v)),
  argmin: (v) => v.indexOf(Math.min(...v)),
  norm: (v) => Math.sqrt(v.reduce((a, b) => a + b * b, 0)),
};
const metricNow = (at) => {
  const told = live?.metrics[at];
  const figure = told && figureNow(...told.of);
  return figure ? { value: STATISTICS[told.value](figure.numbers), whole: told.value.startsWith("arg") || figure.whole } : null;
};
