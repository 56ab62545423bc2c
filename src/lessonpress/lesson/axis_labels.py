"""Whether the labels of a recorded array's axes are as many as its places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lessonpress.core.errors import LessonError
from lessonpress.core.source_map import Path
from lessonpress.lesson.reader import Lesson
from lessonpress.lesson.recipe import Axis, Matrix, Recorded, Vector


def find_surplus(read: Lesson, place: Path, entry: Recorded, shape: Sequence[int]) -> Iterator[LessonError]:
    """Every axis of an array of `shape` that has more labels than places, at the recipe's line: some name nothing."""
    for key, labels, size in _labelled(entry, shape):
        if len(labels) > size:
            yield _count_error(read, (*place, *key, "labels"), len(labels), size, shape)


def find_missing(read: Lesson, place: Path, entry: Recorded, shape: Sequence[int]) -> Iterator[LessonError]:
    """Every axis that has labels, but fewer than places: the rest are counted, which is allowed and seldom meant."""
    for key, labels, size in _labelled(entry, shape):
        if len(labels) < size:
            yield _count_error(read, (*place, *key, "labels"), len(labels), size, shape)


def _count_error(read: Lesson, place: Path, count: int, size: int, shape: Sequence[int]) -> LessonError:
    expected = f"the axis has {size} place{'' if size == 1 else 's'}, the array the shape {list(shape)}"
    return read.error(place, f"{count} label{'' if count == 1 else 's'} given", expected, "Label every place, or none.")


def _labelled(entry: Recorded, shape: Sequence[int]) -> Iterator[tuple[Path, list[str], int]]:
    """Each axis that has labels: its key, the labels, and how many places it really has."""
    for key, axis, size in _axes(entry, shape):
        if axis and axis.labels is not None:
            yield key, axis.labels, size


def _axes(entry: Recorded, shape: Sequence[int]) -> Iterator[tuple[Path, Axis | None, int]]:
    if isinstance(entry, Vector) and len(shape) == 1:
        yield ("axis",), entry.axis, shape[0]
    if isinstance(entry, Matrix) and len(shape) >= 2:
        yield ("rows",), entry.rows, shape[-2]
        yield ("columns",), entry.columns, shape[-1]
        yield from ((("panels", i), axis, shape[i]) for i, axis in enumerate((entry.panels or [])[: len(shape) - 2]))
