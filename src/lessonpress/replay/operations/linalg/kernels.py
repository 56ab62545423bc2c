"""Linear algebra on small matrices: systems of equations, inverses, determinants, Cholesky factors, powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from lessonpress.replay.operations.kinds import Array, Unsupported, real
from lessonpress.replay.operations.table import ALIASES, Rewritten, operation, rewrite

ALIASES.update(
    cholesky="linalg_cholesky", inverse="linalg_inv", det="linalg_det", slogdet="linalg_slogdet",
    matrix_power="linalg_matrix_power", linalg_multi_dot="chain_matmul",
)  # fmt: skip


def _square(x: Array) -> Array:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or not np.all(np.isfinite(x)):
        raise Unsupported("no square matrix of finite numbers")
    return real(x)


@operation("linalg_solve")
def linalg_solve(A: Array, B: Array, *, left: bool = True) -> Any:
    """The X with A X = B (X A = B where not `left`). Raises Unsupported for a singular matrix."""
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    right = real(B)[..., None] if vector else real(B)
    try:
        if left or vector:
            solved = np.linalg.solve(_square(A), right)
        else:
            solved = np.linalg.solve(_square(A).swapaxes(-1, -2), right.swapaxes(-1, -2)).swapaxes(-1, -2)
    except np.linalg.LinAlgError as error:
        raise Unsupported("a singular matrix") from error
    return solved[..., 0] if vector else solved.copy()


@operation("linalg_inv")
def linalg_inv(A: Array) -> Any:
    """The inverse of each matrix. Raises Unsupported for a singular one."""
    try:
        return np.linalg.inv(_square(A))
    except np.linalg.LinAlgError as error:
        raise Unsupported("a singular matrix") from error


@operation("linalg_det")
def linalg_det(A: Array) -> Any:
    """The determinant of each matrix."""
    return np.linalg.det(_square(A))


@operation("linalg_slogdet")
def linalg_slogdet(A: Array) -> Any:
    """The sign of each determinant, and the logarithm of its magnitude."""
    return list(np.linalg.slogdet(_square(A)))


@operation("logdet")
def logdet(input: Array) -> Any:
    """The logarithm of each determinant; NaN where it is negative."""
    sign, logarithm = np.linalg.slogdet(_square(input))
    return np.where(sign < 0, np.nan, logarithm)


@operation("linalg_cholesky")
def linalg_cholesky(input: Array, upper: bool = False) -> Any:
    """The triangular L with L Lᵀ = A. Raises Unsupported for a matrix that is not positive definite."""
    try:
        factor = np.linalg.cholesky(_square(input))
    except np.linalg.LinAlgError as error:
        raise Unsupported("a matrix that is not positive definite") from error
    return factor.swapaxes(-1, -2).copy() if upper else factor


@operation("linalg_solve_triangular")
def linalg_solve_triangular(
    input: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:  # fmt: skip
    """The X with A X = B, of A only the lower (or `upper`) triangle."""
    if not left:
        turned = linalg_solve_triangular(input.swapaxes(-1, -2), B.swapaxes(-1, -2), upper=not upper,
                                         unitriangular=unitriangular)  # fmt: skip
        return turned.swapaxes(-1, -2).copy()
    n = input.shape[-1]
    lead = np.broadcast_shapes(input.shape[:-2], B.shape[:-2])
    solved = np.array(np.broadcast_to(real(B), (*lead, *B.shape[-2:])))
    for i in reversed(range(n)) if upper else range(n):
        known = range(i + 1, n) if upper else range(i)
        for j in known:
            solved[..., i, :] -= input[..., i, j, None] * solved[..., j, :]
        if not unitriangular:
            solved[..., i, :] /= input[..., i, i, None]
    return solved


@operation("cholesky_solve")
def cholesky_solve(input: Array, input2: Array, upper: bool = False) -> Any:
    """The X with L Lᵀ X = B."""
    factor = input2.swapaxes(-1, -2) if upper else input2
    half = linalg_solve_triangular(factor, input, upper=False)
    return linalg_solve_triangular(factor.swapaxes(-1, -2), half, upper=True)


@operation("cholesky_inverse")
def cholesky_inverse(input: Array, upper: bool = False) -> Any:
    """The inverse of L Lᵀ."""
    return cholesky_solve(np.broadcast_to(np.eye(input.shape[-1]), input.shape), input, upper)


@operation("linalg_matrix_power")
def linalg_matrix_power(input: Array, n: int) -> Any:
    """Each matrix multiplied by itself; a negative number is a power of the inverse."""
    base = linalg_inv(input) if n < 0 else input
    result = np.broadcast_to(np.eye(input.shape[-1]), input.shape)
    for _ in range(abs(n)):
        result = result @ base
    return result.copy()


@operation("chain_matmul", variadic="matrices")
def chain_matmul(matrices: Any) -> Any:
    """The product of several matrices."""
    result = matrices[0]
    for matrix in matrices[1:]:
        result = result @ matrix
    return result


@rewrite("triangular_solve")
def rewrite_triangular(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """The older name gives two results, of which pages know none."""
    raise Unsupported("triangular_solve, which torch.linalg.solve_triangular replaces")
