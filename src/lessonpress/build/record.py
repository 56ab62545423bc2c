"""Step record: cut the recorded cases out of the capture (cases.json), and lay them out as a tidy table (cases.csv)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from lessonpress.build import check_runner
from lessonpress.core import canonical_json
from lessonpress.core.errors import LessonErrors
from lessonpress.core.settings import Config
from lessonpress.lesson import axis_labels, reader
from lessonpress.lesson.recipe import Axis, Case, Matrix, Metric, Recipe, Vector
from lessonpress.replay import statistics
from lessonpress.worker import recorded

if TYPE_CHECKING:
    from lessonpress.lesson.capture_records import Capture
    from lessonpress.lesson.records import ArrayRecord, Cases, Nested
    from lessonpress.worker.records import MetricTask

COLUMNS = ["case", "record", "kind", "panel", "row", "column", "rowLabel", "columnLabel", "value"]


def record_cases(config: Config, read: reader.Lesson, captured: bytes) -> Cases:
    """Every recorded array and metric of every case, from the bytes of capture.json; own metrics run confined.

    Raises LessonError at the recipe's line for an address that matches nothing or a cut that does not fit.
    """
    judge = functools.partial(check_runner.run_metrics, config, read, captured)
    return cut_cases(read, cast("Capture", canonical_json.loads(captured)), judge)


def cut_cases(read: reader.Lesson, captured: Capture, judge: check_runner.Judge) -> Cases:
    """Every case's recorded arrays and metrics; `judge` computes the metrics of the lesson's own."""
    experiment = read.recipe.experiment
    if experiment is None:
        return {"cases": {}}
    runs = recorded.Runs(captured)
    arrays = {case.id: dict(_cut_arrays(read, runs[case.id])) for case in experiment.cases}
    own = [m for m in experiment.record.metrics if m.value.startswith("metric_")]
    tasks = [_make_task(read.recipe, case, metric) for case in experiment.cases for metric in own]
    judged = judge(tasks) if tasks else {}
    return {"cases": {
        case.id: {
            "arrays": {name: describe_array(array) for name, array in arrays[case.id].items()},
            "metrics": {m.id: judged[case.id, m.id] if m in own else compute_statistic(m, arrays[case.id][m.of])
                        for m in experiment.record.metrics},
        }
        for case in experiment.cases
    }}  # fmt: skip


def _list_entries(recipe: Recipe) -> Iterator[tuple[str, int, Matrix | Vector]]:
    if recipe.experiment:
        for i, matrix in enumerate(recipe.experiment.record.matrices):
            yield "matrices", i, matrix
        for i, vector in enumerate(recipe.experiment.record.vectors):
            yield "vectors", i, vector


def _cut_arrays(read: reader.Lesson, run: recorded.Run) -> Iterator[tuple[str, recorded.Array]]:
    for kind, i, entry in _list_entries(read.recipe):
        place = ("experiment", "record", kind, i)
        try:
            whole = run[entry.tensor]
        except recorded.NoSuchAddress as error:
            raise read.error((*place, "tensor"), f"{entry.tensor!r} {error.why}", error.instead()) from None
        try:
            cut = recorded.select(whole, entry.select, entry.reshape)
        except (ValueError, IndexError) as error:
            seen = f"{entry.tensor} has shape {list(whole.shape)}: {error}"
            raise read.error(place, seen, "`select` and `reshape` that fit it") from None
        if kind == "matrices" and cut.ndim < 2:
            raise read.error(place, f"an array of shape {list(cut.shape)}", "a matrix has two or more axes",
                             "Record it under vectors, or reshape it.")  # fmt: skip
        if kind == "vectors" and cut.ndim > 1:
            raise read.error(place, f"an array of shape {list(cut.shape)}", "a vector has one axis or none",
                             "Record it under matrices, or select a part of it.")  # fmt: skip
        if mistakes := list(axis_labels.find_surplus(read, place, entry, cut.shape)):
            raise LessonErrors(mistakes)
        yield entry.id, cut


def _make_task(recipe: Recipe, case: Case, metric: Metric) -> MetricTask:
    entry = next(e for _, _, e in _list_entries(recipe) if e.id == metric.of)
    return {"id": metric.id, "function": metric.value, "run": case.id, "address": entry.tensor, "select": entry.select,
            "reshape": entry.reshape}  # fmt: skip


def compute_statistic(metric: Metric, array: recorded.Array) -> Any:
    """One of the known statistics of an array; positions (argmax, argmin) count row by row from 0."""
    if not array.size:
        return "NaN"
    wide = array.astype(np.float64) if array.dtype == np.float16 else array
    return encode_number(statistics.compute_statistic(metric.value, wide))


def describe_array(array: recorded.Array) -> ArrayRecord:
    """An array as data: dtype, shape, and its values as nested lists (a bare number for no axis)."""
    flat = [encode_number(value) for value in array.reshape(-1).tolist()]
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": nest_values(flat, list(array.shape))}


def nest_values(flat: list[Any], shape: list[int]) -> Nested:
    """A flat list in row-major order as nested lists of a shape."""
    if not shape:
        return flat[0]
    step = len(flat) // shape[0] if shape[0] else 0
    return [nest_values(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def encode_number(value: Any) -> Any:
    """A number as strict JSON has it: what is not finite as a string, a complex one as a pair of parts."""
    if isinstance(value, complex):
        return {"re": encode_number(value.real), "im": encode_number(value.imag)}
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def make_table(recipe: Recipe, cases: Cases) -> pd.DataFrame:
    """All recorded numbers as one tidy table, a number a line (shortest round trip), in the recipe's order."""
    frames = []
    for name, case in cases["cases"].items():
        frames += [_make_rows(name, kind, entry, case["arrays"][entry.id]) for kind, _, entry in _list_entries(recipe)]
        metrics = case["metrics"]
        frames.append(pd.DataFrame({"case": name, "record": list(metrics), "kind": "metric",
                                    "value": [_format_cell(v) for v in metrics.values()]}))  # fmt: skip
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        return pd.DataFrame(columns=COLUMNS)
    whole = pd.concat([frame.astype(object) for frame in frames], ignore_index=True)
    return whole.reindex(columns=COLUMNS)


