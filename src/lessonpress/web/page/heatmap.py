"""A matrix as a picture: teal above zero, rust below, zero the lightest, with a plus or a minus sign in every cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from lessonpress.web.page import numbers
from lessonpress.web.page.arrays import Grid
from lessonpress.web.page.numbers import Shown

_ZERO, _TEAL, _RUST, _NONE = (250, 247, 240), (9, 88, 82), (140, 52, 18), (150, 150, 150)
_LEVELS = 40  # steps of colour on each side of zero; neighbours differ by less than an eye notices
_LETTER = 6.3  # average width of a letter in an axis label, px
_LONGEST = 18  # letters of a label that a figure shows


@dataclass
class _Ink:
    """Path commands collected by colour, so that a thousand cells cost forty elements."""

    fills: dict[str, list[str]] = field(default_factory=dict)
    marks: dict[str, list[str]] = field(default_factory=dict)

    def paths(self) -> str:
        fills = "".join(f'<path fill="{tone}" d="{"".join(parts)}"/>' for tone, parts in self.fills.items())
        return fills + "".join(f'<path class="{tone}" d="{"".join(parts)}"/>' for tone, parts in self.marks.items())


@dataclass(frozen=True)
class _Frame:
    """Where things stand in the picture, px: the first cell's corner and the side of a cell."""

    left: int
    top: int
    cell: int
    upright: bool  # column labels are turned by a quarter because they are wider than a cell


def find_scale(values: Iterable[Shown]) -> float:
    """The largest magnitude among finite values, which gets the full colour; 0 where no value is finite."""
    return max((abs(number) for number in map(numbers.to_finite, values) if number is not None), default=0.0)


def choose_colour(value: Shown, largest: float) -> str:
    """The colour of a value as `#rrggbb`: a straight line from the zero tone to teal or rust; grey if not finite."""
    number = numbers.to_finite(value)
    if number is None:
        return _to_hex(_NONE)
    share = round(_compute_share(number, largest) * _LEVELS) / _LEVELS
    end = _TEAL if number > 0 else _RUST
    return _to_hex([round(zero + (full - zero) * share) for zero, full in zip(_ZERO, end, strict=True)])


def draw(grid: Grid, *, largest: float, description: str) -> Markup:
    """The heatmap of a grid as SVG; `largest` is the magnitude of the full colour, `description` its alternative text.

    `data-frame` holds left, top and cell side, from which a script finds the cell under a pointer.
    """
    frame = _lay_out(grid)
    ink = _Ink()
    for row, line in enumerate(grid.values):
        for column, value in enumerate(line):
            _paint_cell(ink, value, largest, frame.left + column * frame.cell, frame.top + row * frame.cell, frame.cell)
    width = max(frame.left + frame.cell * len(grid.columns.labels) + 2, round(len(_describe_axes(grid)) * _LETTER))
    height = frame.top + frame.cell * len(grid.rows.labels) + 2
    return Markup(
        f'<svg class="heatmap" role="img" aria-label="{escape(description)}" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" data-frame="{frame.left} {frame.top} {frame.cell}">'
        f"{_draw_labels(grid, frame)}{ink.paths()}</svg>"
    )


def draw_legend(largest: float, *, lowest: float) -> Markup:
    """The colour scale of a heatmap as a strip of swatches, from the negative side only where values are negative."""
    ink, side = _Ink(), 22
    steps = [step / 4 for step in range(-4 if lowest < 0 else 0, 5)]
    for at, step in enumerate(steps):
        _paint_cell(ink, step, 1.0, at * side, 0, side)
    ends = f"{numbers.format_short(-largest) if lowest < 0 else '0'} to {numbers.format_short(largest)}"
    width = side * len(steps)
    return Markup(
        f'<svg class="strip" role="img" aria-label="Colour scale from {ends}" viewBox="0 0 {width} {side}"'
        f' width="{width}" height="{side}">{ink.paths()}</svg>'
    )


def _paint_cell(ink: _Ink, value: Shown, largest: float, x: int, y: int, cell: int) -> None:
    """Add one cell: its square, and the sign that says the same without colour."""
    side = cell - 1
    ink.fills.setdefault(choose_colour(value, largest), []).append(f"M{x} {y}h{side}v{side}h-{side}z")
    number = numbers.to_finite(value)
    reach = max(2, round(cell * 0.13))
    middle = (x + side // 2, y + side // 2)
    tone = "mark pale" if number is not None and _compute_share(number, largest) > 0.5 else "mark"
    if number is None:
        span = 2 * reach
        cross = f"M{middle[0] - reach} {middle[1] - reach}l{span} {span}m0-{span}l-{span} {span}"
        ink.marks.setdefault("mark", []).append(cross)
    elif number:
        upright = f"m-{reach}-{reach}v{2 * reach}" if number > 0 else ""
        ink.marks.setdefault(tone, []).append(f"M{middle[0] - reach} {middle[1]}h{2 * reach}{upright}")


def _compute_share(number: float, largest: float) -> float:
    """A value's part of the full scale, 0 to 1; divided by halves, since the largest float64 has no double."""
    return min(1.0, abs(number) / largest) if largest else 0.0


def _lay_out(grid: Grid) -> _Frame:
    cell = max(12, min(40, 600 // max(1, len(grid.columns.labels))))
    widest = max((_measure(label) for label in grid.columns.labels), default=0)
    upright = widest > cell - 4
    top = 24 + (round(widest) + 6 if upright else 16)
    left = 10 + round(max((_measure(label) for label in grid.rows.labels), default=0))
    return _Frame(left, top, cell, upright)


def _describe_axes(grid: Grid) -> str:
    """Both axis names in a line above the picture."""
    return f"{_shorten(grid.rows.name, 40)} ↓ · {_shorten(grid.columns.name, 40)} →"


def _draw_labels(grid: Grid, frame: _Frame) -> str:
    """Axis names and position labels as SVG text."""
    half = frame.cell // 2 + 4
    parts = [f'<text class="axis" x="0" y="12">{escape(_describe_axes(grid))}</text>']
    parts += [_draw_column_label(label, at, frame) for at, label in enumerate(grid.columns.labels)]
    parts += [
        f'<text text-anchor="end" x="{frame.left - 5}" y="{frame.top + at * frame.cell + half}">'
        f"{escape(_shorten(label))}</text>"
        for at, label in enumerate(grid.rows.labels)
    ]
    return "".join(parts)


def _draw_column_label(label: str, at: int, frame: _Frame) -> str:
    x, y = frame.left + at * frame.cell + frame.cell // 2, frame.top - 5
    turned, flat = f'transform="translate({x + 4} {y})rotate(-90)"', f'text-anchor="middle" x="{x}" y="{y}"'
    return f"<text {turned if frame.upright else flat}>{escape(_shorten(label))}</text>"


def _shorten(label: str, most: int = _LONGEST) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _measure(label: str) -> float:
    return len(_shorten(label)) * _LETTER


def _to_hex(tone: Sequence[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in tone)
