"""Two sets of numbers side by side: how far apart they are, in ulp and against a tolerance, and where.

An ulp is a unit in the last place: the step from one floating-point number to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lessonpress.lesson.records import Nested, Real

Array = NDArray[Any]
COUNTED = 1_000_000  # ulp
UNSIGNED: Mapping[int, type[np.unsignedinteger[Any]]] = {2: np.uint16, 4: np.uint32, 8: np.uint64}


class GapDocument(TypedDict):
    """A gap as plain data."""

    name: str
    place: list[int]
    old: str
    new: str
    absolute: Real
    ulp: int | None
    cells: int
    good: bool


class ComparisonDocument(TypedDict):
    """A comparison as plain data."""

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
                "absolute": _encode_number(self.absolute), "ulp": self.ulp, "cells": self.cells,
                "good": self.good}  # fmt: skip


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
        parts = [f"{len(self.gaps)} of {self.arrays} arrays"] if self.gaps else []
        parts += [f"{len(self.added)} added"] if self.added else []
        parts += [f"{len(self.removed)} removed"] if self.removed else []
        worst = self.worst()
        return ", ".join([*parts, f"largest {worst.words()}"] if worst else parts) or f"none of {self.arrays} arrays"

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
    return Comparison(len(both), tuple(gap for gap in gaps if gap is not None), added, removed)


def compare_arrays(name: str, old: Array, new: Array, *, atol: float, rtol: float) -> Gap | None:
    """The worst difference between two arrays, or None when they hold the same numbers in the same shape."""
    if old.shape != new.shape or old.dtype.kind != new.dtype.kind:
        kinds = [f"{list(a.shape)} {a.dtype}" for a in (old, new)]
        return Gap(name, (), kinds[0], kinds[1], float("inf"), None, float("inf"), max(old.size, new.size), False)
    differs = ~_are_same(old, new)
    if not differs.any():
        return None
    away, share = _measure_distance(old, new, atol, rtol)
    place = tuple(int(i) for i in np.unravel_index(int(np.where(differs, share, -1.0).argmax()), share.shape))
    return Gap(name, place, repr(old[place].item()), repr(new[place].item()), float(away[place]),
               count_ulps(old[place], new[place]), float(share[place]), int(differs.sum()),
               bool((share[differs] <= 1.0).all()))  # fmt: skip


def _are_same(old: Array, new: Array) -> NDArray[np.bool_]:
    equal = old == new
    if old.dtype.kind in "fc":
        equal = equal | (np.isnan(old) & np.isnan(new))
    return np.asarray(equal, dtype=np.bool_)


def _measure_distance(
    old: Array, new: Array, atol: float, rtol: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each number's |new − old|, and that as a share of what is allowed (infinite where nothing is)."""
    if old.dtype.kind not in "fc":
        away = np.abs(new.astype(np.float64) - old.astype(np.float64))
        return away, np.where(_are_same(old, new), 0.0, np.inf)
    wide = np.complex128 if old.dtype.kind == "c" else np.float64
    a, b = old.astype(wide), new.astype(wide)
    with np.errstate(all="ignore"):
        away = np.nan_to_num(np.where(_are_same(old, new), 0.0, np.abs(b - a)), nan=np.inf, posinf=np.inf)
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
    return abs(_rank_float(old) - _rank_float(new))


def _rank_float(value: Array) -> int:
    """A float's place in the order of all floats of its dtype; 0 for both zeros."""
    size = value.dtype.itemsize
    bits = int(value.reshape(1).view(UNSIGNED[size])[0])
    sign = 1 << (8 * size - 1)
    return bits if bits < sign else sign - bits


def iterate_leaves(values: Nested) -> Iterator[Any]:
    """The leaves of nested lists, in row-major order."""
    if isinstance(values, list):
        for item in values:
            yield from iterate_leaves(item)
    else:
        yield values


def parse_array(values: Nested, dtype: str | None = None) -> Array:
    """Published numbers (nested lists; what is not finite as a string, complex as parts) as an array."""
    numbers = [_parse_number(value) for value in iterate_leaves(values)]
    shape = measure_shape(values)
    # A JSON number with a point is a float: a row that happens to hold whole ones is still one.
    flat = np.array(numbers, dtype=dtype) if numbers else np.zeros(0, dtype=dtype or "float64")
    return flat.reshape(shape)


def measure_shape(values: Nested) -> tuple[int, ...]:
    """The shape of nested lists."""
    shape: list[int] = []
    while isinstance(values, list):
        shape.append(len(values))
        if not values:
            break
        values = values[0]
    return tuple(shape)


def _parse_number(value: Any) -> Any:
    if isinstance(value, dict):
        return complex(float(value["re"]), float(value["im"]))
    return float(value) if isinstance(value, str) else value


def _encode_number(value: float) -> Real:
    return value if np.isfinite(value) else "Infinity"
