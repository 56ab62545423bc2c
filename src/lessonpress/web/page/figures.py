"""The figures of one case: heatmaps with their tables, bars, each on its scale, and the words that replace them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from lessonpress.web import prose
from lessonpress.web.page import arrays, heatmap, numbers
from lessonpress.web.page.arrays import Axis, Grid
from lessonpress.web.page.numbers import Shown
from lessonpress.web.page.scales import Scale

if TYPE_CHECKING:
    from lessonpress.revision.manifest_schema import ArrayFile, PublishedArray


@dataclass(frozen=True)
class Panel:
    """One heatmap with its value table. `key` finds its full-precision values in the page's data."""

    key: str
    name: str
    grid: Grid
    table: tuple[tuple[str, tuple[str, ...]], ...]  # (row label, shown values)
    picture: Markup | None
    note: str


@dataclass(frozen=True)
class Matrix:
    """A recorded matrix: its panels, its range in words, and where the whole of it is when it is only sampled."""

    id: str
    label: Markup
    range: str
    legend: Markup | None
    panels: tuple[Panel, ...]
    file: str
    file_note: str
    sample: str


@dataclass(frozen=True)
class Bar:
    """One value of a vector: its label, the value as shown, and its rectangle on the figure's scale, in percent."""

    label: str
    value: str
    x: float
    width: float
    sign: str


@dataclass(frozen=True)
class Vector:
    """A recorded vector as bars; `zero` is where zero stands on its scale, whose `ends` are written above it."""

    id: str
    key: str
    label: Markup
    axis: Axis
    zero: float
    ends: tuple[str, str]
    unit: str
    bars: tuple[Bar, ...]
    file: str
    file_note: str
    sample: str
    same: bool


_UNKNOWN = Scale(0.0, 0.0)  # of a figure without a finite number


def make_matrix(recorded: PublishedArray, *, key: str, scale: Scale | None = None) -> Matrix:
    """A recorded matrix ready to be shown on its scale; `key` finds its values in the page's data."""
    name = recorded.get("label") or recorded.get("id") or "Matrix"
    label, values = Markup(prose.to_inline(name)), recorded["values"]
    if isinstance(values, dict):
        return Matrix(str(recorded.get("id", "")), label, "", None, (), *_describe_file(values))
    finite = [number for number in map(numbers.to_finite, arrays.list_numbers(recorded)) if number is not None]
    scale = scale or _UNKNOWN
    shown = make_grids(recorded)
    hidden = arrays.count_panels(arrays.pair_complex(values, recorded.get("dtype"))) - len(shown)
    note = f"The first {len(shown)} of {len(shown) + hidden} panels are shown." if hidden else ""
    panels = tuple(
        _make_panel(grid, key=key if len(shown) == 1 else f"{key}/{at}", scale=scale, label=prose.to_text(name))
        for at, grid in enumerate(shown)
    )
    legend = heatmap.draw_legend(scale) if scale.low < scale.high else None
    words = _describe_range(finite, scale, recorded.get("unit") or "")
    return Matrix(str(recorded.get("id", "")), label, words, legend, panels, "", note, "")


def make_grids(recorded: PublishedArray) -> list[Grid]:
    """The panels of a recorded matrix; none where its values lie in a file."""
    values = recorded["values"]
    if isinstance(values, dict):
        return []
    return arrays.make_grids(
        arrays.pair_complex(values, recorded.get("dtype")), rows=recorded.get("rows"),
        columns=recorded.get("columns"), panels=recorded.get("panels"),
    )  # fmt: skip


def make_vectors(
    recorded: Sequence[PublishedArray], *, keys: Sequence[str], same: Sequence[bool], scales: Mapping[str, Scale]
) -> tuple[Vector, ...]:  # fmt: skip
    """The vectors of one case as bars, each on its figure's scale; `scales` has them by kind and place."""
    return tuple(
        _make_vector(each, key=key, same=alike, scale=scales.get(key.partition("/")[2]) or _UNKNOWN)
        for each, key, alike in zip(recorded, keys, same, strict=True)
    )


def describe_grid(grid: Grid, label: str) -> str:
    """A heatmap in words: its size, where its extremes are and how many cells are above, below and at zero."""
    numbered = ((row, column, numbers.to_finite(value)) for row, column, value in grid.cells())
    cells = [(row, column, number) for row, column, number in numbered if number is not None]
    extent = f"{label}: {grid.rows.size} by {grid.columns.size} ({grid.rows.name} by {grid.columns.name})."
    if not cells:
        return f"{extent} No finite values."
    lowest, highest = min(cells, key=lambda cell: cell[2]), max(cells, key=lambda cell: cell[2])
    signs = (sum(c[2] > 0 for c in cells), sum(c[2] < 0 for c in cells), sum(c[2] == 0 for c in cells))
    counted = f" {signs[0]} positive, {signs[1]} negative, {signs[2]} zero."
    return f"{extent} Smallest {_describe_cell(lowest, grid)}; largest {_describe_cell(highest, grid)}.{counted}"


