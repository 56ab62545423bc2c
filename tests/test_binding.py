"""Prose bound to numbers: recorded values in words, answers of questions, wrong references with their line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lessonpress.core.errors import LessonError
from lessonpress.lesson import reader
from lessonpress.web.page import binding
from tests import tiny

RECIPE = """\
schema: 1
slug: echo
title: Echo
model: {file: model.py, class: Echo}
execution:
  inputs:
    x: {shape: [2, 3], dtype: float32, fill: ones}
experiment:
  cases:
    - {id: low, note: "NOTE"}
    - {id: high-er}
  record:
    matrices: [{id: shares, tensor: output}]
QUESTIONS
"""
CASES: dict[str, Any] = {
    "cases": {
        "low": {"arrays": {"shares": {"dtype": "float64", "shape": [1, 3], "values": [[0.2, 0.30004, 0.49996]]}},
                "metrics": {"most": 2}},
        "high-er": {"arrays": {"shares": {"dtype": "float64", "shape": [1, 3], "values": [[0.5, -0.25, 0.75]]}},
                    "metrics": {"most": 2}},
    }
}  # fmt: skip


def read(tmp_path: Path, note: str = "", questions: str = "") -> reader.Lesson:
    """A lesson whose first case has a note, and with questions."""
    text = RECIPE.replace("NOTE", note.replace("\\", "\\\\").replace('"', '\\"')).replace("QUESTIONS", questions)
    return reader.read(tiny.write(tmp_path / "echo", recipe=text))


def note(read: reader.Lesson) -> str:
    """The first case's note, bound."""
    experiment = binding.bind_values(read, CASES).recipe.experiment
    assert experiment is not None
    return experiment.cases[0].note or ""


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("{{ low.shares[0,2] | sig(3) }}", "0.500"),
        ("{{ low.shares[0, 1] }}", "0.3000"),
        ("{{ low.shares[0][0] | fixed(1) }} and {{ low.most }}", "0.2 and 2"),
        ('{{ cases["high-er"].shares[0,1] | abs | percent }}', "25 %"),
        ("{{ (low.shares[0,0] + low.shares[0,1]) | sig(2) }}", "0.50"),
        ("{{ low.shares | argmax }}, {{ low.shares | sum | fixed(3) }}", "2, 1.000"),
        (r"$\frac{{a}}{b}$ stays", r"$\frac{{a}}{b}$ stays"),
    ],
)
def test_a_value_stands_where_its_expression_stood(tmp_path: Path, written: str, shown: str) -> None:
    """Indices, metrics, arithmetic, statistics and filters give the recorded number; TeX's braces are left alone."""
    assert note(read(tmp_path, written)) == shown


@pytest.mark.parametrize(
    "written",
    [
        "{{ lw.shares[0,0] }}", "{{ low.shres[0,0] }}", "{{ low.shares[9,0] }}", "{{ low.shares }}",
        "{{ low.most / 0 }}", "{{ low.shares[0,0] | nosuch }}", "{{ low.shares[ }}", "{{ low.__class__ }}",
        "{{ low.shares._values }}",
        "{{ ''.__class__.__mro__ }}", "{{ low.most ** 9 ** 9 }}", "{{ range(9) }}", "{{ low.shares.flat.__globals__ }}",
    ],
)  # fmt: skip
def test_a_wrong_reference_is_refused_with_its_line(tmp_path: Path, written: str) -> None:
    """What is not recorded, is no single number or reaches beyond the record is an error at the recipe's line."""
    with pytest.raises(LessonError, match=r"lesson\.yaml:10: experiment\.cases\[0\]\.note") as error:
        note(read(tmp_path, written))
    assert "high-er" in str(error.value)


def test_answers_come_from_the_record(tmp_path: Path) -> None:
    """An option is chosen by its place or its words, a number is written out."""
    questions = (
        "questions:\n  - {id: a, prompt: Which?, options: [one, two, three], answer: low.shares | argmax}\n"
        "  - {id: b, prompt: How much?, answer: 'low.shares[0,0]'}\n"
        "  - {id: c, prompt: Even?, options: ['yes', 'no'], answer: \"'no' if low.shares[0,0] < 0.3 else 'yes'\"}\n"
    )
    bound = binding.bind_values(read(tmp_path, questions=questions), CASES).recipe.questions
    assert [question.answer for question in bound] == ["three", "0.2000", "no"]


def test_an_answer_outside_the_options_is_refused(tmp_path: Path) -> None:
    """A question whose computed answer is none of its options names its line."""
    questions = "questions:\n  - {id: a, prompt: Which?, options: [one, two], answer: low.most}\n"
    with pytest.raises(LessonError, match=r"lesson\.yaml:15: questions\[0\]\.answer: gives 2"):
        binding.bind_values(read(tmp_path, questions=questions), CASES)


def test_numbers_typed_by_hand_are_pointed_out(tmp_path: Path) -> None:
    """A typed number that rounds a recorded one is a hint with the expression to write; others are not."""
    lesson = read(tmp_path, "It is 0.500, or −0.250, or 0.123, or {{ low.shares[0,0] | sig(3) }}")
    hints = binding.find_typed(lesson, CASES)
    assert len(hints) == 2
    assert "{{ low.shares[0, 2] | fixed(3) }}" in hints[0]
    assert '{{ cases["high-er"].shares[0, 1] | fixed(3) }}' in hints[1]
