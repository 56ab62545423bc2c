"""Two sets of numbers side by side: how far apart they are, in ulp and against a tolerance, and where.

An ulp is a unit in the last place: the step from one floating-point number to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
COUNTED = 1_000_000  # ulp
UNSIGNED: Mapping[int, type[np.unsignedinteger[Any]]] = {2: np.uint16, 4: np.uint32, 8: np.uint64}


class GapDocument(TypedDict):
    """A gap as JSON; an infinite distance stands as "Infinity"."""

    name: str
    place: list[int]
    old: str
    new: str
    absolute: float | str
    ulp: int | None
    cells: int
    good: bool


class ComparisonDocument(TypedDict):
    """A comparison as JSON."""

    arrays: int
    gaps: list[GapDocument]
    added: list[str]
    removed: list[str]


@dataclass(frozen=True)
class Gap:
    """The worst place of one array that differs: its numbers, their distance, and whether all of it is in tolerance.

    `ulp` counts the floating-point numbers between the two; None where no such distance exists (integers, a number
    beside NaN, arrays of different shape). `share` is the distance as a part of what the tolerance allows.
    """

    name: str
    place: tuple[int, ...]
    old: str
    new: str
    absolute: float
    ulp: int | None
    share: float
    cells: int  # how many numbers of the array differ
    good: bool

    def where(self) -> str:
        """The array's name with the place inside it: `moved: mapped[2, 1]`."""
        return self.name + (f"[{', '.join(map(str, self.place))}]" if self.place else "")

    def words(self) -> str:
        """The distance and its place: `4 ulp at moved: mapped[2, 1]`; far apart, the plain difference says more."""
        size = f"{self.ulp} ulp" if self.ulp is not None and self.ulp < COUNTED else f"{self.absolute:.2g}"
        return f"{size} at {self.where()}"

    def document(self) -> GapDocument:
        """The gap as plain data."""
        return {"name": self.name, "place": list(self.place), "old": self.old, "new": self.new,
                "absolute": _plain(self.absolute), "ulp": self.ulp, "cells": self.cells, "good": self.good}  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """All arrays of two records: how many there are, which differ, and which stand on one side only."""

    arrays: int
    gaps: tuple[Gap, ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def same(self) -> bool:
        """Whether every number is the same number."""
        return not (self.gaps or self.added or self.removed)

    def good(self) -> bool:
        """Whether both hold the same arrays, and every number is within the tolerance of its counterpart."""
        return not (self.added or self.removed) and all(gap.good for gap in self.gaps)

    def worst(self) -> Gap | None:
        """The array that uses most of its tolerance; what is out of tolerance comes before what is in."""
        return max(self.gaps, key=lambda gap: (not gap.good, gap.share), default=None)

    def words(self) -> str:
        """The whole in a clause: `3 of 12 arrays, largest 4 ulp at moved: mapped[2, 1]`."""
        told = [f"{len(self.gaps)} of {self.arrays} arrays"] if self.gaps else []
        told += [f"{len(self.added)} added"] if self.added else []
        told += [f"{len(self.removed)} removed"] if self.removed else []
        worst = self.worst()
        return ", ".join([*told, f"largest {worst.words()}"] if worst else told) or f"none of {self.arrays} arrays"

    def document(self) -> ComparisonDocument:
        """The comparison as plain data."""
        return {"arrays": self.arrays, "gaps": [gap.document() for gap in self.gaps], "added": list(self.added),
                "removed": list(self.removed)}  # fmt: skip


def compare(old: Mapping[str, Array], new: Mapping[str, Array], *, atol: float, rtol: float) -> Comparison:
    """Compare arrays by name: a number is within tolerance when |new − old| ≤ atol + rtol·|old|.

    NaN equals NaN, and an infinity the same infinity. Integers, bools and shapes are structure: they must be equal.
    """
    both = [name for name in old if name in new]
    gaps = [compare_arrays(name, old[name], new[name], atol=atol, rtol=rtol) for name in both]
    added, removed = (tuple(name for name in a if name not in b) for a, b in ((new, old), (old, new)))
    return Comparison(len(both), tuple(found for found in gaps if found is not None), added, removed)


def compare_arrays(name: str, old: Array, new: Array, *, atol: float, rtol: float) -> Gap | None:
    """The worst difference between two arrays, or None when they hold the same numbers in the same shape."""
    if old.shape != new.shape or old.dtype.kind != new.dtype.kind:
        told = [f"{list(a.shape)} {a.dtype}" for a in (old, new)]
        return Gap(name, (), told[0], told[1], float("inf"), None, float("inf"), max(old.size, new.size), False)
    differs = ~_same(old, new)
    if not differs.any():
        return None
    away, share = _distance(old, new, atol, rtol)
    place = tuple(int(i) for i in np.unravel_index(int(np.where(differs, share, -1.0).argmax()), share.shape))
    return Gap(name, place, repr(old[place].item()), repr(new[place].item()), float(away[place]),
               count_ulps(old[place], new[place]), float(share[place]), int(differs.sum()),
               bool((share[differs] <= 1.0).all()))  # fmt: skip


def _same(old: Array, new: Array) -> NDArray[np.bool_]:
    equal = old == new
    if old.dtype.kind in "fc":
        equal = equal | (np.isnan(old) & np.isnan(new))
    return np.asarray(equal, dtype=np.bool_)


def _distance(old: Array, new: Array, atol: float, rtol: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each number's |new − old|, and that as a share of what is allowed (infinite where nothing is)."""
    if old.dtype.kind not in "fc":
        away = np.abs(new.astype(np.float64) - old.astype(np.float64))
        return away, np.where(_same(old, new), 0.0, np.inf)
    wide = np.complex128 if old.dtype.kind == "c" else np.float64
    a, b = old.astype(wide), new.astype(wide)
    with np.errstate(all="ignore"):
        away = np.nan_to_num(np.where(_same(old, new), 0.0, np.abs(b - a)), nan=np.inf, posinf=np.inf)
        allowed = atol + rtol * np.abs(a)
        share = np.where(away == 0, 0.0, away / allowed)
    # Beside an infinity or NaN nothing but the same counts as near.
    return away, np.where(np.isfinite(a) | (away == 0), np.nan_to_num(share, nan=np.inf, posinf=np.inf), np.inf)


def count_ulps(old: Any, new: Any) -> int | None:
    """How many floating-point numbers lie from one to the other, 0 and −0 counting as one number.

    Both of one dtype (float16, float32, float64, or complex: then the larger of the parts'); None for other numbers.
    """
    old, new = np.asarray(old), np.asarray(new)
    if old.dtype.kind == "c":
        parts = [count_ulps(old.real, new.real), count_ulps(old.imag, new.imag)]
        return None if None in parts else max(part for part in parts if part is not None)
    if old.dtype.kind != "f" or old.dtype != new.dtype or not (np.isfinite(old) and np.isfinite(new)):
        return None
    return abs(_rank(old) - _rank(new))


def _rank(value: Array) -> int:
    """A float's place in the order of all floats of its dtype; 0 for both zeros."""
    size = value.dtype.itemsize
    bits = int(value.reshape(1).view(UNSIGNED[size])[0])
    sign = 1 << (8 * size - 1)
    return bits if bits < sign else sign - bits


def iterate_leaves(values: Any) -> Iterator[Any]:
    """The leaves of nested lists, in row-major order."""
    if isinstance(values, list):
        for item in values:
            yield from iterate_leaves(item)
    else:
        yield values


def parse_array(values: Any, dtype: str | None = None) -> Array:
    """Published numbers (nested lists; what is no number as a string, complex as parts) as an array."""
    found = [_number(value) for value in iterate_leaves(values)]
    shape = measure_shape(values)
    # A JSON number with a point is a float: a row that happens to hold whole ones is still one.
    made = np.array(found, dtype=dtype) if found else np.zeros(0, dtype=dtype or "float64")
    return made.reshape(shape)


def measure_shape(values: Any) -> tuple[int, ...]:
    """The shape of nested lists."""
    shape: list[int] = []
    while isinstance(values, list):
        shape.append(len(values))
        if not values:
            break
        values = values[0]
    return tuple(shape)


def _number(value: Any) -> Any:
    if isinstance(value, dict):
        return complex(float(value["re"]), float(value["im"]))
    return float(value) if isinstance(value, str) else value


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else "Infinity"
