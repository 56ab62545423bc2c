"""What is cut out of the recorded runs, and the table of all numbers."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.build import record
from lessonpress.core.errors import LessonError
from lessonpress.lesson import reader
from lessonpress.lesson.recipe import Metric
from tests import tiny

RECIPE = """\
schema: 1
slug: echo
title: Echo
model: {file: model.py, class: Echo}
execution: {inputs: {batch: {shape: [2, 3], fill: ones}}}
experiment:
  cases: [{id: one}, {id: two}]
  record:
    matrices:
      - {id: both, tensor: "part.line#*", rows: {labels: [first]}, columns: {labels: [x, y, z]}}
      - {id: sum, tensor: "output[sum]"}
    vectors:
      - {id: row, tensor: "output[sum]", select: "[0]", axis: {labels: [x, y]}}
      - {id: number, tensor: "output[sum]", select: "[1, 2]"}
    metrics:
      - {id: total, value: sum, of: sum}
      - {id: own, value: metric_own, of: row}
checks: checks.py
"""
X = np.arange(6.0).reshape(2, 3)


def made(folder: Path, recipe: str = RECIPE) -> tuple[reader.Lesson, dict[str, Any], list[Mapping[str, Any]]]:
    """The lesson, what is recorded of the hand-made runs, and what the judge was asked."""
    read = reader.read(tiny.write(folder / "echo", recipe=recipe, checks=""))
    asked: list[Mapping[str, Any]] = []

    def judge(tasks: Any) -> dict[tuple[str, str], Any]:
        asked.extend(tasks)
        return {(task["run"], task["id"]): len(task["run"]) for task in tasks}

    return read, record.cut_cases(read, tiny.capture(), judge), asked


def test_every_case_holds_every_array_and_metric(tmp_path: Path) -> None:
    """The numbers are those that numpy computes for the hand-made runs; probes are no cases."""
    _, cases, _ = made(tmp_path)
    assert list(cases["cases"]) == ["one", "two"]
    two = cases["cases"]["two"]
    assert two["arrays"]["both"] == {
        "dtype": "float64",
        "shape": [2, 2, 3],
        "values": np.stack([X * 2, X * 4]).tolist(),
    }
    assert two["arrays"]["row"] == {"dtype": "float64", "shape": [3], "values": (X[0] * 4 + 2).tolist()}
    assert two["arrays"]["number"] == {"dtype": "float64", "shape": [], "values": 22.0}
    assert two["metrics"] == {"total": float((X * 4 + 2).sum()), "own": 3}


def test_the_lessons_own_metrics_are_asked_of_the_judge(tmp_path: Path) -> None:
    """One task for each case, with the address and the cut of the array that the metric is of."""
    _, _, asked = made(tmp_path)
    assert asked[0] == {
        "id": "own",
        "function": "metric_own",
        "run": "one",
        "address": "output[sum]",
        "select": "[0]",
        "reshape": None,
    }
    assert [task["run"] for task in asked] == ["one", "two"]


def test_without_an_experiment_there_are_no_cases(tmp_path: Path) -> None:
    """A lesson that only runs records nothing, and its table has its heading."""
    read = reader.read(tiny.write(tmp_path / "echo"))
    cases = record.cut_cases(read, tiny.capture(), lambda tasks: {})
    assert cases == {"cases": {}}
    assert record.make_table(read.recipe, cases).to_csv(index=False).strip() == ",".join(record.COLUMNS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"part.line#*"',
            "part.lime",
            "echo/lesson.yaml:10: experiment.record.matrices[0].tensor: 'part.lime' matches "
            "nothing that ran; near it: part.line#",
        ),
        (
            '"part.line#*"',
            "part.line",
            "echo/lesson.yaml:10: experiment.record.matrices[0].tensor: 'part.line' was called 2 "
            "times; say which: #0 to #1, or #* for all.",
        ),
        (
            'select: "[0]"',
            'select: "[7]"',
            "echo/lesson.yaml:13: experiment.record.vectors[0]: output[sum] has shape [2, 3]: index 7 is out of bounds",
        ),
        (
            'select: "[0]"',
            'select: "[y]"',
            "echo/lesson.yaml:13: experiment.record.vectors[0]: output[sum] has shape [2, 3]: "
            "'[y]' is no basic indexing",
        ),
        (
            'select: "[0]"',
            "reshape: [4]",
            "echo/lesson.yaml:13: experiment.record.vectors[0]: output[sum] has shape [2, 3]: cannot reshape",
        ),
        (
            ', select: "[0]"',
            "",
            "echo/lesson.yaml:13: experiment.record.vectors[0]: an array of shape [2, 3]; a vector has one "
            "axis or none. Record it under matrices, or select a part of it.",
        ),
        (
            '{id: sum, tensor: "output[sum]"}',
            '{id: sum, tensor: "output[count]"}',
            "echo/lesson.yaml:11: experiment.record.matrices[1]: an array of shape [2]; a matrix has two or more axes.",
        ),
    ],
)
def test_a_record_that_does_not_fit_is_one_message(tmp_path: Path, old: str, new: str, message: str) -> None:
    """At the recipe's line, with what there is."""
    with pytest.raises(LessonError) as caught:
        made(tmp_path, RECIPE.replace(old, new))
    assert message in caught.value.message()


