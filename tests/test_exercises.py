"""Questions of every kind: what a recipe may say, what is right, and what the page is given to decide it."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from lessonpress.core.errors import LessonError
from lessonpress.lesson import conditions, reader
from lessonpress.lesson.recipe import STATISTICS
from lessonpress.web.page import binding, exercises
from tests import tiny

QUESTIONS = """\
questions:
  - {id: mean, ask: What is it?, number: one.total / 6, within: 0.5, hint: Divide., solution: "{{ one.total }} over 6."}
  - {id: near, ask: And this?, number: "one.sum[0, 1]"}
  - {id: reach, ask: Move on., until: "sum | max > 1e6"}
  - {id: old, prompt: Which?, options: [a, b], answer: one.sum | argmin, hint: Look.}
"""


def lesson(folder: Path, questions: str = QUESTIONS) -> reader.Lesson:
    """The lesson of the hand-made runs with some questions."""
    tiny.write(folder / "lessons" / "echo", recipe=tiny.RECORDED + questions, checks=tiny.CHECKS)
    return reader.read(folder / "lessons" / "echo")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("alignment[2] > 0.5", ("alignment", (2,), None, ">", 0.5)),
        ("a-b[0, -1]<=-1e-3", ("a-b", (0, -1), None, "<=", -1e-3)),
        (" shares | max >= .9 ", ("shares", None, "max", ">=", 0.9)),
        ("total < 3", ("total", None, None, "<", 3.0)),
    ],
)
def test_a_condition_says_what_is_compared(text: str, condition: tuple[object, ...]) -> None:
    """Record, element or statistic, sense, bound."""
    read = conditions.parse_condition(text)
    assert (read.record, read.place, read.statistic, read.sense, read.bound) == condition


@pytest.mark.parametrize("text", ["", "a", "a > b", "a == 1", "a[0] | max > 1", "a[x] > 1", "a > 1; b", "a > nan"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    """Nothing but numbers is compared, and only one."""
    with pytest.raises(ValueError, match=r"condition|statistic"):
        conditions.parse_condition(text)


def test_a_bound_is_compared_as_it_says() -> None:
    """At the bound itself only the senses with a line below hold."""
    held = [conditions.parse_condition(f"a {sense} 2").holds(2.0) for sense in ("<", "<=", ">", ">=")]
    assert held == [False, True, False, True]


MISTAKES = {
    "two ways": ("{id: a, ask: A, answer: one.total, number: one.total}", "questions[0]: answer and number stand side"),
    "no way": ("{id: a, ask: A}", ": questions[0]: nothing says what is right; one of answer, number, until"),
    "no words": ("{id: a, answer: one.total}", ": questions[0]: nothing is asked; `ask:` with the question"),
    "words twice": ("{id: a, ask: A, prompt: A, answer: one.total}", "ask and prompt stand side by side"),
    "options": ("{id: a, ask: A, options: [x], number: one.total}", "questions[0].options: options beside number"),
    "a tolerance": ("{id: a, ask: A, within: 1, answer: one.total}", "questions[0].within: a tolerance beside answer"),
    "no record": ("{id: a, ask: A, until: su > 1}", "questions[0].until: nothing recorded is called su; recorded: "),
    "no statistic": ("{id: a, ask: A, until: sum | median > 1}", f"no statistic median; one of {STATISTICS[0]}"),
    "a metric's place": ("{id: a, ask: A, until: 'total[0] > 1'}", "total is a single number; `total > …`"),
    "no condition": ("{id: a, ask: A, until: sum}", "'sum' is no condition; a record, an element or a statistic"),
    "an id twice": ("{id: a, ask: A, answer: one.total}\n  - {id: a, ask: B, answer: one.total}", "'a' stands here a "),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_question_that_cannot_be_asked_is_a_mistake(tmp_path: Path, name: str) -> None:
    """At its line, before anything runs."""
    question, message = MISTAKES[name]
    with pytest.raises(LessonError) as caught:
        lesson(tmp_path, f"questions:\n  - {question}\n")
    assert message in caught.value.message()


def test_what_is_right_is_computed_from_the_record(tmp_path: Path) -> None:
    """A number with every digit, its tolerance, half a percent where none is said; worked out by hand from the case."""
    config = tiny.at(tmp_path)
    read = lesson(tmp_path)
    work = tiny.without_worker(config, tiny.capture(), [tiny.verdict(mutants=[])])
    rows = work.cases["cases"]["one"]["arrays"]["sum"]["values"]
    total = sum(value for row in rows for value in row)
    mean, near, reach, old = exercises.make_questions(binding.bind_values(read, work.cases).recipe)
    assert float(mean.number) == pytest.approx(total / 6, rel=1e-15)
    assert float(mean.within) == 0.5
    assert float(near.within) == pytest.approx(abs(rows[0][1]) / 200)
    assert reach.goal == {"kind": "matrices", "at": 0, "place": None, "statistic": "max", "sense": ">", "bound": 1e6}
    assert exercises.list_statistics([mean, near, reach, old]) == {"max"}
    assert [each.is_exercise for each in (mean, near, reach, old)] == [True, True, True, False]
    page = (work.revision / "index.html").read_text("utf-8")
    goals = [json.loads(unescape(goal)) for goal in re.findall(r'data-goal="([^"]*)"', page)]
    assert goals == [reach.goal]
    assert page.count('class="exercise"') == 3
    assert page.count('class="prediction"') == 1
    assert page.count("<summary>Hint</summary>") == 2
    assert "Try it" in page


@pytest.mark.parametrize(
    ("until", "message"),
    [
        ("sum | max > -1e9", "holds in the case one already ("),
        ("sum[0] > 1e9", "sum has shape [2, 3]: more than one number; one number of it"),
        ("sum[5, 0] > 1e9", "sum has shape [2, 3]: "),
        ("sum > 1e9", "sum has shape [2, 3]: more than one number"),
    ],
)
def test_a_goal_has_to_be_reached_and_there(tmp_path: Path, until: str, message: str) -> None:
    """What holds already is no exercise, and an element that is not there is a mistake."""
    lesson(tmp_path, f"questions:\n  - {{id: a, ask: A, until: '{until}'}}\n")
    with pytest.raises(LessonError) as caught:
        tiny.without_worker(tiny.at(tmp_path), tiny.capture(), [tiny.verdict(mutants=[])])
    assert "questions[0].until: " in caught.value.message()
    assert message in caught.value.message()


def test_a_page_without_exercises_carries_no_script_for_them(tmp_path: Path) -> None:
    """Their script is in the pages that need it."""
    old = "questions:\n  - {id: old, prompt: Which?, options: [a, b], answer: one.sum | argmin}\n"
    sizes = []
    for at, questions in enumerate((old, QUESTIONS)):
        lesson(tmp_path / str(at), questions)
        work = tiny.without_worker(tiny.at(tmp_path / str(at)), tiny.capture(), [tiny.verdict(mutants=[])])
        page = (work.revision / "index.html").read_text("utf-8")
        sizes.append(("Not yet" in page, ".exercise" in page, "Predict first" in page))
    assert sizes == [(False, False, True), (True, True, False)]
