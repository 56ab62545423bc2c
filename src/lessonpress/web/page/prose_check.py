"""Reads every text of a lesson as the page will, to say at which line of which file it cannot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel

from lessonpress.core.errors import LessonError
from lessonpress.lesson.reader import Lesson
from lessonpress.lesson.recipe import Axis, Control, Paper
from lessonpress.web import prose
from lessonpress.web.page import binding

Path = tuple[str | int, ...]
_BLOCKS = frozenset([
    "description", "limitations", "attribution", "scope", "note", "prompt", "beginner", "expert", "fidelity",
])  # fmt: skip
_LINES = frozenset(["title", "question", "license", "curator", "label", "name", "term", "options", "sentence"])
_WORDS = (Axis, Control, Paper)  # their texts are shown as words, with TeX left as it is typed


def find_unreadable(lesson: Lesson, sentences: Sequence[tuple[str, str]] = ()) -> list[LessonError]:
    """A LessonError for each text of the recipe, and each (place, sentence) of a check, that the page cannot show.

    Expressions in prose count as numbers, whether their values are known yet or not.
    """
    texts = [(lesson.error(path, "").where, text, path[-1] in _BLOCKS) for path, text in _list_texts(lesson.recipe, ())]
    checks = [(where, sentence, False) for where, sentence in sentences]
    errors = [_find_fault(where, text, block) for where, text, block in [*texts, *checks]]
    return [error for error in errors if error]


def _find_fault(where: str, text: str, block: bool) -> LessonError | None:
    try:
        (prose.to_html if block else prose.to_inline)(binding.blank_expressions(text), where=where)
    except LessonError as error:
        return error
    return None


def _list_texts(node: BaseModel, path: Path) -> Iterator[tuple[Path, str]]:
    """Every text of a record that is Markdown, with its place."""
    if isinstance(node, _WORDS):
        return
    for name, field in type(node).model_fields.items():
        value, here = getattr(node, name), (*path, field.alias or name)
        for item, at in zip(value, range(len(value)), strict=True) if isinstance(value, list) else [(value, None)]:
            place = here if at is None else (*here, at)
            if isinstance(item, BaseModel):
                yield from _list_texts(item, place)
            elif isinstance(item, str) and name in _BLOCKS | _LINES:
                yield place, item
