"""Whether the lessons to which prose links are there: as a folder beside the lesson's own, or published."""

from __future__ import annotations

from pathlib import Path

from lessonpress.core import suggestions
from lessonpress.core.errors import LessonError, RetryableError
from lessonpress.core.settings import Config
from lessonpress.lesson.reader import RECIPE, Lesson
from lessonpress.web import prose
from lessonpress.web.page import lesson_words


def find_missing(config: Config, lesson: Lesson) -> list[LessonError]:
    """An error for every `[text](lesson:SLUG)` that names no lesson.

    It is none of the lesson's own mistakes, which stay until its files change: the other lesson may come.
    """
    mistakes: list[LessonError] = []
    known: set[str] | None = None
    for path, text in lesson_words.list_texts(lesson.recipe):
        for slug in prose.find_lessons(text):
            known = list_known(config, lesson.folder.parent) if known is None else known
            if slug not in known:
                at = lesson.error(path, "")
                near = suggestions.did_you_mean(slug, sorted(known))
                mistakes.append(RetryableError(at.where, f"'lesson:{slug}' names no lesson",
                                               near or f"lessons: {', '.join(sorted(known))}"))  # fmt: skip
    return mistakes


def list_known(config: Config, lessons: Path) -> set[str]:
    """The names of all lessons: those with a recipe in a folder, and those that were published."""
    written = {path.parent.name for path in lessons.glob(f"*/{RECIPE}")}
    return written | {path.parent.name for path in Path(config.results).glob("models/*/revisions.json")}
