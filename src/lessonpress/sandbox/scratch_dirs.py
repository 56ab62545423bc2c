"""The folder below which kept servers work: it goes with its process, and what a killed one left goes with the next."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "lessonpress-kept-"  # then the owner's number, a hyphen, and something random


@contextlib.contextmanager
def open_scratch_dir() -> Iterator[Path]:
    """A new folder of this process's own, locked for as long as the block lasts."""
    sweep()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as folder:
        handle = os.open(folder, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):  # a file system without locks: its folders are not swept
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield Path(folder).resolve()
        finally:
            os.close(handle)


def sweep() -> None:
    """Remove the folders of this user's processes that are gone; never through a link."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        owner = path.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdecimal() and len(owner) < 10 and _gone(int(owner)):
            with contextlib.suppress(OSError):
                _remove(path)


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno == errno.ESRCH
    return False


def _remove(path: Path) -> None:
    """Remove a folder that is this user's and that nobody holds: a process of another container has numbers of its own.

    Raises OSError for any other.
    """
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(handle).st_uid == os.getuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)
