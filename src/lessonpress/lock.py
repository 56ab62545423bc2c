"""One publisher at a time: whoever changes the published site waits for its turn, and a failure is told in words."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lessonpress.errors import LessonError

LEFT = ".*.tmp-*"  # what a killed publisher leaves behind; whoever holds the lock knows that nobody uses it


@contextmanager
def alone(results: Path) -> Iterator[None]:
    """Hold the lock on the published site; it goes with the process, however that ends.

    Raises LessonError for a full disk, a missing permission and the like: each file was written whole or not at all,
    so what is published is what it was.
    """
    try:
        results.mkdir(parents=True, exist_ok=True)
        handle = os.open(results, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
    except OSError as error:
        where = os.path.relpath(error.filename2 or error.filename or results)
        fix = "What was published before is as it was. Mend this and run the same command again."
        raise LessonError(where, f"the system refuses: {error.strerror or error}", "", fix) from None


def sweep(folder: Path) -> None:
    """Remove what killed publishers left in a folder; only for the holder of the lock."""
    for left in folder.glob(LEFT):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
