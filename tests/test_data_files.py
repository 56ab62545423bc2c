"""Inputs out of NumPy files: the plan holds their numbers, and what is no such file is a mistake."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lessonpress.core.errors import LessonError
from lessonpress.lesson import data_files, plan, reader
from tests import tiny

RECIPE = """\
schema: 1
slug: echo
title: Echo
model: {file: model.py, class: Echo}
data: {digit: {file: digit.npy}, other: {file: more/other.npy}}
execution:
  inputs:
    x: {data: digit}
    pair: {tuple: [{data: other}, {literal: 1}]}
experiment:
  cases:
    - {id: same}
    - {id: other, inputs: {x: {data: other}}}
    - {id: flat, inputs: {x: {fill: 0, shape: [2], dtype: float32}}}
"""
DIGIT = np.array([[0.1, -2.5], [np.nan, 1e-7]], dtype=np.float32)
OTHER = np.array([3, 4], dtype=np.int64)


def packed(array: Any) -> bytes:
    """An array as numpy writes it."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def read(folder: Path, recipe: str = RECIPE, digit: bytes = packed(DIGIT)) -> reader.Lesson:
    """The lesson with its files."""
    home = tiny.write(folder / "echo", recipe=recipe)
    (home / "more").mkdir(exist_ok=True)
    (home / "digit.npy").write_bytes(digit)
    (home / "more" / "other.npy").write_bytes(packed(OTHER))
    return reader.read(home)


def test_the_plan_holds_the_numbers(tmp_path: Path) -> None:
    """Every bit of them, with the file's shape and dtype; a case may take other numbers."""
    runs = {run["id"]: dict(run["inputs"]) for run in plan.plan_runs(read(tmp_path).recipe)["runs"]}
    spec = runs["execution"]["x"]
    assert (spec["shape"], spec["dtype"]) == ([2, 2], "float32")
    back = np.array([[float("nan") if isinstance(v, dict) else v for v in row] for row in spec["values"]], np.float32)
    assert back.tobytes() == DIGIT.tobytes()
    assert spec["values"][1][0] == {"float": "NaN"}
    assert runs["same"]["x"] == spec
    assert runs["other"]["x"] == {"values": [3, 4], "shape": [2], "dtype": "int64"}
    assert runs["execution"]["pair"]["tuple"][0]["values"] == [3, 4]
    assert runs["flat"]["x"]["fill"] == 0


def test_the_lesson_is_the_same_when_it_is_opened_again(tmp_path: Path) -> None:
    """Later steps do not read the recipe's YAML, but the same files."""
    from lessonpress.build import source_record

    first = read(tmp_path)
    record, _ = source_record.hash_lesson(first.folder)
    again = reader.reopen(first.folder, record)
    assert plan.plan_runs(again.recipe) == plan.plan_runs(first.recipe)


MISTAKES: dict[str, tuple[str, str, bytes, str]] = {
    "no file": ("file: digit.npy", "file: digt.npy", packed(DIGIT), "data.digit.file: there is no digt.npy in"),
    "no data": ("{data: digit}\n", "{data: digitt}\n", packed(DIGIT), "x.data: no data is called 'digitt'; data: "),
    "no array": ("", "", b"no array", "data.digit.file: digit.npy cannot be read: "),
    "objects": ("", "", packed(np.array([{}, None], dtype=object)), "digit.npy cannot be read: "),
    "texts": ("", "", packed(np.array(["a"])), "digit.npy holds numbers of a dtype that no"),
    "a dtype": ("", "", packed(np.zeros(2, np.uint32)), "digit.npy holds numbers of a dtype that no input has"),
    "too many": ("", "", packed(np.zeros(data_files.MOST + 1, np.int8)), "holds 20,001 numbers; at most 20,000 "),
    "a shape": ("x: {data: digit}", "x: {data: digit, shape: [4]}", packed(DIGIT), "x: a shape or dtype beside data"),
    "two ways": ("x: {data: digit}", "x: {data: digit, fill: 1}", packed(DIGIT), "data and fill stand side by side"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_what_cannot_be_read_is_a_mistake(tmp_path: Path, name: str) -> None:
    """At the line that names it; nothing of a file is run."""
    old, new, data, message = MISTAKES[name]
    with pytest.raises(LessonError) as caught:
        read(tmp_path, RECIPE.replace(old, new) if old else RECIPE, data)
    assert message in caught.value.message()
