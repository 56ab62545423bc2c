"""What can be said of the expressions in a lesson's prose before their values are known."""

from __future__ import annotations

import re
from collections.abc import Collection

from jinja2 import nodes

from lessonpress.core.errors import LessonError
from lessonpress.lesson.reader import Lesson
from lessonpress.web.page import binding

Path = tuple[str | int, ...]


def find_misnamed(lesson: Lesson) -> list[LessonError]:
    """Every expression in prose that no run can give a value: it names what is not there, or is not an expression."""
    experiment = lesson.recipe.experiment
    record = experiment.record if experiment else None
    kinds = (record.matrices, record.vectors, record.metrics) if record else ()
    ids = {entry.id for kind in kinds for entry in kind}
    cases = {case.id for case in experiment.cases} if experiment else set()
    mistakes: list[LessonError] = []

    def look(text: str, path: Path) -> str:
        every = binding.find_expressions(text)
        mistakes.extend(wrong for each in every if (wrong := _find_mistake(lesson, each, path, cases, ids)))
        return text

    recipe = binding.map_prose(lesson.recipe, (), look)
    for at, question in enumerate(recipe.questions):
        for key, expression in (("answer", question.answer), ("number", question.number)):
            if expression is not None:
                look(f"{{{{ {expression} }}}}", ("questions", at, key))
    return mistakes


def _find_mistake(
    lesson: Lesson, expression: str, path: Path, cases: Collection[str], ids: Collection[str]
) -> LessonError | None:
    shown = f"{{{{ {expression} }}}}"
    try:
        binding.compile_expression(expression)
        tree = binding.make_environment().parse(shown)
    except binding.FAILURES as error:
        filters = ", ".join(sorted(binding.make_environment().filters))
        return lesson.error(path, f"{shown} cannot be evaluated ({str(error).rstrip('.')})", f"filters: {filters}")
    for name in tree.find_all(nodes.Name):
        if name.name not in {*cases, "cases"}:
            return lesson.error(path, f"{shown} names no case: {name.name}", f"cases: {', '.join(sorted(cases))}")
    for part in tree.find_all(nodes.Getattr):
        if isinstance(part.node, nodes.Name) and part.node.name != "cases" and part.attr not in ids:
            return lesson.error(path, f"{shown} names no record: {part.attr}", f"recorded: {', '.join(sorted(ids))}")
    return None


def find_unread(lesson: Lesson) -> list[LessonError]:
    """Every `{{name.…}}` in prose that names a case and stays as typed, because it lacks the white space inside."""
    cases = [case.id for case in lesson.recipe.experiment.cases] if lesson.recipe.experiment else []
    mistakes: list[LessonError] = []

    def look(text: str, path: Path) -> str:
        for braces in re.findall(r"\{\{[^{}]*\}\}", binding.blank_expressions(text)):
            if re.split(r"\W", braces[2:].strip())[0] in cases:
                fix = f"Write {{{{ {braces[2:-2].strip()} }}}}."
                mistakes.append(lesson.error(path, f"{braces} is no expression and stays as it is typed", "", fix))
        return text

    binding.map_prose(lesson.recipe, (), look)
    return mistakes
