"""Recorded arrays as tables: axes with names and labels, panels for further axes, a crop for what is too large."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ROWS, COLUMNS, PANELS = 48, 48, 8  # the most that a figure shows; the files of the revision hold the rest


@dataclass(frozen=True)
class Axis:
    """One axis of a figure: its name and the labels of the positions that are shown, `size` of them in all."""

    name: str
    labels: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Grid:
    """A two-axis array, as much of it as is shown: `values[row][column]`; `panel` names it among several."""

    rows: Axis
    columns: Axis
    values: tuple[tuple[Any, ...], ...]
    panel: str = ""

    def cropped(self) -> bool:
        """Whether the array has more rows or columns than are shown."""
        return self.rows.size > len(self.rows.labels) or self.columns.size > len(self.columns.labels)

    def cells(self) -> Iterator[tuple[str, str, Any]]:
        """Every shown cell as (row label, column label, value), row by row."""
        for row, line in zip(self.rows.labels, self.values, strict=True):
            for column, value in zip(self.columns.labels, line, strict=True):
                yield row, column, value


def make_axis(described: Mapping[str, Any] | None, *, fallback: str, size: int, most: int) -> Axis:
    """An axis of `size` positions from its description `{name, labels?}`; positions without a label count from 0."""
    described = described or {}
    given = [str(label) for label in described.get("labels") or ()]
    labels = [given[at] if at < len(given) else str(at) for at in range(min(size, most))]
    return Axis(str(described.get("name") or fallback), tuple(labels), size)


def make_grids(matrix: Mapping[str, Any]) -> list[Grid]:
    """The panels of a recorded matrix with values in memory: one for two axes, more where there are further axes.

    An array of one axis or none is shown as a single row.
    """
    values = read_values(matrix)
    extents = _extents(values)
    while len(extents) < 2:
        values, extents = [values], [1, *extents]
    return [
        _grid(matrix, table, _panel_name(matrix, place))
        for place, table in itertools.islice(_tables(values, extents[:-2]), PANELS)
    ]


def count_panels(matrix: Mapping[str, Any]) -> int:
    """How many panels a matrix has in all: the product of its leading axes."""
    count = 1
    for extent in _extents(read_values(matrix))[:-2]:
        count *= extent
    return count


def read_values(recorded: Mapping[str, Any]) -> Any:
    """A recorded array's nested lists; a complex number, recorded as a pair, becomes a tuple (real, imaginary)."""
    values = recorded["values"]
    return _paired(values) if str(recorded.get("dtype") or "").startswith("complex") else values


def flatten(values: Any) -> Iterator[Any]:
    """Every number of nested lists, in row-major order."""
    if isinstance(values, list):
        for value in values:
            yield from flatten(value)
    else:
        yield values


def _paired(values: Any) -> Any:
    if isinstance(values, list) and len(values) == 2 and not any(isinstance(part, list) for part in values):
        return tuple(values)
    return [_paired(value) for value in values] if isinstance(values, list) else values


def _panel_name(matrix: Mapping[str, Any], place: Sequence[int]) -> str:
    """A panel's place along the leading axes in words: `head 0, step 2`; an axis without a name is a panel's number."""
    described = matrix.get("panels") or []
    words = []
    for at, position in enumerate(place):
        told = described[at] if at < len(described) else {}
        label = make_axis(told, fallback="panel", size=position + 1, most=position + 1).labels[position]
        words.append(f"{told.get('name') or 'panel'} {label}")
    return ", ".join(words)


def _grid(matrix: Mapping[str, Any], table: Sequence[Sequence[Any]], panel: str) -> Grid:
    width = len(table[0]) if table else 0
    shown = tuple(tuple(line[:COLUMNS]) for line in table[:ROWS])
    rows = make_axis(matrix.get("rows"), fallback="row", size=len(table), most=ROWS)
    return Grid(rows, make_axis(matrix.get("columns"), fallback="column", size=width, most=COLUMNS), shown, panel)


def _tables(values: Any, leading: Sequence[int]) -> Iterable[tuple[tuple[int, ...], Any]]:
    """Each two-axis table of an array with its place along the leading axes."""
    for place in itertools.product(*(range(extent) for extent in leading)):
        table = values
        for position in place:
            table = table[position]
        yield place, table


def _extents(values: Any) -> list[int]:
    """The shape of nested lists; an empty list ends it."""
    extents = []
    while isinstance(values, list):
        extents.append(len(values))
        if not values:
            break
        values = values[0]
    return extents
