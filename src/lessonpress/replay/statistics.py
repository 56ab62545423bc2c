"""The statistics of an array that a recipe, its prose and a page know by name; the page's twin is statistics.js.

Each takes an array of any shape and gives a number; positions count row by row from 0. As in numpy, one NaN makes sum,
mean, min, max and norm NaN, and is where argmax and argmin point. tests/test_statistics.py holds both twins together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

STATISTICS: Mapping[str, Callable[[Any], Any]] = {
    "sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max, "argmax": np.argmax, "argmin": np.argmin,
    "norm": np.linalg.norm,
}  # fmt: skip


def compute_statistic(name: str, array: Any) -> Any:
    """A statistic as a plain Python number. Raises KeyError for an unknown name, ValueError where it has none."""
    return np.asarray(STATISTICS[name](array)).item()
