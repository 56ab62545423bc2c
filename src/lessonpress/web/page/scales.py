"""One scale for a figure, the same in every case and while a reader moves the inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lessonpress.replay import operations
from lessonpress.web.page import arrays, numbers, program

if TYPE_CHECKING:
    from lessonpress.lesson.recipe import Recorded
    from lessonpress.replay.replay import Replayed
    from lessonpress.revision.manifest_schema import PublishedArray, PublishedCase
    from lessonpress.web.page.page_data import Live, LiveFigure

Reach: TypeAlias = Mapping[str, tuple[float, float]]  # by figure, as `matrices/0`: its smallest and largest number
_STEPS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)  # a scale ends at one of these, times a power of ten
_SLACK = 1e-9  # a number above its step by less is that number, computed by another machine
_MOVES = 5  # values at which the control is tried, from one end of its range to the other
_WIDER = 2.0  # the most by which the control's range widens the scale of the record
_NARROW = 0.35  # numbers of one sign that differ by less than this part get a scale of their own, without zero


@dataclass(frozen=True)
class Scale:
    """The ends of a figure's scale. Zero is on it, but where all numbers are near each other and far from zero."""

    low: float
    high: float

    @property
    def has_zero(self) -> bool:
        """Whether zero is on the scale; else its lightest colour is the end nearer to zero."""
        return self.low <= 0 <= self.high

    def share(self, number: float) -> float:
        """How strongly a number is coloured, from 0 to 1; what lies beyond the scale as its end."""
        if self.has_zero:
            most = max(-self.low, self.high)
            return min(1.0, abs(number) / most) if most else 0.0
        near, far = (self.low, self.high) if self.low > 0 else (self.high, self.low)
        return min(1.0, max(0.0, (number - near) / (far - near)))


def choose_scales(
    cases: Sequence[PublishedCase], reach: Reach, record: Sequence[tuple[str, Recorded]]
) -> dict[str, Scale]:  # fmt: skip
    """The scale of each figure, by its key (`matrices/0`): over all cases, and over what the control makes of it.

    A recipe's `range` is taken as it is, and `same_scale_as` joins the numbers of two figures.
    """
    spans = _measure_cases(cases)
    wishes = dict(record)
    names = {entry.id: key for key, entry in record}
    # By each figure the one whose scale it has: its own, unless the recipe says otherwise.
    leaders = {key: names.get(wishes[key].same_scale_as or "", key) if key in wishes else key for key in spans}
    chosen: dict[str, Scale] = {}
    for key, leader in leaders.items():
        group = [each for each in spans if each == leader or leaders[each] == leader]
        span = _join(spans[each] for each in group)
        wide = _join([span, *(reach[each] for each in group if each in reach)]) if span else None
        ranged = wishes[leader].range if leader in wishes else None
        if ranged:
            chosen[key] = Scale(float(ranged[0]), float(ranged[1]))
        elif span and wide:
            chosen[key] = make_scale(span, wide, bars=key.startswith("vectors"))
    return chosen


def make_scale(span: tuple[float, float], wide: tuple[float, float], *, bars: bool = False) -> Scale:
    """A scale for recorded numbers of the range `span`, widened to `wide` but not without bounds.

    Bars begin at zero, so that theirs always has it.
    """
    low, high = span
    if not bars and low * high > 0 and wide[0] * wide[1] > 0:
        ends = sorted((abs(wide[0]), abs(wide[1])))
        if ends[1] - ends[0] < _NARROW * ends[1]:
            return _make_narrow(*wide)
    bound = _WIDER * max(-low, high)
    ends_low = -round_up(min(bound, max(-low, -wide[0]))) if min(low, wide[0]) < 0 else 0.0
    ends_high = round_up(min(bound, max(high, wide[1]))) if max(high, wide[1]) > 0 else 0.0
    if not bars and ends_low and ends_high:  # colours are equally strong on both sides of zero
        most = max(-ends_low, ends_high)
        return Scale(-most, most)
    return Scale(ends_low, ends_high)


