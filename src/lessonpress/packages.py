"""What a lesson imports: everything must be there where a reader has installed requirements.txt and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from lessonpress import bundle, syntax
from lessonpress.errors import LessonError
from lessonpress.syntax import Source


def mistakes(files: Mapping[str, Source]) -> Iterator[LessonError]:
    """Imports of what is neither Python's own, nor a reader's by requirements.txt, nor a file of the lesson.

    `files` are all Python files of a lesson by their names, read or only skimmed.
    """
    own = {part.removesuffix(".py") for name in files for part in name.split("/")}
    there = sys.stdlib_module_names | set(bundle.NEEDED) | own
    for file in files.values():
        for each in file.imports:
            if each.module not in there and not each.optional:
                yield LessonError(f"{file.where}:{each.line}", f"{each.module} is imported",
                                  f"readers have {', '.join(bundle.NEEDED)} and Python's own library",
                                  "Do without it, or put its file into the lesson's folder.")  # fmt: skip


def lacking(files: Mapping[str, bytes], folder: str) -> list[LessonError]:
    """The same of files' bytes by name, called by `folder` and name; of what is no Python, that it is none."""
    found, wrong = dict[str, Source](), list[LessonError]()
    for name, data in sorted(files.items()):
        if name.endswith(".py"):
            try:
                found[name] = syntax.skim(data, f"{folder}/{name}")
            except LessonError as error:
                wrong.append(error)
    return [*wrong, *mistakes(found)]
