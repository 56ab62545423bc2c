// Made from the model's own code: the same kernel once more.
import { EXPLAIN_FAMILY } from "#page/explain.js";
import { atPlace } from "#page/numbers.js";
import { live, now } from "#page/state.js";
import { decode, flat, op } from "../interpreter.js";

const onceMore = (place, out, step) => {
  const slots = live.program.ports.map((port) => now.values[port]);
  const leaf = [op[step.op](...decode(step.args, slots))].flat(Infinity).filter((x) => x !== null)[out];
  return flat(leaf)[atPlace(place, leaf.shape)];
};
// For an operation whose numbers arise all together: the rule in words.
export const recomputed = (words) => (args, place, out, step) => {
  const value = onceMore(place, out, step);
  return { value, blocks: [{ says: words }, { line: [value] }] };
};
EXPLAIN_FAMILY.creation = (args, place, out, step) => recomputed(`${step.op} takes this number from the model's code, not from the data.`)(args, place, out, step);
