"""One publisher at a time, also where a file system has no locks."""

import errno
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lessonpress.core import lock
from lessonpress.core.errors import LessonError


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a file system that refuses to lock a folder, as NFS does."""

    def refuse(*_: Any) -> None:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    monkeypatch.setattr(lock, "PAUSE", 0.001)


@pytest.mark.usefixtures("without")
def test_publishers_take_turns_without_locks(tmp_path: Path) -> None:
    """Eight that count in a file lose nothing, and no claim stays behind."""
    counter = tmp_path / "counter"
    counter.write_text("0")

    def publish() -> None:
        for _ in range(5):
            with lock.hold(tmp_path):
                count = int(counter.read_text())
                time.sleep(0.0005)
                counter.write_text(str(count + 1))

    threads = [threading.Thread(target=publish) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.read_text() == "40"
    assert [path.name for path in tmp_path.iterdir()] == ["counter"]


def dead() -> int:
    """The number of a process that has ended."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("left", ["dead here", "long ago elsewhere"])
def test_a_claim_of_somebody_who_is_gone_is_taken_away(tmp_path: Path, left: str) -> None:
    """A publisher that was killed stops nobody: at once on the same machine, after a while on another one."""
    claim = tmp_path / lock.CLAIM
    claim.write_text(f"{os.uname().nodename} {dead()}" if left == "dead here" else "elsewhere 1")
    if left != "dead here":
        os.utime(claim, (time.time() - lock.LONG - 1,) * 2)
    with lock.hold(tmp_path):
        assert claim.read_text() == f"{os.uname().nodename} {os.getpid()}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "owner",
    [f"{os.uname().nodename} {os.getpid()}", "elsewhere 1", "", "half"],
    ids=["here", "elsewhere", "none", "half"],
)
def test_a_claim_of_somebody_who_works_is_respected(tmp_path: Path, owner: str) -> None:
    """Alive here, unknown elsewhere, or just being written: it stays."""
    claim = tmp_path / lock.CLAIM
    claim.write_text(owner)
    assert not lock._forgotten(claim)
    assert claim.read_text() == owner


def test_other_refusals_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails is no file system without locks."""

    def fail(*_: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(lock.fcntl, "flock", fail)
    with pytest.raises(LessonError, match="Input/output error"), lock.hold(tmp_path):
        pytest.fail("it went on")
