// The statistics of an array that a recipe, its prose and a page know by name: the twin of statistics.py.
// Each takes the numbers of an array row by row. One NaN makes sum, mean, min, max and norm NaN, and is where argmax and
// argmin point; the least or largest of no numbers is an error. A page takes those that its metrics name.
import { largest, total } from "./operations/activations/kernels.js";
import { refuse } from "./operations/interpreter.js";
import { least, leastAt, lineNorm, mostAt } from "./operations/reductions/kernels.js";

const some = (values, name) => (values.length ? values : refuse(`${name} of an array without elements`));
/** @type {Record<string, (values: any) => number>} */
export const STATISTICS = {};
STATISTICS.sum = (values) => total(values);
STATISTICS.mean = (values) => total(values) / values.length;
STATISTICS.min = (values) => least(some(values, "min"));
STATISTICS.max = (values) => largest(some(values, "max"));
STATISTICS.argmax = (values) => mostAt(some(values, "argmax"));
STATISTICS.argmin = (values) => leastAt(some(values, "argmin"));
STATISTICS.norm = (values) => lineNorm(values, 2);
