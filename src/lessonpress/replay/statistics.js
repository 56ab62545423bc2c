// The statistics of an array that a recipe, its prose and a page know by name: the twin of statistics.py.
// Each takes the numbers of an array row by row. One NaN makes sum, mean, min, max and norm NaN, and is where argmax and
// argmin point; the least or largest of no numbers is an error.
import { largest, total } from "./operations/activations/kernels.js";
import { refuse } from "./operations/interpreter.js";
import { least, leastAt, lineNorm, mostAt } from "./operations/reductions/kernels.js";

const some = (values, name) => (values.length ? values : refuse(`${name} of an array without elements`));
export const STATISTICS = {
  sum: (values) => total(values),
  mean: (values) => total(values) / values.length,
  min: (values) => least(some(values, "min")),
  max: (values) => largest(some(values, "max")),
  argmax: (values) => mostAt(some(values, "argmax")),
  argmin: (values) => leastAt(some(values, "argmin")),
  norm: (values) => lineNorm(values, 2),
};
