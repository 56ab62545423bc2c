// The page's own arithmetic, for the curious: `lesson` in the browser's console.
import { flat, nd } from "#replay/operations/interpreter.js";
import { explain } from "./explain.js";
import { caseData, compute, figureNow, metricNow, move } from "./machine.js";
import { selfTest } from "./sliders.js";
import { follow } from "./selection.js";
import { live, now, portName } from "./state.js";

globalThis.lesson = {
  run(id, inputs = {}) {
    const shaped = Object.entries(inputs).map(([name, numbers]) => {
      const x = caseData(id).inputs[name];
      return [name, nd(x.shape, x.kind, Float64Array.from([numbers].flat(Infinity)))];
    });
    const values = compute(id, Object.fromEntries(shaped));
    const figures = (kind) => live[kind].map((_, at) => figureNow(kind, at, values)?.numbers ?? null);
    const metrics = live.metrics.map((_, at) => metricNow(at, values)?.value);
    return { matrices: figures("matrices"), vectors: figures("vectors"), metrics };
  },
  cases: Object.keys(live.cases),
  input: (id, name) => Array.from(flat(caseData(id).inputs[name])),
  ports: live.program.ports.map((port) => ({ port, name: portName(port), shape: now.values[port].shape })),
  explain: (port, at) => explain({ port, at }),
  follow: (port, at) => follow({ port, at }),
  move,
  selfTest,
};
