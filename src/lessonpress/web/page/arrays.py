"""Recorded arrays as tables: axes with names and labels, panels for further axes, a crop for what is too large."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessonpress.web.page.numbers import Shown

if TYPE_CHECKING:
    from lessonpress.lesson.records import Nested
    from lessonpress.revision.manifest_schema import Axis as AxisWords
    from lessonpress.revision.manifest_schema import PublishedArray


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
    values: tuple[tuple[Shown, ...], ...]
    panel: str = ""

    def is_cropped(self) -> bool:
        """Whether the array has more rows or columns than are shown."""
        return self.rows.size > len(self.rows.labels) or self.columns.size > len(self.columns.labels)

    def cells(self) -> Iterator[tuple[str, str, Shown]]:
        """Every shown cell as (row label, column label, value), row by row."""
        for row, line in zip(self.rows.labels, self.values, strict=True):
            for column, value in zip(self.columns.labels, line, strict=True):
                yield row, column, value


def make_axis(words: AxisWords | None, *, fallback: str, size: int, most: int) -> Axis:
    """An axis of `size` positions in the recipe's words for it; positions without a label count from 0."""
    given = [str(label) for label in (words and words.get("labels")) or ()]
    labels = [given[at] if at < len(given) else str(at) for at in range(min(size, most))]
    return Axis(str((words and words.get("name")) or fallback), tuple(labels), size)


def make_grids(
    values: Nested, *, rows: AxisWords | None = None, columns: AxisWords | None = None,
    panels: Sequence[AxisWords] | None = None,
) -> list[Grid]:  # fmt: skip
    """The panels of an array (`pair_complex` first, where it is complex): one for two axes, more for further axes.

    An array of one axis or none is shown as a single row. At most `PANELS` panels are made.
    """
    extents = _measure_extents(values)
    while len(extents) < 2:
        values, extents = [values], [1, *extents]
    return [
        _cut_grid(table, rows, columns, _panel_name(panels or (), place))
        for place, table in itertools.islice(_list_tables(values, extents[:-2]), PANELS)
    ]


def count_panels(values: Nested) -> int:
    """How many panels an array has in all: the product of its leading axes."""
    count = 1
    for extent in _measure_extents(values)[:-2]:
        count *= extent
    return count


def pair_complex(values: Nested, dtype: str | None) -> Nested:
    """An array's nested lists; a complex number, recorded as a list of two, becomes a tuple (real, imaginary)."""
    return _pair(values) if str(dtype or "").startswith("complex") else values


def list_numbers(recorded: PublishedArray) -> list[Shown]:
    """A recorded array's numbers in row-major order; none where they lie in a file."""
    values = recorded["values"]
    return [] if isinstance(values, dict) else list(flatten(pair_complex(values, recorded.get("dtype"))))


def flatten(values: Nested) -> Iterator[Shown]:
    """Every number of nested lists, in row-major order."""
    if isinstance(values, list):
        for value in values:
            yield from flatten(value)
    else:
        yield values


def _pair(values: Nested) -> Nested:
    if isinstance(values, list) and len(values) == 2 and not any(isinstance(part, list) for part in values):
        return tuple(values)
    return [_pair(value) for value in values] if isinstance(values, list) else values


def _panel_name(panels: Sequence[AxisWords], place: Sequence[int]) -> str:
    """A panel's place along the leading axes in words: `head 0, step 2`; an axis without a name is a panel's number."""
    words = []
    for at, position in enumerate(place):
        described = panels[at] if at < len(panels) else None
        axis = make_axis(described, fallback="panel", size=position + 1, most=position + 1)
        words.append(f"{axis.name} {axis.labels[position]}")
    return ", ".join(words)


def _cut_grid(
    table: Sequence[Sequence[Shown]], rows: AxisWords | None, columns: AxisWords | None, panel: str
) -> Grid:  # fmt: skip
    width = len(table[0]) if table else 0
    shown = tuple(tuple(line[:COLUMNS]) for line in table[:ROWS])
    vertical = make_axis(rows, fallback="row", size=len(table), most=ROWS)
    return Grid(vertical, make_axis(columns, fallback="column", size=width, most=COLUMNS), shown, panel)


def _list_tables(values: Nested, leading: Sequence[int]) -> Iterable[tuple[tuple[int, ...], Nested]]:
    """Each two-axis table of an array with its place along the leading axes."""
    for place in itertools.product(*(range(extent) for extent in leading)):
        table = values
        for position in place:
            table = table[position]
        yield place, table


def _measure_extents(values: Nested) -> list[int]:
    """The shape of nested lists; an empty list ends it."""
    extents = []
    while isinstance(values, list):
        extents.append(len(values))
        if not values:
            break
        values = values[0]
    return extents