def round_up(number: float) -> float:
    """The next number at which a scale may end: 0.23 gives 0.25."""
    if not 0 < number < 1e300:
        return number
    power = math.floor(math.log10(number))
    least = number * (1 - _SLACK)
    return next(end for step in (*_STEPS, 100.0) if (end := float(f"{step}e{power}")) >= least)


def _make_narrow(low: float, high: float) -> Scale:
    """A scale from a little below to a little above numbers that are near each other."""
    unit = 10.0 ** math.floor(math.log10(max(high - low, max(abs(low), abs(high)) * 1e-6)))
    digits = max(0, -math.floor(math.log10(unit)))
    ends = math.floor(low / unit + _SLACK) * unit, math.ceil(high / unit - _SLACK) * unit
    low_end, high_end = (round(end, digits) for end in ends)
    if low_end == high_end:
        high_end = round(high_end + unit, digits)
    return Scale(low_end, high_end) if low_end * high_end > 0 else Scale(min(0.0, low_end), max(0.0, high_end))


def _measure_cases(cases: Sequence[PublishedCase]) -> dict[str, tuple[float, float] | None]:
    """The smallest and largest number that was recorded of each figure, over all cases."""
    spans: dict[str, tuple[float, float] | None] = {}
    for case in cases:
        kinds: tuple[tuple[str, Sequence[PublishedArray]], ...]
        kinds = (("matrices", case.get("matrices") or []), ("vectors", case.get("vectors") or []))
        for kind, entries in kinds:
            for at, entry in enumerate(entries):
                finite = [number for number in map(numbers.to_finite, arrays.list_numbers(entry)) if number is not None]
                own = (min(finite), max(finite)) if finite else None
                spans[f"{kind}/{at}"] = _join([spans.get(f"{kind}/{at}"), own])
    return spans


def _join(spans: Iterable[tuple[float, float] | None]) -> tuple[float, float] | None:
    known = [span for span in spans if span]
    return (min(low for low, _ in known), max(high for _, high in known)) if known else None


def measure_reach(live: Live | None, replayed: Mapping[str, Replayed]) -> Reach:
    """How far each figure goes while all numbers of the control go from one end of its range to the other.

    A move that the program refuses is left out. Nothing where the page computes nothing, or has no control or no range.
    """
    control = live["control"] if live else None
    if live is None or not control or not control["range"]:
        return {}
    low, high = control["range"]
    reach: dict[str, tuple[float, float] | None] = {}
    for name, case in live["cases"].items():
        way = ([live, *live.get("ways", [])])[case.get("way", 0)]
        inputs = {path: operations.settle(program.unpack(packed)) for path, packed in case["inputs"].items()}
        tensors = {path: operations.settle(program.unpack(packed))
                   for path, packed in {**live["tensors"], **case["tensors"]}.items()}  # fmt: skip
        for value in np.linspace(low, high, _MOVES):
            moved = {path: np.full_like(inputs[path], value) for path in control["inputs"] if path in inputs}
            try:
                with np.errstate(all="ignore"):
                    values = operations.run_program(replayed[name].program, {**inputs, **moved}, tensors)
            except operations.Unsupported:
                continue
            for kind, figures in (("matrices", way["matrices"]), ("vectors", way["vectors"])):
                for at, figure in enumerate(figures):
                    key = f"{kind}/{at}"
                    reach[key] = _join([reach.get(key), _measure_figure(figure, values) if figure else None])
    return {key: span for key, span in reach.items() if span}


def _measure_figure(figure: LiveFigure, values: Mapping[str, operations.Array]) -> tuple[float, float] | None:
    flat = np.concatenate([values[port].ravel() for port in figure["ports"]])
    at = figure["at"]
    places = flat[at : at + math.prod(figure["shape"])] if isinstance(at, int) else flat[at]
    finite = places[np.isfinite(places)]
    return (float(finite.min()), float(finite.max())) if finite.size else None
