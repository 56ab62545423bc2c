"""What a page's scripts read, as types: the one JSON block of a lesson's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired, TypeAlias, TypedDict

if TYPE_CHECKING:
    from lessonpress.replay.operations.interpreter import ProgramDocument
    from lessonpress.web.page.numbers import Shown

# A stretch of a source file: its file's anchor, first and last line; for a call also its column and end column.
Stretch: TypeAlias = tuple[str, int, int] | tuple[str, int, int, int, int]
# An array: dtype, shape, and its numbers: a list, or base64 of their bytes (`program.pack`).
PackedArray: TypeAlias = tuple[str, list[int], str | list[int]]


class LiveCase(TypedDict):
    """The arrays with which a case runs, by name: its inputs, and the weights that differ from the common ones."""

    inputs: dict[str, PackedArray]
    tensors: dict[str, PackedArray]
    way: NotRequired[int]  # which of the programs is its own, where it is not the first


class LiveFigure(TypedDict):
    """Which elements of which of the program's ports a figure shows: from place `at` on, or those at all its places."""

    ports: list[str]
    shape: list[int]
    at: int | list[int]


class LiveMetric(TypedDict):
    """A statistic of a figure, which is named by its kind and place."""

    statistic: str
    figure: tuple[Literal["matrices", "vectors"], int]


class LiveControl(TypedDict):
    """The inputs that a reader may move first, and how far."""

    inputs: list[str]
    label: str
    range: list[int | float] | None


class LiveWay(TypedDict):
    """A program of one case or several, and where it computes the figures; one that only the record has is None."""

    program: ProgramDocument
    matrices: list[LiveFigure | None]
    vectors: list[LiveFigure | None]
    modules: dict[str, list[str]]  # by container the ports of what it gave


class Live(LiveWay):
    """The program that a page runs itself, and its numbers; where cases ran otherwise, theirs stand under `ways`."""

    families: dict[str, str]  # by operation
    tensors: dict[str, PackedArray]
    cases: dict[str, LiveCase]
    metrics: list[LiveMetric | None]
    control: LiveControl | None
    ways: NotRequired[list[LiveWay]]


class PageData(TypedDict):
    """Everything that the scripts of a lesson's page read."""

    slug: str
    near: tuple[float, float] | list[float]  # absolute and relative: numbers nearer than this are the same
    scales: dict[str, list[float]]  # by figure, as `matrices/0`: the ends of its scale
    figures: dict[str, list[list[Shown]]]
    metrics: dict[str, list[Shown]]
    records: dict[str, list[str]]  # by node the figures that were recorded there, as `matrices/0`
    places: dict[str, list[Stretch]]  # by node
    parents: dict[str, str]  # by node, where its id does not say it
    live: Live | None
