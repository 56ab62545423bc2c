// What the page shows at the moment: the case, the reader's own numbers, and what was computed from them.
import { data } from "./data.js";

/** @typedef {import("#replay/operations/interpreter.js").NdArray} NdArray */
// On a page of several programs ways.js adds `takeWay`, which makes these the ones that a case was run with.
/** @type {import("./data.js").Live & { takeWay?: (id: string) => void }} */
export const live = data.live;
// `inputs` are the reader's own arrays, by name; null as long as nothing was moved.
/** @type {{ id: string, inputs: Record<string, NdArray>, values: Record<string, NdArray>, slots: NdArray[] }} */
export const now = { id: live ? Object.keys(live.cases)[0] : null, inputs: null, values: null, slots: null };
/** @type {(() => void)[]} */
export const watchers = [];
/**
 * What machine.js puts in place of these on a page with a program; elsewhere there is nothing but the record.
 * @typedef {object} Computing
 * @property {(id: string) => void} showCase compute a case, and let everyone who shows a number know
 * @property {(kind: string, at: number) => { numbers: number[], shape: number[], whole: boolean } | null} figure
 * @property {(at: number) => { value: number, whole: boolean } | null} metric
 * @property {(kind: string, at: number, element: number) => { port: string, at: number } | null} origin
 */
/** @type {Computing} */
export const computing = {
  showCase: () => watchers.forEach((watch) => watch()),
  figure: () => null,
  metric: () => null,
  origin: () => null,
};
// Ports and names: "7:1.0" is an output of call 7; a step has a layer.
export const stepOf = {};
export const layerPorts = {};
export const indexPorts = () => {
  live.program.steps.forEach((step, at) => step.out.forEach(([slot]) => {
    const port = live.program.ports[slot];
    stepOf[port] = at;
    (layerPorts[step.layer] ??= []).push(port);
  }));
  live.program.ports.filter((port) => port.startsWith("input:")).forEach((port) => (layerPorts[port] = [port]));
  Object.assign(layerPorts, live.modules);
};
if (live) indexPorts();
export const nodeOf = (port) => (port in stepOf ? live.program.steps[stepOf[port]].layer : port);
export const portName = (port) => {
  if (!(port in stepOf)) return port.replace(/^(input|param|buffer):/, "");
  const path = port.slice(port.indexOf(":") + 1);
  const layer = nodeOf(port);
  const calls = [...new Set(layerPorts[layer].map((each) => each.slice(0, each.indexOf(":"))))];
  const call = calls.length > 1 ? "#" + calls.indexOf(port.slice(0, port.indexOf(":"))) : "";
  return layer + (path ? path.split(".").map((key) => `[${key}]`).join("") : "") + call;
};
