// Follows every element of what an operation gives, in a program of one step: {families, cases: [{op, args, inplace}]}
// to the elements that the page does not write out. Follows the page's own explain.js and machine.js with all that they import.
// Arrays become ports, in the order in which they stand.
const seated = (arg, keep) => {
  if (Array.isArray(arg)) return arg.map((part) => seated(part, keep));
  if (arg === null || typeof arg !== "object") return arg;
  if ("array" in arg) return keep(nd(arg.shape, arg.kind, Float64Array.from(arg.array, Number)));
  if ("slice" in arg) return { slice: seated(arg.slice, keep) };
  if ("dict" in arg) return { dict: Object.fromEntries(Object.entries(arg.dict).map(([key, part]) => [key, seated(part, keep)])) };
  return arg;
};
const outputs = (step, slots) => {
  const args = decode(step.args, slots);
  const result = op[step.op](...args);
  return step.inplace ? [args[0]] : [result].flat(Infinity).filter((x) => x !== null);
};
const stage = ({ op: name, args, inplace }) => {
  const [ports, tensors] = [[], {}];
  const fresh = () => Object.values(tensors).map((x) => nd(x.shape, x.kind, flat(x).slice()));
  const keep = (x) => {
    tensors[ports.length] = x;
    return { slot: ports.push(`param:${ports.length}`) - 1 };
  };
  const step = { layer: name, op: name, inplace, args: seated(args, keep) };
  step.out = outputs(step, fresh()).map((x, i) => [ports.push(`0:${i}`) - 1, x.shape]);
  Object.assign(live, { program: { ports, steps: [step] } });
  now.slots = [];
  now.values = runProgram(live.program, {}, tensors, now.slots);
  Object.keys(stepOf).forEach((port) => delete stepOf[port]);
  step.out.forEach(([slot]) => (stepOf[ports[slot]] = 0));
  return step.out.map(([slot]) => ports[slot]);
};
const lost = (port) => counted(sizeOf(now.values[port].shape), (at) => [at, explain({ port, at })])
  .filter(([at, shown]) => shown.whole || !shown.blocks.length || !close(shown.value, numberOf({ port, at })))
  .map(([at]) => `${port}[${at}]`);
const main = ({ families, cases }) => {
  live.families = families;
  return cases.map((one) => stage(one).flatMap(lost));
};
