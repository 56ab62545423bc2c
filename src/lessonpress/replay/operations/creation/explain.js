// Made from the model's own code: the same kernel once more.
import { EXPLAIN_FAMILY } from "#page/explain.js";
import { atPlace } from "#page/numbers.js";
import { live, now } from "#page/state.js";
import { decode, flat, op } from "../interpreter.js";

const created = (args, place, out, step) => {
  const slots = live.program.ports.map((port) => now.values[port]);
  const leaf = [op[step.op](...decode(step.args, slots))].flat(Infinity)[out];
  const value = flat(leaf)[atPlace(place, leaf.shape)];
  return { value, blocks: [{ says: `${step.op} takes this number from the model's code, not from the data.` }, { line: [value] }] };
};
EXPLAIN_FAMILY.creation = created;