def rows(folder: Path) -> list[dict[str, str]]:
    """The table as any reader of CSV has it."""
    read, cases, _ = made(folder)
    text = record.make_table(read.recipe, cases).to_csv(index=False, lineterminator="\n")
    return list(csv.DictReader(io.StringIO(text)))


def test_the_table_has_a_number_a_line(tmp_path: Path) -> None:
    """Case, record, position and label of every number; further axes are panels."""
    table = rows(tmp_path)
    assert len(table) == 2 * (12 + 6 + 3 + 1 + 2)
    assert table[7] == {
        "case": "one",
        "record": "both",
        "kind": "matrix",
        "panel": "1",
        "row": "0",
        "column": "1",
        "rowLabel": "first",
        "columnLabel": "y",
        "value": "4.0",
    }
    row = [line for line in table if line["case"] == "two" and line["record"] == "row"]
    assert [(line["column"], line["columnLabel"], float(line["value"])) for line in row] == [
        ("0", "x", 2.0),
        ("1", "y", 6.0),
        ("2", "", 10.0),
    ]
    metrics = [(line["record"], line["value"]) for line in table if line["kind"] == "metric" and line["case"] == "two"]
    assert metrics == [("total", repr(float((X * 4 + 2).sum()))), ("own", "3")]


@given(st.floats())
def test_numbers_keep_their_last_bit(number: float) -> None:
    """The shortest spelling that reads back as the same float; what is not finite is a word."""
    encoded = record.encode_number(number)
    if number != number or number in (float("inf"), -float("inf")):
        assert encoded == {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(number)]
    else:
        assert float(record._format_cell(encoded)) == number


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sum", 21.0), ("mean", 3.5), ("min", -6.0), ("max", 15.0), ("argmax", 3), ("argmin", 4), ("norm", 303**0.5)],
)
def test_statistics_are_what_their_names_say(name: str, expected: float) -> None:
    """Closed forms: 2, 3, 5, 15, −6, 2 add up to 21; their squares to 303; positions count row by row from 0."""
    array = np.array([[2.0, 3.0, 5.0], [15.0, -6.0, 2.0]])
    metric = Metric(id="m", value=name, of="a")
    assert record.compute_statistic(metric, array) == pytest.approx(expected, rel=1e-15)


def test_an_empty_array_has_no_statistics() -> None:
    """There is no largest of nothing."""
    assert record.compute_statistic(Metric(id="m", value="max", of="a"), np.zeros((0, 3))) == "NaN"


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (np.array(5), 5),
        (np.zeros((2, 0)), [[], []]),
        (np.array([True]), [True]),
        (np.array([1 + 2j]), [{"re": 1.0, "im": 2.0}]),
        (np.array([np.nan, -np.inf]), ["NaN", "-Infinity"]),
        (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        (np.zeros((0, 2)), []),
    ],
)
def test_arrays_become_nested_lists(array: Any, values: Any) -> None:
    """Every shape and kind of number as strict JSON."""
    assert record.describe_array(array) == {"dtype": str(array.dtype), "shape": list(array.shape), "values": values}
