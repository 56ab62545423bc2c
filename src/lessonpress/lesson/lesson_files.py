"""Which files a lesson is made of, and one digest of them; nothing of a lesson is read for its meaning here.

Fast, and with no imports that Snakemake has not made: it is called for every lesson whenever the rules are read.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lessonpress.core.errors import LessonError

SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")  # what a lesson may be called; the recipe's schema says the same
MAX_BYTES = 64 * 1024 * 1024  # of one file; a lesson with a larger one is refused unread
Entry = tuple[str, str]  # a file's name in its folder, and the SHA-256 of its bytes or what it is instead


@dataclass(frozen=True)
class LessonFile:
    """A file of a lesson: its name in the lesson's folder, and the SHA-256 of its bytes or what it is instead."""

    name: str
    content: str
    plain: bool  # whether it can be opened
    changed: float  # the time of its last change, in seconds; 0 where it is no plain file


def slugs(lessons: Path) -> list[str]:
    """The slugs of all lessons in a folder; the names that can be no slug are `odd_names`.

    Raises LessonError where there is no such folder: a run without lessons would be a silent success.
    """
    return [name for name in _names(lessons) if SLUG.fullmatch(name)]


def odd_names(lessons: Path) -> list[str]:
    """The names of lessons' folders that can be no slug: what stands in them must not stop the others."""
    return [name for name in _names(lessons) if not SLUG.fullmatch(name)]


def _names(lessons: Path) -> list[str]:
    if not lessons.is_dir():
        raise LessonError("config.yaml: lessons", f"there is no folder {str(lessons)!r} here",
                          "the folder that holds one folder for each lesson",
                          "Go to the repository's root, name the folder, or type: lessonpress new SLUG.")  # fmt: skip
    return sorted(name for name in os.listdir(lessons)
                  if not name.startswith(".") and os.path.lexists(lessons / name / "lesson.yaml"))  # fmt: skip


def paths(folder: Path) -> list[str]:
    """The plain files of a lesson, by their names in its folder, sorted; the same ones that `lesson.read` reads."""
    return sorted(name for name, entry in _walk(str(folder), "") if _is_plain(entry))


def files(folder: Path) -> list[LessonFile]:
    """Every file of a lesson, sorted by name, with what it holds or is."""
    found = [_look_at(name, entry) for name, entry in _walk(str(folder), "")]
    return sorted((file for file in found if file.content), key=lambda file: file.name)


def entries(folder: Path) -> list[Entry]:
    """Every file of a lesson with the SHA-256 of its bytes; of a link, or of what is no plain file, what it is."""
    return [(file.name, file.content) for file in files(folder)]


def digest(files: Iterable[Entry]) -> str:
    """One SHA-256 for files and their contents, whatever their times."""
    whole = hashlib.sha256()
    for name, content in sorted(files):
        whole.update(os.fsencode(name) + b"\0" + content.encode() + b"\n")
    return whole.hexdigest()


def _walk(folder: str, below: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every file below a folder but hidden ones and caches; one that is gone before it is looked at is not there.

    A folder that nobody may look into is passed over, as it is where a lesson is read (by `os.walk`).
    """
    try:
        listing = os.scandir(folder)
    except OSError:
        return
    with listing as listed:
        for entry in listed:
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path, f"{below}{entry.name}/")
            elif not entry.name.endswith((".pyc", "~")):
                yield f"{below}{entry.name}", entry


def _is_plain(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file that can be opened; a link to itself is none, nor one that leads nowhere."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _look_at(name: str, entry: os.DirEntry[str]) -> LessonFile:
    try:
        changed = entry.stat().st_mtime if entry.is_file() else None
    except OSError:
        changed = None
    return LessonFile(name, _content(entry), changed is not None, changed or 0.0)


def _content(entry: os.DirEntry[str]) -> str:
    """The SHA-256 of a plain file, or what it is instead; empty when it has gone."""
    try:
        if entry.is_symlink():
            return f"link to {os.readlink(entry.path)!a}"
        if not entry.is_file():
            return "special"
        if (size := entry.stat().st_size) > MAX_BYTES:
            return f"{size} bytes"
        with open(entry.path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except FileNotFoundError:  # an editor's own file, gone since it was listed
        return ""
    except OSError as error:
        return f"unreadable: {error.strerror}"
