"""Folders that workers read: they go with their process, and what a killed one left goes with the next."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import signal
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
    """Remove the folders of this user's processes that are gone, never through a link, and end who still holds them.

    bubblewrap's inner process waits for its outer one for ever where that was killed in between; its command line names
    the folder.
    """
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        owner = path.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdecimal() and len(owner) < 10 and _gone(int(owner)):
            with contextlib.suppress(OSError):
                _remove(path)
                _end_stuck(os.fsencode(path))


def _end_stuck(folder: bytes) -> None:
    """End the processes of bubblewrap that were started for a folder of ours that is gone."""
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        with contextlib.suppress(OSError):  # somebody else's, or gone meanwhile
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0") if name.isdecimal() else []
            if words and os.path.basename(words[0]) == b"bwrap" and folder in {word[: len(folder)] for word in words}:
                os.kill(int(name), signal.SIGKILL)


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
