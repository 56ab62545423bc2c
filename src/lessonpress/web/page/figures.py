"""The figures of one case: heatmaps with their tables, bars on one scale, and the words that replace them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from lessonpress.web import prose
from lessonpress.web.page import arrays, heatmap, numbers
from lessonpress.web.page.arrays import Axis, Grid
from lessonpress.web.page.numbers import Shown

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
    """One value of a vector: its label, the value as shown, and its rectangle on the case's scale, in percent."""

    label: str
    value: str
    x: float
    width: float
    sign: str


@dataclass(frozen=True)
class Vector:
    """A recorded vector as bars; `zero` is where zero stands on the scale that all vectors of the case share."""

    id: str
    key: str
    label: Markup
    axis: Axis
    zero: float
    bars: tuple[Bar, ...]
    file: str
    file_note: str
    sample: str
    same: bool


def make_matrix(recorded: PublishedArray, *, key: str) -> Matrix:
    """A recorded matrix ready to be shown; `key` finds its values in the page's data."""
    name = recorded.get("label") or recorded.get("id") or "Matrix"
    label, values = Markup(prose.to_inline(name)), recorded["values"]
    if isinstance(values, dict):
        return Matrix(str(recorded.get("id", "")), label, "", None, (), *_describe_file(values))
    finite = [number for number in map(numbers.to_finite, _list_numbers(recorded)) if number is not None]
    largest = heatmap.find_scale(finite)
    shown = make_grids(recorded)
    hidden = arrays.count_panels(arrays.pair_complex(values, recorded.get("dtype"))) - len(shown)
    note = f"The first {len(shown)} of {len(shown) + hidden} panels are shown." if hidden else ""
    panels = tuple(
        _make_panel(grid, key=key if len(shown) == 1 else f"{key}/{at}", largest=largest, label=prose.to_text(name))
        for at, grid in enumerate(shown)
    )
    legend = heatmap.draw_legend(largest, lowest=min(finite)) if largest else None
    return Matrix(str(recorded.get("id", "")), label, _describe_range(finite), legend, panels, "", note, "")


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
    recorded: Sequence[PublishedArray], *, keys: Sequence[str], same: Sequence[bool]
) -> tuple[Vector, ...]:  # fmt: skip
    """The vectors of one case as bars that share one scale, from the smallest to the largest value (and zero)."""
    kept = [_list_numbers(each) for each in recorded]
    finite = [number for number in map(numbers.to_finite, (v for one in kept for v in one)) if number is not None]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    return tuple(
        _make_vector(each, values, key=key, same=alike, low=low, high=high)
        for each, values, key, alike in zip(recorded, kept, keys, same, strict=True)
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


def _make_panel(grid: Grid, *, key: str, largest: float, label: str) -> Panel:
    table = tuple(
        (row, tuple(map(numbers.format_short, line))) for row, line in zip(grid.rows.labels, grid.values, strict=True)
    )
    empty = not any(grid.values)
    spoken = describe_grid(grid, f"{label}, {grid.panel}" if grid.panel else label)
    drawable = any(numbers.to_finite(value) is not None for _, _, value in grid.cells())
    picture = None if not drawable else heatmap.draw(grid, largest=largest, description=spoken)
    note = "There are no values: an axis has length 0." if empty else ""
    if grid.is_cropped():
        note = (
            f"The first {len(grid.rows.labels)} by {len(grid.columns.labels)} of {grid.rows.size} by"
            f" {grid.columns.size} values are shown; cases.csv has them all."
        )
    return Panel(key, grid.panel, grid, table, picture, note)


def _list_numbers(recorded: PublishedArray) -> list[Shown]:
    """A recorded array's numbers in row-major order; none where they lie in a file."""
    values = recorded["values"]
    if isinstance(values, dict):
        return []
    return list(arrays.flatten(arrays.pair_complex(values, recorded.get("dtype"))))


def _make_vector(
    recorded: PublishedArray, values: Sequence[Shown], *, key: str, same: bool, low: float, high: float
) -> Vector:  # fmt: skip
    label = Markup(prose.to_inline(recorded.get("label") or recorded.get("id") or "Vector"))
    axis = arrays.make_axis(recorded.get("axis"), fallback="position", size=len(values), most=arrays.ROWS)
    bars = tuple(_make_bar(name, value, low, high) for name, value in zip(axis.labels, values, strict=False))
    given = recorded["values"]
    place = _describe_file(given) if isinstance(given, dict) else ("", "", "")
    if axis.size > len(axis.labels):
        place = ("", f"The first {len(axis.labels)} of {axis.size} values are shown; cases.csv has them all.", "")
    return Vector(str(recorded.get("id", "")), key, label, axis, _to_percent(0.0, low, high), bars, *place, same)


def _make_bar(label: str, value: Shown, low: float, high: float) -> Bar:
    number = numbers.to_finite(value) or 0.0
    start, end = sorted((_to_percent(0.0, low, high), _to_percent(number, low, high)))
    sign = "above" if number > 0 else "below" if number < 0 else "at"
    return Bar(label, numbers.format_short(value), start, round(end - start, 2), sign)


def _to_percent(number: float, low: float, high: float) -> float:
    """Where a number stands on the scale, in percent; halved before subtracting, so that extremes do not overflow."""
    span = high / 2 - low / 2
    return round(100 * ((number / 2 - low / 2) / span), 2) if span else 0.0


def _describe_range(finite: Sequence[float]) -> str:
    """The scale of the colours and the extremes, as the script writes them too."""
    if not finite:
        return ""
    least, most = min(finite), max(finite)
    low, high, full = (numbers.format_short(value) for value in (least, most, heatmap.find_scale(finite)))
    return f"Scale {f'−{full}' if least < 0 else '0'} to {full} · Min {low} · Max {high}"


def _describe_cell(cell: tuple[str, str, float], grid: Grid) -> str:
    return f"{numbers.format_short(cell[2])} at {grid.rows.name} {cell[0]}, {grid.columns.name} {cell[1]}"


def _describe_file(values: ArrayFile) -> tuple[str, str, str]:
    """File, words about it and a sample, for an array that is too large for a page."""
    sample = arrays.flatten(values.get("sample") or [])
    shape = numbers.format_shape(values.get("shape") or [])
    shown = ", ".join(numbers.format_short(value) for value, _ in zip(sample, range(24), strict=False))
    return str(values.get("file", "")), f"An array of shape {shape}, kept in a file of its own.", shown