def describe_extremes(grid: Grid) -> str:
    """Where the largest and the smallest number of a matrix stand, in a sentence; nothing where all are alike.

    templates/script/hero.js says the same of numbers that a reader makes.
    """
    rows = f"{grid.rows.name} {{0}}, " if grid.rows.size > 1 else ""
    return _say([(rows.format(row) + f"{grid.columns.name} {column}", value) for row, column, value in grid.cells()])


def describe_bars(axis: Axis, values: Sequence[Shown]) -> str:
    """Where the largest and the smallest number of a vector stand, in a sentence."""
    return _say([(f"{axis.name} {label}", value) for label, value in zip(axis.labels, values, strict=False)])


def _say(cells: Sequence[tuple[str, Shown]]) -> str:
    known = [(place, number) for place, value in cells if (number := numbers.to_finite(value)) is not None]
    if len(known) < 2:
        return ""
    least, most = min(known, key=lambda cell: cell[1]), max(known, key=lambda cell: cell[1])
    if least[1] == most[1]:
        return f"All are {numbers.format_short(most[1])}."
    return (f"Most at {most[0]}: {numbers.format_short(most[1])}."
            f" Least at {least[0]}: {numbers.format_short(least[1])}.")  # fmt: skip


def _make_panel(grid: Grid, *, key: str, scale: Scale, label: str) -> Panel:
    table = tuple(
        (row, tuple(map(numbers.format_short, line))) for row, line in zip(grid.rows.labels, grid.values, strict=True)
    )
    empty = not any(grid.values)
    spoken = describe_grid(grid, f"{label}, {grid.panel}" if grid.panel else label)
    drawable = any(numbers.to_finite(value) is not None for _, _, value in grid.cells())
    picture = None if not drawable else heatmap.draw(grid, scale=scale, description=spoken)
    note = "There are no values: an axis has length 0." if empty else ""
    if grid.is_cropped():
        note = (
            f"The first {len(grid.rows.labels)} by {len(grid.columns.labels)} of {grid.rows.size} by"
            f" {grid.columns.size} values are shown; cases.csv has them all."
        )
    return Panel(key, grid.panel, grid, table, picture, note)


def _make_vector(recorded: PublishedArray, *, key: str, same: bool, scale: Scale) -> Vector:
    label = Markup(prose.to_inline(recorded.get("label") or recorded.get("id") or "Vector"))
    values = arrays.list_numbers(recorded)
    axis = arrays.make_axis(recorded.get("axis"), fallback="position", size=len(values), most=arrays.ROWS)
    bars = tuple(_make_bar(name, value, scale) for name, value in zip(axis.labels, values, strict=False))
    given = recorded["values"]
    place = _describe_file(given) if isinstance(given, dict) else ("", "", "")
    if axis.size > len(axis.labels):
        place = ("", f"The first {len(axis.labels)} of {axis.size} values are shown; cases.csv has them all.", "")
    ends = numbers.format_short(scale.low), numbers.format_short(scale.high)
    return Vector(str(recorded.get("id", "")), key, label, axis, _to_percent(0.0, scale), ends,
                  recorded.get("unit") or "", bars, *place, same)  # fmt: skip


def _make_bar(label: str, value: Shown, scale: Scale) -> Bar:
    number = numbers.to_finite(value) or 0.0
    start, end = sorted((_to_percent(0.0, scale), _to_percent(number, scale)))
    sign = "above" if number > 0 else "below" if number < 0 else "at"
    return Bar(label, numbers.format_short(value), start, round(end - start, 2), sign)


def _to_percent(number: float, scale: Scale) -> float:
    """Where a number stands on the scale, in percent, at most at its ends.

    Halved before subtracting, so that extremes do not overflow.
    """
    span = scale.high / 2 - scale.low / 2
    return round(100 * min(1.0, max(0.0, (number / 2 - scale.low / 2) / span)), 2) if span else 0.0


def _describe_range(finite: Sequence[float], scale: Scale, unit: str) -> str:
    """The scale of the colours and the extremes, as the script writes them too."""
    if not finite:
        return ""
    low, high = (numbers.format_short(value).replace("-", "−") for value in (scale.low, scale.high))
    least, most = (numbers.format_short(value) for value in (min(finite), max(finite)))
    return f"Scale {low} to {high}{f' {unit}' if unit else ''} · Min {least} · Max {most}"


def _describe_cell(cell: tuple[str, str, float], grid: Grid) -> str:
    return f"{numbers.format_short(cell[2])} at {grid.rows.name} {cell[0]}, {grid.columns.name} {cell[1]}"


def _describe_file(values: ArrayFile) -> tuple[str, str, str]:
    """File, words about it and a sample, for an array that is too large for a page."""
    sample = arrays.flatten(values.get("sample") or [])
    shape = numbers.format_shape(values.get("shape") or [])
    shown = ", ".join(numbers.format_short(value) for value, _ in zip(sample, range(24), strict=False))
    return str(values.get("file", "")), f"An array of shape {shape}, kept in a file of its own.", shown
