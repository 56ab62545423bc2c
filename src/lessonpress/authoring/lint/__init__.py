"""Command lint: read a lesson as closely as one can without running it: recipe, prose, model, checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lessonpress.authoring.lint import checks_file, live_page, model_file, nondeterminism, records
from lessonpress.authoring.lint.sources import Sources
from lessonpress.build import lesson_links, source_record
from lessonpress.core.errors import LessonError, LessonErrors
from lessonpress.core.settings import Config
from lessonpress.lesson import lesson_files, packages, reader, trained_weights
from lessonpress.web.page import expressions, prose_check


def lint_lesson(config: Config, slug: str) -> str:
    """Read one lesson and report: a hint a line for what is doubtful, and that the rest is good.

    Raises LessonErrors with file and line for what publishing would refuse, and for what a reader could not run.
    """
    lesson = reader.read(config.lesson(slug))
    source_record.make_source_record(lesson)
    sources = Sources.read(lesson)
    mistakes = [*sources.mistakes, *prose_check.find_unreadable(lesson, sources.list_sentences()),
                *expressions.find_misnamed(lesson), *_find_mistakes(sources),
                *lesson_links.find_missing(config, lesson)]  # fmt: skip
    if mistakes:
        raise LessonErrors(mistakes)
    return "\n".join([*list_hints(sources), f"{slug}: good"])


def list_hints(sources: Sources) -> list[str]:
    """What is doubtful in a lesson, a line each: allowed, and seldom meant."""
    lesson = sources.lesson
    readers = (model_file, checks_file, nondeterminism, live_page)
    doubts = [*(doubt for each in readers for doubt in each.find_doubts(sources)), *records.find_doubts(lesson),
              *expressions.find_unread(lesson)]  # fmt: skip
    old = [warning] if (warning := trained_weights.warn_if_outdated(lesson)) else []
    return [*(f"hint: {doubt.message()}" for doubt in doubts), *old]


def _find_mistakes(sources: Sources) -> Iterator[LessonError]:
    yield from model_file.find_mistakes(sources)
    yield from checks_file.find_mistakes(sources)
    yield from packages.find_mistakes(sources.files)
    yield from records.find_mistakes(sources.lesson)


def list_slugs(config: Config) -> list[str]:
    """The names of all folders of lessons, whatever they hold; a folder of nothing but caches does not count.

    Raises LessonError when there is no such folder, or nothing in it: a silent success would check nothing.
    """
    folder = Path(config.lessons)
    lesson_files.slugs(folder)  # refuses a folder that is not there
    names = sorted(path.name for path in folder.iterdir() if _holds_files(path))
    if not names:
        raise LessonError(config.lessons, "there is no lesson here", "", "Type: lessonpress new SLUG.")
    return names


def _holds_files(folder: Path) -> bool:
    if folder.name.startswith((".", "__")) or not folder.is_dir():
        return False
    return any(path.is_file() and "__pycache__" not in path.parts for path in folder.rglob("*"))
