"""Reads every text of a lesson as the page will, to say at which line of which file it cannot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lessonpress.core.errors import LessonError
from lessonpress.lesson.reader import Lesson
from lessonpress.web import prose, surroundings
from lessonpress.web.page import binding, lesson_words


def find_unreadable(lesson: Lesson, sentences: Sequence[tuple[str, str]] = ()) -> list[LessonError]:
    """A LessonError for each text of the recipe, and each (place, sentence) of a check, that the page cannot show.

    Expressions in prose count as numbers, whether their values are known yet or not.
    """
    ordered = lesson_words.list_texts(lesson.recipe)
    texts = [(lesson.error(path, "").where, text, path[-1] in lesson_words.BLOCKS) for path, text in ordered]
    checks = [(where, sentence, False) for where, sentence in sentences]
    sizes = {name: len(data) for name, data in lesson.files.items()}
    sources = {name: data.decode("utf-8", "replace") for name, data in lesson.files.items()
               if name.endswith(".py") and name != lesson.recipe.checks}  # fmt: skip
    with surroundings.within(lesson_words.make_surroundings(lesson.recipe, sizes, sources)):
        errors = [_find_fault(where, text, block) for where, text, block in [*texts, *checks]]
    found = [error for error in errors if error]
    return [*found, *_find_repeated(lesson), *_find_heavy(lesson, sizes)]


def _find_fault(where: str, text: str, block: bool) -> LessonError | None:
    try:
        (prose.to_html if block else prose.to_inline)(binding.blank_expressions(text), where=where)
    except LessonError as error:
        return error
    return None


def _find_repeated(lesson: Lesson) -> Iterator[LessonError]:
    """Labels that stand behind more than one equation or figure."""
    seen: set[str] = set()
    for path, text in lesson_words.list_ordered(lesson.recipe):
        for label in prose.find_labels(text):
            if label in seen:
                yield lesson.error(path, f"the label {label} stands twice", "a name of its own for each")
            seen.add(label)


def _find_heavy(lesson: Lesson, sizes: dict[str, int]) -> Iterator[LessonError]:
    """Images that are together more than a page should load, at the first one that passes the bound."""
    shown: dict[str, int] = {}
    for path, text in lesson_words.list_ordered(lesson.recipe):
        before = sum(shown.values())
        shown |= {name: sizes.get(name, 0) for name in prose.find_images(text)}
        if before <= surroundings.MAX_IMAGES < sum(shown.values()):
            yield lesson.error(path, f"the images of this lesson have {sum(shown.values()):,} bytes together",
                               f"at most {surroundings.MAX_IMAGES:,}", "Make some smaller.")  # fmt: skip
