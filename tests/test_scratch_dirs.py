"""Folders that workers read go with their process; one that was killed leaves nothing for long, processes neither."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lessonpress.core.settings import Limits
from lessonpress.sandbox import child, scratch_dirs


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder for temporary files of the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left(place: Path, pid: int, name: str = "x") -> Path:
    """A folder as a process leaves it, with something in it."""
    folder = place / f"{scratch_dirs.PREFIX}{pid}-{name}"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_text("x")
    return folder


def ended() -> int:
    """The number of a process that is gone."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_killed_process_leaves_a_folder_that_the_next_one_removes(place: Path) -> None:
    """Nothing can be done when the kill comes; whoever keeps servers next tidies up, and then after itself."""
    code = (f"import os, tempfile; tempfile.tempdir = {str(place)!r}\n"
            "from lessonpress.sandbox import scratch_dirs\n"
            "with scratch_dirs.open_scratch_dir() as folder: os.kill(os.getpid(), 9)")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    [old] = place.iterdir()
    with scratch_dirs.open_scratch_dir() as mine:
        assert list(place.iterdir()) == [mine]
        assert not old.exists()
    assert list(place.iterdir()) == []


def test_what_may_be_in_use_stays(place: Path) -> None:
    """The folder of a living process, one that somebody holds, and one that tells no owner."""
    pid = ended()
    living, held = left(place, os.getpid()), left(place, pid, "held")
    nameless = place / f"{scratch_dirs.PREFIX}abc-def"
    nameless.mkdir()
    handle = os.open(held, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    scratch_dirs.sweep()
    assert all(path.exists() for path in (living, held, nameless))
    os.close(handle)
    scratch_dirs.sweep()
    assert not held.exists()


def test_no_link_is_followed(place: Path) -> None:
    """A link with a name like ours, or inside a folder of ours, leads to files that stay."""
    pid = ended()
    precious = place / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    (place / f"{scratch_dirs.PREFIX}{pid}-link").symlink_to(precious)
    (left(place, pid) / "link").symlink_to(precious)
    scratch_dirs.sweep()
    assert (precious / "file").exists()
    assert not (place / f"{scratch_dirs.PREFIX}{pid}-x").exists()


def test_another_users_folder_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where this process might remove it."""
    folder = left(place, ended())
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    scratch_dirs.sweep()
    assert folder.exists()


def test_a_process_of_bubblewrap_that_waits_for_ever_is_ended(place: Path) -> None:
    """Its outer one was killed together with the publisher: the next one ends it."""
    old, living = left(place, ended()), left(place, os.getpid())
    waits = ["-c", "import time; time.sleep(60)"]
    stuck, other, shell = (
        subprocess.Popen([name, *waits, "--ro-bind", str(folder)], executable=sys.executable)
        for name, folder in (("/usr/bin/bwrap", old / "deep"), ("bwrap", living), ("sh", old))
    )
    try:
        scratch_dirs.sweep()
        assert stuck.wait(10) == -9
        assert (other.poll(), shell.poll()) == (None, None)
    finally:
        for process in (stuck, other, shell):
            process.kill()
            process.wait()


def test_bubblewrap_decides_itself_when_to_die_with_its_parent(place: Path) -> None:
    """Killed before it lets its inner process begin, it would leave that one waiting; anything else dies at once."""
    asks = "import ctypes; n = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(n)); print(n.value, flush=True)"
    for alone, signal in ((True, "9"), (False, "0")):
        reads, writes = os.pipe()
        with child.start([sys.executable, "-c", asks], place, Limits(), writes, writes, alone=alone) as process:
            os.close(writes)
            process.wait(30)
        with open(reads) as output:
            assert output.read().strip() == signal
