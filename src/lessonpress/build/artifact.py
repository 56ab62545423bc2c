"""A file that a step leaves under work/: what it was made from stands first, its own digest last.

A file without its last line, with another byte than were written, or with another file beside it than it names is not
whole, and counts for nothing: whoever needs it has it made again.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.errors import LessonError, LessonErrors, escape_invisible

MADE_FROM, BESIDE, MISTAKES, SEAL = "madeFrom", "beside", "mistakes", "sha256"
Content: TypeAlias = Mapping[str, Any]  # what a step has made: each step has its own record
LINE = b",\n"  # between what an artifact says of itself and its content; JSON has no other line feed
_HEAD = len('{"madeFrom":"') + 64
_TAIL = len(f',"{SEAL}":"') + 64 + len('"}\n')


@dataclass(frozen=True)
class Artifact:
    """A whole artifact: the digest of what it was made from, its content, and what was wrong with the lesson, if so."""

    made_from: str
    digest: str
    beside: Mapping[str, str] = field(compare=False)  # the digests of the files that belong to it, by name
    mistakes: tuple[LessonError, ...] = field(compare=False)
    data: bytes = field(compare=False, repr=False)

    @functools.cached_property
    def body(self) -> Content:
        """The content; read only where somebody asks for it, for most steps ask only what it was made from."""
        body = dict(json.loads(self.data))
        for key in (MADE_FROM, BESIDE, MISTAKES, SEAL):
            del body[key]
        return body

    def raise_mistakes(self) -> None:
        """Raise LessonErrors where the lesson has mistakes."""
        if self.mistakes:
            raise LessonErrors(list(self.mistakes))


def serialise(
    made_from: str, body: Mapping[str, object], beside: Mapping[str, str], mistakes: Sequence[LessonError] = ()
) -> str:  # fmt: skip
    """An artifact's file; `beside` are the digests of the files that belong to it, by their names in its folder."""
    rows = [[*map(escape_invisible, (error.where, error.seen, error.expected, error.fix))] for error in mistakes]
    head = canonical_json.compact({MADE_FROM: made_from, BESIDE: dict(beside), MISTAKES: rows})[:-1]
    whole = head + (LINE.decode() + canonical_json.compact(body)[1:-1] if body else "")
    return f'{whole},"{SEAL}":"{canonical_json.digest(whole)}"}}\n'


def write(
    path: Path, made_from: str, body: Mapping[str, object], beside: Mapping[str, bytes] | None = None,
    mistakes: Sequence[LessonError] = (),
) -> None:  # fmt: skip
    """Write an artifact and the files beside it, itself last: when it is there, all of it is."""
    files = beside or {}
    for name, data in files.items():
        atomic_io.draft(path.parent / name, data)
    digests = {name: canonical_json.digest(data) for name, data in files.items()}
    atomic_io.draft(path, serialise(made_from, body, digests, mistakes))


def read(path: Path) -> Artifact | None:
    """The artifact in a file; None where the file, or one beside it, is missing or not as it was written."""
    try:
        data = path.read_bytes()
        whole, digest = data[:-_TAIL], canonical_json.digest(data[:-_TAIL])
        if data[-_TAIL:] != f',"{SEAL}":"{digest}"}}\n'.encode():
            return None
        head = json.loads(whole.partition(LINE)[0] + b"}")
        made_from, beside = str(head[MADE_FROM]), dict(head[BESIDE])
        mistakes = tuple(LessonError(*parts) for parts in head[MISTAKES])
        if any(canonical_json.digest((path.parent / name).read_bytes()) != sha for name, sha in beside.items()):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Artifact(made_from, digest, beside, mistakes, data)


def read_made_from(path: Path) -> str | None:
    """What an artifact says it was made from, by its first bytes alone; None where there is no such file."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).decode("ascii")
    except (OSError, UnicodeDecodeError):
        return None
    return head[-64:] if len(head) == _HEAD and head.startswith('{"madeFrom":"') else None


def copy(path: Path, folder: Path) -> Artifact | None:
    """Put a whole artifact of another folder into `folder`, the files beside it first; None where it is not whole.

    Copies, not links: Snakemake sets the time of what a job leaves, and the other folder's order of times must stay.
    """
    whole = read(path)
    if whole is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in whole.beside:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path.parent / name, folder / name)
        atomic_io.draft(folder / path.name, whole.data)
    except OSError:  # swept meanwhile
        return None
    return read(folder / path.name)


def settle_times(folder: Path) -> None:
    """Give files of a time still to come the present one: Snakemake accepts nothing that is older than its input."""
    for path in (*folder.glob("*"), *folder.glob("*/.snakemake_timestamp")):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime > time.time():
                os.utime(path)
