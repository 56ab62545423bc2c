// Results of a whole matrix: the rule in words.
import { EXPLAIN } from "#page/explain.js";
import { recomputed } from "../creation/explain.js";

EXPLAIN.linalg_solve = recomputed("The solution of the system of equations A X = B, by elimination with the largest pivot.");
EXPLAIN.linalg_inv = recomputed("An element of the inverse: multiplied with the matrix it gives the unit matrix.");
EXPLAIN.linalg_det = recomputed("The determinant: the product of the pivots of an elimination, with the sign of the exchanges of rows.");
EXPLAIN.linalg_slogdet = recomputed("The sign of the determinant, and the logarithm of its magnitude.");
EXPLAIN.logdet = recomputed("The logarithm of the determinant.");
EXPLAIN.linalg_cholesky = recomputed("An element of the triangular L whose product with its own transpose is the matrix.");
EXPLAIN.linalg_solve_triangular = recomputed("The solution of a triangular system of equations, one row after the other.");
EXPLAIN.cholesky_solve = recomputed("The solution of L Lᵀ X = B by two triangular systems.");
EXPLAIN.cholesky_inverse = recomputed("An element of the inverse of L Lᵀ.");
EXPLAIN.linalg_matrix_power = recomputed("The matrix multiplied by itself.");
EXPLAIN.chain_matmul = recomputed("The product of several matrices.");
