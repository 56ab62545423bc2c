"""The statistics of an array that a recipe, its prose and a page know by name; the page's twin is statistics.js.

Each takes an array of any shape and gives a number; positions count row by row from 0. As in numpy, one NaN makes sum,
mean, min, max and norm NaN, and is where argmax and argmin point. tests/test_statistics.py holds both twins together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def compute_norm(array: Any) -> Any:
    """The square root of the sum of squares, in the array's own precision; numpy's own depends on the processor."""
    flat = np.ravel(array)
    flat = flat if np.issubdtype(flat.dtype, np.inexact) else flat.astype(np.float64)
    squares = flat.real * flat.real + flat.imag * flat.imag if np.iscomplexobj(flat) else flat * flat
    return np.sqrt(np.sum(squares))


STATISTICS: Mapping[str, Callable[[Any], Any]] = {
    "sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max, "argmax": np.argmax, "argmin": np.argmin,
    "norm": compute_norm,
}  # fmt: skip


def compute_statistic(name: str, array: Any) -> Any:
    """A statistic as a plain Python number. Raises KeyError for an unknown name, ValueError where it has none."""
    return np.asarray(STATISTICS[name](array)).item()
