"""The questions of a lesson as a page asks them: choices, guesses, numbers to work out, what a slider is to reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from markupsafe import Markup

from lessonpress.lesson import conditions
from lessonpress.web import prose

if TYPE_CHECKING:
    from lessonpress.lesson.recipe import Question as Asked
    from lessonpress.lesson.recipe import Recipe, Recording


class Goal(TypedDict):
    """What a slider is to reach, as the page's script reads it: a figure or metric by its place, and the comparison."""

    kind: str  # matrices, vectors or metrics
    at: int
    place: list[int] | None
    statistic: str | None
    sense: str
    bound: float


@dataclass(frozen=True)
class Question:
    """A question: its words, its options with the right one's place, its answer, a hint and a solution where there are.

    `number` and `within` are those of a number to be worked out, `goal` is what a slider is to reach.
    """

    prompt: Markup
    options: tuple[Markup, ...]
    right: int
    answer: Markup
    hint: Markup
    solution: Markup
    number: str
    within: str
    goal: Goal | None

    @property
    def is_exercise(self) -> bool:
        """Whether it is more than a prediction: a script of its own answers it."""
        return bool(self.number or self.goal)


def make_questions(recipe: Recipe) -> tuple[Question, ...]:
    """The questions of a recipe whose answers are computed already."""
    return tuple(_make_question(each, recipe) for each in recipe.questions)


def _make_question(asked: Asked, recipe: Recipe) -> Question:
    where = f"question {asked.id}"
    answer = asked.answer or ""
    return Question(
        Markup(prose.to_html(asked.words, where=f"{where}: ask")),
        tuple(Markup(prose.to_inline(option, where=f"{where}: option")) for option in asked.options),
        asked.options.index(answer) if answer in asked.options else -1,
        Markup(prose.to_inline(answer, where=f"{where}: answer")),
        Markup(prose.to_html(asked.hint or "", where=f"{where}: hint")),
        Markup(prose.to_html(asked.solution or "", where=f"{where}: solution")),
        asked.number or "",
        repr(float(asked.within)) if asked.within is not None else "",
        _make_goal(asked.until, recipe) if asked.until else None,
    )


def _make_goal(text: str, recipe: Recipe) -> Goal:
    condition = conditions.parse_condition(text)
    assert recipe.experiment is not None  # the reader has looked it up
    kind, at = _locate(condition.record, recipe.experiment.record)
    place = list(condition.place) if condition.place is not None else None
    return {"kind": kind, "at": at, "place": place, "statistic": condition.statistic, "sense": condition.sense,
            "bound": condition.bound}  # fmt: skip


def _locate(name: str, record: Recording) -> tuple[str, int]:
    ids = {"matrices": [each.id for each in record.matrices], "vectors": [each.id for each in record.vectors],
           "metrics": [each.id for each in record.metrics]}  # fmt: skip
    kind = next(kind for kind, names in ids.items() if name in names)
    return kind, ids[kind].index(name)


def list_statistics(questions: Iterable[Question]) -> set[str]:
    """The statistics that the page's script needs for them."""
    return {each.goal["statistic"] for each in questions if each.goal and each.goal["statistic"]}
