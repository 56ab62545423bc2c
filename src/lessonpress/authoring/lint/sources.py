"""A lesson's Python files, read but not run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from lessonpress.core.errors import LessonError
from lessonpress.lesson import python_ast
from lessonpress.lesson.python_ast import Source
from lessonpress.lesson.reader import Lesson


@dataclass(frozen=True)
class Sources:
    """A lesson with its Python files by name, and the mistakes of those that cannot be read."""

    lesson: Lesson
    files: Mapping[str, Source]
    mistakes: tuple[LessonError, ...]

    @staticmethod
    def read(lesson: Lesson) -> Sources:
        """Read every Python file of a lesson."""
        files, mistakes = dict[str, Source](), list[LessonError]()
        for name in sorted(n for n in lesson.files if n.endswith(".py")):
            try:
                files[name] = python_ast.read(lesson.files[name], os.path.relpath(lesson.folder / name))
            except LessonError as error:
                mistakes.append(error)
        return Sources(lesson, files, tuple(mistakes))

    def find_model(self) -> Source | None:
        """The model's file."""
        return self.files.get(self.lesson.recipe.model.file)

    def find_checks(self) -> Source | None:
        """The checks' file, where the lesson has one."""
        return self.files.get(self.lesson.recipe.checks or "")

    def list_sentences(self) -> list[tuple[str, str]]:
        """The sentence of every check, with its place."""
        file = self.find_checks()
        return [(f"{file.where}:{each.line}: {each.name}", each.docstring.partition("\n")[0])
                for each in (file.functions if file else ()) if file and each.name.startswith("check_")]  # fmt: skip
