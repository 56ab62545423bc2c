"""Operations of torch that decompose a matrix: the ones whose last digits no setting makes the same everywhere.

LAPACK, in which they are written, works in blocks and with kernels that a library chooses by processor.
docs/determinism.md says what was seen.
"""

from __future__ import annotations

from collections.abc import Iterable

NAMES = frozenset({
    "cholesky", "cholesky_ex", "cholesky_inverse", "cholesky_solve", "cond", "det", "eig", "eigh", "eigvals",
    "eigvalsh", "geqrf", "householder_product", "inv", "inv_ex", "inverse", "ldl_factor", "ldl_factor_ex", "ldl_solve",
    "lobpcg", "logdet", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matrix_rank", "orgqr", "ormqr",
    "orthogonal_", "pca_lowrank", "pinv", "pinverse", "qr", "slogdet", "solve", "solve_ex", "svd", "svd_lowrank",
    "svdvals", "tensorinv", "tensorsolve",
})  # fmt: skip


def is_decomposition(name: str) -> bool:
    """Whether a full name (`torch.linalg.qr`, `torch.linalg_qr` of a graph, `torch.nn.init.orthogonal_`) is one."""
    package, _, last = name.replace("linalg_", "linalg.").rpartition(".")
    return last in NAMES and package.partition(".")[0] == "torch"


def list_decompositions(names: Iterable[str]) -> list[str]:
    """Those of some full names, each once, as one calls them: `torch.linalg.qr`."""
    return sorted({name.replace("linalg_", "linalg.") for name in names if is_decomposition(name)})
