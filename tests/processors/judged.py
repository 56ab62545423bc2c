"""What checks and metrics compute with, on one processor: numpy's functions and products, and Python's own.

`python -m tests.processors.judged ANSWER` computes just that, without torch: as the judge's process does, which has no
torch either. The probe computes it too.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

MANY = 3001  # values of a function of one number: enough that one wrong rounding in a thousand shows

# Functions of one number, by the largest interval on which each is of interest.
LINE, POSITIVE, UNIT, ABOVE_ONE, MODERATE = "line", "positive", "unit", "above one", "moderate"
NUMPY = (
    "sqrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "cbrt",
    "square",
    "reciprocal",
)
PYTHON = (
    "sqrt",
    "exp",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "gamma",
    "lgamma",
    "cbrt",
    "exp2",
)


def numbers(kind: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Float64 values [MANY] from an interval, without any function that a processor may compute in its own way."""
    steps = (np.arange(1, MANY + 1) * 0.6180339887498949) % 1.0  # evenly spread, in no order
    powers = np.ldexp(1 + steps, np.arange(MANY) % 60 - 30)  # every power of two from 2^-30 to 2^30
    signs = np.where(np.arange(MANY) % 2, -1.0, 1.0)
    if kind == UNIT:
        return np.where(np.arange(MANY) % 3 == 0, np.minimum(powers, 1.0), steps) * signs
    if kind == MODERATE:
        return np.where(np.arange(MANY) % 3 == 0, np.minimum(powers, 80.0), 20 * steps) * signs
    if kind == LINE:
        return np.where(np.arange(MANY) % 3 == 0, powers, 20 * steps) * signs
    return powers + 1 if kind == ABOVE_ONE else np.where(np.arange(MANY) % 3 == 0, powers, 20 * steps)


def judged() -> Iterator[tuple[str, Any]]:
    """What checks and metrics compute with: numpy's functions and products, and Python's own."""
    domains = {
        "arcsin": UNIT,
        "arccos": UNIT,
        "arctanh": UNIT,
        "arccosh": ABOVE_ONE,
        "asin": UNIT,
        "acos": UNIT,
        "atanh": UNIT,
        "acosh": ABOVE_ONE,
        **dict.fromkeys(("sqrt", "log", "log2", "log10", "log1p", "gamma", "lgamma", "reciprocal"), POSITIVE),
        **dict.fromkeys(("exp", "exp2", "expm1", "sinh", "cosh"), MODERATE),
    }
    for name in NUMPY:
        for dtype in (np.float32, np.float64):
            x = numbers(domains.get(name, LINE)).astype(dtype)
            yield f"numpy {name}/{dtype.__name__}", getattr(np, name)(x)
            yield f"numpy {name} strided/{dtype.__name__}", getattr(np, name)(np.stack([x, x], 1)[:, 0])
    for name in PYTHON:
        if hasattr(math, name):
            values = (numbers(domains.get(name, LINE))[:2000]).tolist()
            values = [v for v in values if v < 100] if name == "gamma" else [v for v in values if abs(v) != 1]
            yield f"math {name}/float64", np.array([getattr(math, name)(value) for value in values])
    for dtype in (np.float32, np.float64):
        x, y = numbers(POSITIVE).astype(dtype), (numbers(MODERATE) / 16).astype(dtype)
        grid, other = y[:1500].reshape(30, 50), x[:1000].reshape(50, 20)
        z = x + 1j * y
        for label, made in {
            "power": x**y,
            "power scalar": x**1.7,
            "arctan2": np.arctan2(y, x),
            "hypot": np.hypot(x, y),
            "sum": x.sum(),
            "mean": y.mean(),
            "sum rows": grid.sum(1),
            "sum columns": grid.sum(0),
            "dot": x @ y,
            "matmul": grid @ other,
            "matvec": grid @ x[:50],
            "norm": np.linalg.norm(x),
            "norm rows": np.linalg.norm(grid, axis=1),
            "einsum": np.einsum("ij,jk->ik", grid, other),
            "std": y.std(),
            "var": y.var(),
            "cumsum": x.cumsum(),
            "prod": (y / 4 + 1)[:100].prod(),
            "exp complex": np.exp(z[:40] / 9),
            "abs complex": np.abs(z),
            "tensordot": np.tensordot(grid, other, 1),
            "divide": y / x,
            "logaddexp": np.logaddexp(x, y),
            "batched matmul": np.stack([grid, grid]) @ other,
            "outer": np.outer(y[:50], x[:50]),
            "complex matmul": z[:400].reshape(20, 20) @ z[:400].reshape(20, 20),
        }.items():
            yield f"numpy {label}/{np.dtype(dtype).name}", made


def main() -> None:
    """Write what is computed, as the probe names it."""
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    np.savez(sys.argv[1], **{f"judge/{name}.0": np.array(value) for name, value in judged()})


if __name__ == "__main__":
    main()
