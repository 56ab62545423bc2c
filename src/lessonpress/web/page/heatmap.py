"""A matrix as a picture: teal above zero, rust below, zero the lightest, with its number or its sign in every cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

from markupsafe import Markup, escape

from lessonpress.web.page import numbers
from lessonpress.web.page.arrays import Grid
from lessonpress.web.page.numbers import Shown
from lessonpress.web.page.scales import Scale

_ZERO, _TEAL, _RUST, _NONE = (250, 247, 240), (9, 88, 82), (140, 52, 18), (150, 150, 150)
_LEVELS = 40  # steps of colour on each side of zero; neighbours differ by less than an eye notices
_PALE = 0.75  # beyond this part of a scale a cell is so dark that what stands in it is white
_LETTER = 6.3  # average width of a letter in an axis label, px
_LONGEST = 18  # letters of a label that a figure shows
_ROOM, _WIDEST, _TALL = 600, 56, 28  # px: a picture's width, a cell's with its number in it, and that cell's height
_COUNTED = 160  # the most cells that hold their numbers


@dataclass
class _Ink:
    """Path commands collected by colour, so that a thousand cells cost forty elements; numbers one by one."""

    fills: dict[str, list[str]] = field(default_factory=dict)
    marks: dict[str, list[str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def draw(self) -> str:
        fills = "".join(f'<path fill="{tone}" d="{"".join(parts)}"/>' for tone, parts in self.fills.items())
        marks = "".join(f'<path class="{tone}" d="{"".join(parts)}"/>' for tone, parts in self.marks.items())
        return fills + marks + "".join(self.texts)


@dataclass(frozen=True)
class _Frame:
    """Where things stand in the picture, px: the first cell's corner, a cell's width and height."""

    left: int
    top: int
    width: int
    height: int
    decimals: int | None  # of the numbers in the cells; None where the cells hold none
    upright: bool  # column labels are turned by a quarter because they are wider than a cell


def choose_colour(value: Shown, scale: Scale) -> str:
    """The colour of a value as `#rrggbb`: a straight line from the zero tone to teal or rust; grey if not finite."""
    number = numbers.to_finite(value)
    if number is None:
        return _to_hex(_NONE)
    share = round(scale.share(number) * _LEVELS) / _LEVELS
    end = _TEAL if number > 0 else _RUST
    return _to_hex([round(zero + (full - zero) * share) for zero, full in zip(_ZERO, end, strict=True)])


def draw(grid: Grid, *, scale: Scale, description: str) -> Markup:
    """The heatmap of a grid as SVG; `description` is its alternative text.

    `data-frame` holds left, top, a cell's width and height, and the decimals of the numbers in the cells where there
    are numbers: from it a script finds the cell under a pointer, and paints other numbers.
    """
    frame = _lay_out(grid, scale)
    ink = _Ink()
    for row, line in enumerate(grid.values):
        for column, value in enumerate(line):
            _paint_cell(ink, value, scale, frame, row, column)
    width = max(frame.left + frame.width * len(grid.columns.labels) + 2, round(len(_describe_axes(grid)) * _LETTER))
    height = frame.top + frame.height * len(grid.rows.labels) + 2
    measures = [frame.left, frame.top, frame.width, frame.height, *([] if frame.decimals is None else [frame.decimals])]
    return Markup(
        f'<svg class="heatmap" role="img" aria-label="{escape(description)}" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" data-frame="{" ".join(map(str, measures))}">'
        f"{_draw_labels(grid, frame)}{ink.draw()}</svg>"
    )


def draw_legend(scale: Scale) -> Markup:
    """The colour scale of a heatmap as a strip of swatches, from one of its ends to the other."""
    side, count = 22, 9 if scale.low < 0 < scale.high else 5
    ink, frame = _Ink(), _Frame(0, 0, side, side, None, upright=False)
    for at in range(count):
        number = scale.low + (scale.high - scale.low) * at / (count - 1)
        _paint_cell(ink, number if at * 2 + 1 != count or count == 5 else 0.0, scale, frame, 0, at)
    ends = f"{numbers.format_short(scale.low)} to {numbers.format_short(scale.high)}"
    width = side * count
    return Markup(
        f'<svg class="strip" role="img" aria-label="Colour scale from {ends}" viewBox="0 0 {width} {side}"'
        f' width="{width}" height="{side}">{ink.draw()}</svg>'
    )


def format_cell(value: Shown, decimals: int) -> str:
    """A number as a cell holds it: so many decimals, halves away from zero as JavaScript rounds them; zero is `0`."""
    number = numbers.to_finite(value)
    if number is None or isinstance(value, int) or number == 0:
        return numbers.format_exact(value) if number != 0 else "0"
    text = str(abs(Decimal(number)).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP))
    return f"−{text}" if number < 0 and float(text) else text


def choose_decimals(scale: Scale, *, columns: int, cells: int) -> int | None:
    """How many decimals the numbers in the cells have: three digits of the scale's end, or two; None if none fit."""
    most = max(-scale.low, scale.high)
    if not columns or cells > _COUNTED or not 1e-3 <= most < 1e5:
        return None
    power = math.floor(math.log10(most))
    for digits in (3, 2):
        decimals = max(0, digits - 1 - power)
        letters = len(f"{most:.{decimals}f}") + (scale.low < 0)
        if letters * _LETTER + 6 <= min(_WIDEST, _ROOM // columns):
            return decimals
    return None


def _paint_cell(ink: _Ink, value: Shown, scale: Scale, frame: _Frame, row: int, column: int) -> None:
    """Add one cell: its rectangle, and in it the number, or the sign that says the same without colour."""
    x, y = frame.left + column * frame.width, frame.top + row * frame.height
    width, height = frame.width - 1, frame.height - 1
    ink.fills.setdefault(choose_colour(value, scale), []).append(f"M{x} {y}h{width}v{height}h-{width}z")
    number = numbers.to_finite(value)
    pale = " pale" if number is not None and scale.share(number) > _PALE else ""
    middle = (x + width // 2, y + height // 2)
    if frame.decimals is not None:
        words = escape(format_cell(value, frame.decimals))
        ink.texts.append(f'<text class="cell{pale}" x="{middle[0]}" y="{middle[1] + 4}">{words}</text>')
        return
    reach = max(2, round(min(frame.width, frame.height) * 0.13))
    if number is None:
        span = 2 * reach
        cross = f"M{middle[0] - reach} {middle[1] - reach}l{span} {span}m0-{span}l-{span} {span}"
        ink.marks.setdefault("mark", []).append(cross)
    elif number:
        upright = f"m-{reach}-{reach}v{2 * reach}" if number > 0 else ""
        ink.marks.setdefault(f"mark{pale}", []).append(f"M{middle[0] - reach} {middle[1]}h{2 * reach}{upright}")


def _lay_out(grid: Grid, scale: Scale) -> _Frame:
    columns = len(grid.columns.labels)
    decimals = choose_decimals(scale, columns=columns, cells=columns * len(grid.rows.labels))
    side = max(12, min(40, _ROOM // max(1, columns)))
    width, height = (side, side) if decimals is None else (min(_WIDEST, _ROOM // columns), _TALL)
    widest = max((_measure(label) for label in grid.columns.labels), default=0)
    upright = widest > width - 4
    top = 24 + (round(widest) + 6 if upright else 16)
    left = 10 + round(max((_measure(label) for label in grid.rows.labels), default=0))
    return _Frame(left, top, width, height, decimals, upright)


def _describe_axes(grid: Grid) -> str:
    """Both axis names in a line above the picture."""
    return f"{_shorten(grid.rows.name, 40)} ↓ · {_shorten(grid.columns.name, 40)} →"


def _draw_labels(grid: Grid, frame: _Frame) -> str:
    """Axis names and position labels as SVG text."""
    half = frame.height // 2 + 4
    parts = [f'<text class="axis" x="0" y="12">{escape(_describe_axes(grid))}</text>']
    parts += [_draw_column_label(label, at, frame) for at, label in enumerate(grid.columns.labels)]
    parts += [
        f'<text text-anchor="end" x="{frame.left - 5}" y="{frame.top + at * frame.height + half}">'
        f"{escape(_shorten(label))}</text>"
        for at, label in enumerate(grid.rows.labels)
    ]
    return "".join(parts)


def _draw_column_label(label: str, at: int, frame: _Frame) -> str:
    x, y = frame.left + at * frame.width + frame.width // 2, frame.top - 5
    turned, flat = f'transform="translate({x + 4} {y})rotate(-90)"', f'text-anchor="middle" x="{x}" y="{y}"'
    return f"<text {turned if frame.upright else flat}>{escape(_shorten(label))}</text>"


def _shorten(label: str, most: int = _LONGEST) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _measure(label: str) -> float:
    return len(_shorten(label)) * _LETTER


def _to_hex(tone: Sequence[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in tone)
