"""What is known of recorded arrays and inputs before a run: declared shapes, and inputs that hold NaN."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from lessonpress.core.errors import LessonError
from lessonpress.core.source_map import Path
from lessonpress.lesson import axis_labels, input_specs, plan
from lessonpress.lesson.reader import Lesson
from lessonpress.lesson.recipe import Recorded
from lessonpress.lesson.records import InputSpec
from lessonpress.worker import recorded

MOST = 1_000_000  # values of an input whose cut is tried: a new shape may need a copy


def find_mistakes(lesson: Lesson) -> Iterator[LessonError]:
    """Cuts that do not fit a declared shape, and labels that name no place of an axis."""
    for place, entry in _list_entries(lesson):
        try:
            for shape in _find_shapes(lesson, entry):
                yield from axis_labels.find_surplus(lesson, place, entry, shape)
        except (ValueError, IndexError) as error:
            yield lesson.error(place, f"{entry.tensor} cannot be cut so: {error}", "a part that is there")


def find_doubts(lesson: Lesson) -> Iterator[LessonError]:
    """Axes that are labelled in part; inputs that hold NaN, which is allowed but empties every figure it reaches."""
    for place, entry in _list_entries(lesson):
        for shape in _find_shapes(lesson, entry):
            yield from axis_labels.find_missing(lesson, place, entry, shape)
    doubts: dict[str, LessonError] = {}  # by message: runs inherit inputs
    for number, run in enumerate(plan.plan_runs(lesson.recipe)["runs"]):
        for name, spec in run["inputs"]:
            at = lesson.setting_place(number, "inputs", name)
            doubt = lesson.error(at, "the input holds NaN", "every number that it reaches becomes NaN")
            if _has_nan(spec):
                doubts[doubt.message()] = doubt
    yield from doubts.values()


def _list_entries(lesson: Lesson) -> Iterator[tuple[Path, Recorded]]:
    if experiment := lesson.recipe.experiment:
        for at, matrix in enumerate(experiment.record.matrices):
            yield ("experiment", "record", "matrices", at), matrix
        for at, vector in enumerate(experiment.record.vectors):
            yield ("experiment", "record", "vectors", at), vector


def _find_shapes(lesson: Lesson, entry: Recorded) -> list[tuple[int, ...]]:
    """The distinct shapes that an array is published in, as far as the recipe says them without a run.

    Raises ValueError or IndexError for a cut that does not fit what the recipe declares.
    """
    declared = _declare_shapes(lesson, entry.tensor)
    cuts = [recorded.select(np.broadcast_to(np.int8(0), shape), entry.select, entry.reshape) for shape in declared]
    if not cuts and entry.reshape is not None and min(entry.reshape, default=0) >= 0:
        return [tuple(entry.reshape)]
    return list(dict.fromkeys(cut.shape for cut in cuts))


def _declare_shapes(lesson: Lesson, tensor: str) -> list[list[int]]:
    """The shapes of an input in the cases; empty for what only a run can show."""
    name = tensor.removeprefix("input:")
    runs = [run for run in plan.plan_runs(lesson.recipe)["runs"] if run["kind"] == "case"] if name != tensor else []
    shapes = [_read_shape(dict(run["inputs"]).get(name, {})) for run in runs]
    return [shape for shape in shapes if shape is not None and math.prod(shape) <= MOST]


def _read_shape(spec: InputSpec) -> list[int] | None:
    if isinstance(spec.get("shape"), list):
        return list(spec["shape"])
    return input_specs.infer_shape(spec["values"]) if "values" in spec else None


def _has_nan(value: object) -> bool:
    if isinstance(value, Mapping):
        return value == {"float": "NaN"} or any(map(_has_nan, value.values()))
    return isinstance(value, Sequence) and not isinstance(value, str) and any(map(_has_nan, value))
