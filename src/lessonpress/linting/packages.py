"""What a lesson imports: everything must be there where a reader has installed requirements.txt and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from lessonpress import bundle
from lessonpress.errors import LessonError
from lessonpress.linting.sources import Sources


def mistakes(sources: Sources) -> Iterator[LessonError]:
    """Imports of what is neither Python's own, nor a reader's by requirements.txt, nor a file of the lesson."""
    own = {part.removesuffix(".py") for name in sources.files for part in name.split("/")}
    there = sys.stdlib_module_names | set(bundle.NEEDED) | own
    for file in sources.files.values():
        for each in file.imports:
            if each.module not in there and not each.optional:
                yield LessonError(f"{file.where}:{each.line}", f"{each.module} is imported",
                                  f"readers have {', '.join(bundle.NEEDED)} and Python's own library",
                                  "Do without it, or put its file into the lesson's folder.")  # fmt: skip
