"""A lost history stops its lesson: what is published beside it would look like a first publication."""

from __future__ import annotations

import os
from pathlib import Path

from lessonpress.core import git
from lessonpress.core.errors import LessonError
from lessonpress.revision import history, packed


def require_history(folder: Path, made: str | None = None) -> None:
    """A lesson with revisions has a history. Raises LessonError where that was lost: it must not begin anew.

    `made` may be there alone, where no commit holds a history: its first publisher was stopped in the middle.
    """
    if (folder / history.FILE).is_file():
        return
    names = packed.list_revisions(folder)
    if set(names) - {made} or (names and git.holds(folder, folder / history.FILE)):
        raise LessonError(os.path.relpath(folder / history.FILE), f"the history of {len(names)} revision(s) is lost",
                          "the file that says which of them was published when and why",
                          f"{history.TAKE_BACK} Outside git: lessonpress doctor --rebuild {folder.name}")  # fmt: skip