def _make_rows(case: str, kind: str, entry: Matrix | Vector, array: ArrayRecord) -> pd.DataFrame:
    shape = array["shape"]
    places = list(itertools.product(*(range(n) for n in shape)))
    cells = _flatten(array["values"]) if shape else [array["values"]]
    frame = pd.DataFrame({"case": case, "record": entry.id, "kind": "matrix" if kind == "matrices" else "vector",
                          "value": [_format_cell(value) for value in cells]}, dtype=object)  # fmt: skip
    if len(shape) == 1:
        frame["column"] = [place[0] for place in places]
        frame["columnLabel"] = _list_labels(entry.axis if isinstance(entry, Vector) else None, frame["column"])
    if len(shape) >= 2:
        rows, columns = (entry.rows, entry.columns) if isinstance(entry, Matrix) else (None, None)
        frame["row"], frame["column"] = [p[-2] for p in places], [p[-1] for p in places]
        frame["rowLabel"] = _list_labels(rows, frame["row"])
        frame["columnLabel"] = _list_labels(columns, frame["column"])
    if len(shape) > 2:
        frame["panel"] = [",".join(map(str, place[:-2])) for place in places]
    return frame


def _list_labels(axis: Axis | None, numbers: pd.Series[int]) -> list[str | None]:
    names = (axis.labels if axis else None) or []
    return [names[n] if n < len(names) else None for n in numbers]


def _flatten(values: Nested) -> list[Any]:
    return [leaf for item in values for leaf in _flatten(item)] if isinstance(values, list) else [values]


def _format_cell(value: Any) -> Any:
    if isinstance(value, dict):
        return f"{value['re']!r}{'+' if not str(value['im']).startswith('-') else ''}{value['im']!r}j"
    return repr(value) if isinstance(value, float) else value
