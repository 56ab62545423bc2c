"""Where the files lie that lessonpress carries beside its code: the rules, the profiles, the templates."""

from __future__ import annotations

from pathlib import Path

from lessonpress.core.errors import LessonError

PACKAGE = Path(__file__).resolve().parents[1]


def path(name: str) -> Path:
    """A file or folder by its name in lessonpress's own repository.

    An installed lessonpress has it inside the package, the repository beside `src/`. Raises LessonError when it is in
    neither place.
    """
    for root in (PACKAGE, PACKAGE.parent.parent):
        if (root / name).exists():
            return root / name
    raise LessonError(str(PACKAGE), f"{name} is missing", fix="Install lessonpress again.")


def snakefile() -> Path:
    """The file with all rules, for the `module` statement of another repository's Snakefile."""
    return path("Snakefile")
