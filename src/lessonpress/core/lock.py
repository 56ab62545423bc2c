"""One publisher at a time: whoever changes the published site waits for its turn; a failure is put into words."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lessonpress.core.errors import LessonError

# What a system answers where a folder cannot be locked, as on NFS.
WITHOUT = (errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
CLAIM = ".publishing"  # who publishes, where there are no locks
LONG = 600.0  # seconds after which a publisher on another machine is taken for dead; one lesson takes a second
PAUSE = 0.1  # seconds between two looks at somebody else's claim
LEFT = ".*.tmp-*"  # what a killed publisher leaves behind; whoever holds the lock knows that nobody uses it


@contextmanager
def hold(results: Path) -> Iterator[None]:
    """Hold the lock on the published site; it goes with the process, however that ends.

    Raises LessonError for a full disk, a missing permission and the like: each file was written whole or not at all,
    so what is published is what it was.
    """
    try:
        results.mkdir(parents=True, exist_ok=True)
        handle = os.open(results, os.O_RDONLY)
        try:
            with _held(handle, results):
                yield
        finally:
            os.close(handle)
    except OSError as error:
        where = os.path.relpath(error.filename2 or error.filename or results)
        fix = "What was published before is as it was. Mend this and run the same command again."
        raise LessonError(where, f"the system refuses: {error.strerror or error}", "", fix) from None


@contextmanager
def _held(handle: int, results: Path) -> Iterator[None]:
    """The folder's own lock; on a file system of several machines that has none, a file that says who publishes."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in WITHOUT:
            raise
        with _claimed(results / CLAIM):
            yield
    else:
        yield


@contextmanager
def _claimed(claim: Path) -> Iterator[None]:
    """Be the only one who has made a file; one that is left of a publisher that is gone is taken away."""
    while True:
        try:
            handle = os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            break
        except FileExistsError:
            if not _forgotten(claim):
                time.sleep(PAUSE)
    try:
        os.write(handle, f"{os.uname().nodename} {os.getpid()}".encode())
        os.close(handle)
        yield
    finally:
        claim.unlink(missing_ok=True)


def _forgotten(claim: Path) -> bool:
    """Take away a claim whose publisher has ended here, or has not been heard of elsewhere for long."""
    try:
        owner, seen = claim.read_text(encoding="utf-8").split(), claim.stat()
    except OSError:
        return True  # it has just gone
    here = len(owner) == 2 and owner[0] == os.uname().nodename
    if not (here and not alive(int(owner[1]))) and time.time() - seen.st_mtime < LONG:
        return False
    aside = claim.with_name(f"{claim.name}.tmp-{os.uname().nodename}-{os.getpid()}")
    try:
        claim.rename(aside)
        if aside.stat().st_ino != seen.st_ino:  # somebody was quicker, and this is already the next one's
            os.link(aside, claim)
        aside.unlink()
    except OSError:
        return True
    return True


def alive(pid: int) -> bool:
    """Whether there is a process of this number on this machine."""
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True


def sweep(folder: Path) -> None:
    """Remove what killed publishers left in a folder; only for the holder of the lock."""
    for left in folder.glob(LEFT):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
