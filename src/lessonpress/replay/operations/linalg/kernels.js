// Linear algebra on small matrices: the JavaScript of kernels.py. Matrices are taken one by one, as lists of rows.
import { FLOAT, broadcast, commonShape, count, flat, nd, op, range, refuse, view } from "../interpreter.js";
import { matmul } from "../products/kernels.js";

const rowsOfMatrices = (x) => {
  const [n, m] = x.shape.slice(-2);
  const data = flat(x);
  return range(count(x.shape.slice(0, -2))).map((at) => range(n).map((i) => Array.from(data.subarray(at * n * m + i * m, at * n * m + i * m + m))));
};
const ofMatrices = (lead, matrices, n, m) => nd([...lead, n, m], FLOAT, Float64Array.from(matrices.flat(2)));
const squares = (x) => {
  const [n, m] = x.shape.slice(-2);
  if (x.shape.length < 2 || n !== m || !flat(x).every(Number.isFinite)) refuse("no square matrix of finite numbers");
  return rowsOfMatrices(x);
};
const turned = (x) => view(x, [...x.shape.slice(0, -2), ...x.shape.slice(-2).reverse()], [...x.strides.slice(0, -2), ...x.strides.slice(-2).reverse()]);
// Gauss's elimination with the largest pivot of each column, on [A | B]: the pivots, and B as it is then.
const eliminated = (a, b) => {
  const rows = a.map((row, i) => [...row, ...b[i]]);
  const n = rows.length;
  let sign = 1;
  for (let c = 0; c < n; c++) {
    const best = range(n - c).map((i) => i + c).reduce((most, i) => (Math.abs(rows[i][c]) > Math.abs(rows[most][c]) ? i : most), c);
    if (best !== c) [rows[c], rows[best], sign] = [rows[best], rows[c], -sign];
    if (rows[c][c] === 0) continue;
    for (let i = c + 1; i < n; i++) {
      const factor = rows[i][c] / rows[c][c];
      for (let j = c; j < rows[i].length; j++) rows[i][j] -= factor * rows[c][j];
    }
  }
  return { rows, sign, pivots: rows.map((row, i) => row[i]) };
};
const solvedRows = (a, b) => {
  const n = a.length;
  const { rows, pivots } = eliminated(a, b);
  if (pivots.some((pivot) => pivot === 0)) refuse("a singular matrix");
  const x = rows.map((row) => row.slice(n));
  for (let i = n - 1; i >= 0; i--) {
    for (let c = 0; c < x[i].length; c++) {
      for (let j = i + 1; j < n; j++) x[i][c] -= rows[i][j] * x[j][c];
      x[i][c] /= pivots[i];
    }
  }
  return x;
};
const pairedMatrices = (a, b, solve) => {
  const lead = commonShape([a.shape.slice(0, -2), b.shape.slice(0, -2)]);
  const [left, right] = [a, b].map((x) => broadcast(x, [...lead, ...x.shape.slice(-2)]));
  const others = rowsOfMatrices(right);
  return ofMatrices(lead, squares(left).map((rows, i) => solve(rows, others[i])), ...b.shape.slice(-2));
};
const solveMatrices = (a, b, left) => {
  const vector = b.shape.length === 1 || (a.shape.length - 1 === b.shape.length && String(b.shape) === String(a.shape.slice(0, -1)));
  if (vector) {
    const x = pairedMatrices(a, view(b, [...b.shape, 1], [...b.strides, 0]), solvedRows);
    return nd(x.shape.slice(0, -1), FLOAT, x.data);
  }
  return left ? pairedMatrices(a, b, solvedRows) : turned(pairedMatrices(turned(a), turned(b), solvedRows));
};
op.linalg_solve = solveMatrices;
const unit = (n) => range(n).map((i) => range(n).map((j) => Number(i === j)));
const inverses = (x) => ofMatrices(x.shape.slice(0, -2), squares(x).map((rows) => solvedRows(rows, unit(rows.length))), ...x.shape.slice(-2));
op.linalg_inv = inverses;
const determinants = (x) => squares(x).map((rows) => eliminated(rows, rows.map(() => [])));
const ofDeterminants = (x, f) => nd(x.shape.slice(0, -2), FLOAT, Float64Array.from(determinants(x), f));
const signOf = ({ sign, pivots }) => pivots.reduce((s, pivot) => s * Math.sign(pivot), sign);
const logOf = ({ pivots }) => pivots.reduce((sum, pivot) => sum + Math.log(Math.abs(pivot)), 0);
op.linalg_det = (x) => ofDeterminants(x, ({ sign, pivots }) => pivots.reduce((product, pivot) => product * pivot, sign));
op.linalg_slogdet = (x) => [ofDeterminants(x, signOf), ofDeterminants(x, logOf)];
op.logdet = (x) => ofDeterminants(x, (parts) => (signOf(parts) < 0 ? NaN : logOf(parts)));
const factored = (a) => {
  const out = a.map((row) => row.map(() => 0));
  a.forEach((row, i) => {
    for (let j = 0; j <= i; j++) {
      let rest = row[j];
      for (let k = 0; k < j; k++) rest -= out[i][k] * out[j][k];
      if (i === j && !(rest > 0)) refuse("a matrix that is not positive definite");
      out[i][j] = i === j ? Math.sqrt(rest) : rest / out[j][j];
    }
  });
  return out;
};
op.linalg_cholesky = (x, upper) => {
  const factors = ofMatrices(x.shape.slice(0, -2), squares(x).map(factored), ...x.shape.slice(-2));
  return upper ? turned(factors) : factors;
};
const triangular = (a, b, upper, left, ones) => {
  if (!left) return turned(triangular(turned(a), turned(b), !upper, true, ones));
  return pairedMatrices(a, b, (rows, x) => {
    const order = range(rows.length);
    for (const i of upper ? order.slice().reverse() : order) {
      for (const j of upper ? order.slice(i + 1) : order.slice(0, i)) x[i] = x[i].map((v, c) => v - rows[i][j] * x[j][c]);
      if (!ones) x[i] = x[i].map((v) => v / rows[i][i]);
    }
    return x;
  });
};
op.linalg_solve_triangular = triangular;
const choleskySolved = (b, factor, upper) => {
  const lower = upper ? turned(factor) : factor;
  return triangular(turned(lower), triangular(lower, b, false, true, false), true, true, false);
};
op.cholesky_solve = choleskySolved;
const units = (x) => ofMatrices(x.shape.slice(0, -2), rowsOfMatrices(x).map((rows) => unit(rows.length)), ...x.shape.slice(-2));
op.cholesky_inverse = (factor, upper) => choleskySolved(units(factor), factor, upper);
op.linalg_matrix_power = (x, n) => range(Math.abs(n)).reduce((product) => matmul(product, n < 0 ? inverses(x) : x), units(x));
op.chain_matmul = (matrices) => matrices.reduce((product, matrix) => matmul(product, matrix));
