// The statistics of a recorded array that a page computes itself: the JavaScript of statistics.py, NaN as in numpy.
const first = (numbers, wanted) => numbers.findIndex((number) => Object.is(number, wanted) || number === wanted);
const STATISTICS = {
  sum: (v) => v.reduce((a, b) => a + b, 0),
  mean: (v) => v.reduce((a, b) => a + b, 0) / v.length,
  min: (v) => (v.length ? Math.min(...v) : NaN),
  max: (v) => (v.length ? Math.max(...v) : NaN),
  argmax: (v) => (v.length ? first(v, Math.max(...v)) : NaN),
  argmin: (v) => (v.length ? first(v, Math.min(...v)) : NaN),
  norm: (v) => Math.sqrt(v.reduce((a, b) => a + b * b, 0)),
};
