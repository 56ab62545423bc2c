"""Each layer alone, each level of Landlock alone: what it forbids, what it leaves, and that none leans on another."""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lessonpress import sandbox
from lessonpress.core.settings import Isolation, Limits
from lessonpress.sandbox import bubblewrap, process_tree
from lessonpress.worker import kernel, landlock, seccomp
from lessonpress.worker.syscalls import ABSENT, ALLOWED, ARCHITECTURES, BY_ARGUMENT, CONDITIONAL, CONFINING, NEWEST
from tests.hostile.calls import REFUSED

SOURCE = Path(sandbox.__file__).parents[2]
LEVEL = landlock.level()
pytestmark = [pytest.mark.hostile, pytest.mark.skipif(kernel.machine() is None, reason="the layers are those of Linux")]

FILES = {"read", "list", "notice", "supervisor", "write", "make", "folder", "move", "exec"}
# What Landlock forbids from each level on; later levels forbid all that earlier ones do.
LANDLOCK = {1: FILES, 3: {"truncate"}, 4: {"tcp"}, 6: {"abstract", "signal"}}
SECCOMP = {"nothing", "write", "make", "folder", "truncate", "move", "permissions", "times", "exec", "fork", "tcp",
           "udp", "abstract", "signal", "root folder", "memory file", "handle", "priority", "inode", "hint", "lease",
           "lock", "notice", "owner", "owner of a kind", "its signal", "end of a parent"}  # fmt: skip
HARMLESS = {"control", "own signal", "inherit", "waiting bytes"}


@pytest.fixture
def aims(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Files, a server and an abstract socket to try one's hand at."""
    for name in ("own", "private", "moved"):
        (tmp_path / name).write_text("text")
    (tmp_path / "program").write_text("no program")
    (tmp_path / "program").chmod(0o755)
    (tmp_path / "below").mkdir()
    abstract = f"\0lessonpress-{tmp_path}"[:100]
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(abstract)
        unix.listen()
        yield {"work_dir": str(tmp_path), "port": server.getsockname()[1], "abstract": abstract, "source": str(SOURCE)}


def denied(aims: dict[str, Any], *layers: str, abi: int = 0) -> set[str]:
    """The deeds that chosen layers forbid; a harmless deed that fails, or a deed that fails by itself, is an error."""
    spec = json.dumps({**aims, "layers": layers, "abi": abi})
    done = subprocess.run([sys.executable, "-S", str(Path(__file__).parent / "deeds.py"), spec], capture_output=True,
                          text=True, check=True, timeout=60)  # fmt: skip
    report = json.loads(done.stdout)
    assert {name for name in HARMLESS if report[name]} == set()
    refused = {name for name, error in report.items() if error in ("EPERM", "EACCES", "EXDEV")}
    assert {error for name, error in report.items() if error and name not in refused} <= {"ENOEXEC", "EOPNOTSUPP"}
    return refused


def test_without_layers_everything_is_possible(aims: dict[str, Any]) -> None:
    """The deeds themselves work here, so that a denial below is the layer's doing (an ordinary user may not chroot)."""
    assert denied(aims) <= ({"root folder"} if os.getuid() else set())


def test_privileges_alone(aims: dict[str, Any]) -> None:
    """Without capabilities root is an ordinary user: no new root folder; its own files remain its own."""
    assert denied(aims, "privileges") - {"supervisor"} == {"root folder"}


def test_the_supervisors_memory_is_closed_while_a_worker_runs(aims: dict[str, Any]) -> None:
    """Without any other layer than dropped privileges, the same user cannot read the supervisor's environment."""
    with process_tree.adopt_orphans():
        assert "supervisor" in denied(aims, "privileges")


@pytest.mark.parametrize("abi", range(1, landlock.KNOWN + 1))
def test_landlock_alone_at_each_level(aims: dict[str, Any], abi: int) -> None:
    """Each level forbids exactly what its number promises, without help from any other layer."""
    if abi > LEVEL:
        pytest.skip(f"this kernel's Landlock is of level {LEVEL}")
    promised = set().union(*(deeds for level, deeds in LANDLOCK.items() if level <= abi))
    own = {"root folder"} if os.getuid() else set()
    assert denied(aims, "landlock", abi=abi) - own == promised


def test_the_filter_alone(aims: dict[str, Any]) -> None:
    """The filter forbids every change, every connection and every process; it cannot tell one file from another."""
    assert denied(aims, "seccomp") == SECCOMP


def test_all_layers_together_leave_only_the_harmless(aims: dict[str, Any]) -> None:
    """What is left is reading what may be read, writing to nowhere, and being oneself."""
    if not LEVEL:
        pytest.skip("this kernel has no Landlock")
    assert denied(aims, "privileges", "landlock", "seccomp", abi=LEVEL) == (FILES | SECCOMP) - {"nothing"}


def test_bubblewrap_alone(aims: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it starts: no private file, no network, no other process, nothing written, without any other layer."""
    if not bubblewrap.wrap_command([], tmp_path, Isolation()):
        pytest.skip("bubblewrap does not start here")
    work_dir = tmp_path / "work_dir"
    work_dir.mkdir()
    code = (
        "import json, os, sys, socket\nfrom lessonpress.worker import confine\n"
        "def main():\n"
        "    channel = confine.begin(); channel.seal()\n"
        f"    one = socket.socket(); error = one.connect_ex(('127.0.0.1', {aims['port']}))\n"
        f"    channel.say([os.path.exists({str(tmp_path / 'private')!r}), error == 0, os.getppid() < 9])\n"
        "    channel.end()\n"
    )
    (work_dir / "inside_bubblewrap.py").write_text(code)
    own = sandbox.child.environment
    monkeypatch.setattr(sandbox.child, "environment", lambda scratch: {**own(scratch), "PYTHONPATH": str(work_dir)})
    ended = sandbox.run("inside_bubblewrap", [str(work_dir)], work_dir, Limits(), Isolation(minimum="posix-basic"),
                          layers=sandbox.Layers(()))  # fmt: skip
    report = ended.isolation()
    assert json.loads(ended.lines[0]) == [False, False, True]  # processes are counted from one
    assert report["namespaces"] == list(bubblewrap.NAMESPACES)
    assert report["profile"] == "posix-basic"  # it counts for nothing in the profile: the worker cannot see it
    assert report["probe"]["own"] == "allowed"
    assert report["probe"]["write"] in ("denied", "failed")  # a read-only file system


ALLOW, KILL, REFUSE, ABSENT_CALL = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026


def decided(
    column: int, number: int, *arguments: int, architecture: int | None = None, pid: int = 7, left: Sequence[str] = ()
) -> int:
    """What the filter decides, worked out by an interpreter of its instructions written from the kernel's manual."""
    given = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("<iIQ6Q", number, architecture or ARCHITECTURES[column], 0, *given)
    code, at, held = seccomp.program(column, pid, left), 0, 0
    while True:
        operation, then, otherwise, constant = code[at]
        at += 1
        if operation == 0x20:
            (held,) = struct.unpack_from("<I", data, constant)
        elif operation == 0x06:
            return constant
        else:
            true = {0x15: held == constant, 0x25: held > constant, 0x45: bool(held & constant)}[operation]
            at += then if true else otherwise


@pytest.mark.parametrize("column", [0, 1])
def test_the_filter_decides_as_its_table_says(column: int) -> None:
    """On both processors, for every call of the table, with the arguments that matter; every path ends."""
    numbers = {name: values[column] for name, values in BY_ARGUMENT.items() if values[column] is not None}
    allowed = {values[column]: name for group in ALLOWED.values() for name, values in group.items()}
    special = {values[column] for table in (BY_ARGUMENT, ABSENT) for values in table.values()}
    for number in range(NEWEST + 1):
        if number not in special:
            assert decided(column, number, 7, 7, 7) == (ALLOW if number in allowed else REFUSE), number
    for name, values in {**REFUSED, **CONDITIONAL, **CONFINING}.items():
        if (number := values[column]) is not None:
            assert decided(column, number, 7, 7, 7) == REFUSE, name
    assert {decided(column, values[column] or 0) for values in ABSENT.values()} == {ABSENT_CALL}
    assert decided(column, NEWEST + 1) == decided(column, 0x40000000) == ABSENT_CALL
    assert decided(column, numbers["kill"], 7, architecture=0x40000003) == KILL
    assert decided(column, numbers["clone"], 0x3D0F00) == ALLOW
    assert decided(column, numbers["clone"], 0x11) == REFUSE
    # CLONE_NEWNS, …CGROUP, …UTS, …IPC, …USER, …PID, …NET, each with a thread, and where a worker may fork.
    for bit in (17, 25, 26, 27, 28, 29, 30):
        assert decided(column, numbers["clone"], 0x10011 | 1 << bit) == REFUSE
        assert decided(column, numbers["clone"], 0x11 | 1 << bit, left=seccomp.STARTING) == REFUSE
    assert decided(column, numbers["clone"], 0x11, left=seccomp.STARTING) == ALLOW
    for flags in (0, os.O_CLOEXEC, os.O_DIRECTORY):
        assert decided(column, numbers["openat"], 0, 0, flags) == ALLOW
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_CLOEXEC | os.O_RDWR):
        assert decided(column, numbers["openat"], 0, 0, flags) == REFUSE
    for name in ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"):
        assert [decided(column, numbers[name], pid) for pid in (7, 8, 0, 0xFFFFFFFF)] == [ALLOW, REFUSE, REFUSE, REFUSE]
    assert [decided(column, numbers["prlimit64"], pid) for pid in (0, 7, 8)] == [ALLOW, ALLOW, REFUSE]
    # TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX ask or concern this process; TIOCSTI, TIOCLINUX, FS_IOC_SETFLAGS,
    # FS_IOC_SETVERSION, FS_IOC_FSSETXATTR, FICLONE, RNDADDTOENTCNT do not.
    assert [decided(column, numbers["ioctl"], 0, what) for what in (0x5401, 0x5413, 0x541B, 0x5451)] == [ALLOW] * 4
    for what in (0x5412, 0x541C, 0x40086602, 0x40087602, 0x401C5820, 0x40049409, 0x40045201, 0):
        assert decided(column, numbers["ioctl"], 0, what) == REFUSE
    # From the kernel's headers: F_SETFD, F_SETFL and F_DUPFD_CLOEXEC harm nobody; F_SETOWN, F_SETSIG, F_SETOWN_EX do.
    assert [decided(column, numbers["fcntl"], 0, what) for what in (2, 4, 1030)] == [ALLOW] * 3
    assert [decided(column, numbers["fcntl"], 0, what) for what in (8, 10, 15)] == [REFUSE] * 3
    # Locks, leases, notices, hints, and the size of pipes reach past the process.
    for what in (5, 6, 7, 36, 37, 38, 1024, 1026, 1031, 1036, 1038):
        assert decided(column, numbers["fcntl"], 0, what) == REFUSE
    # MADV_DONTNEED, MADV_FREE; MADV_MERGEABLE, MADV_PAGEOUT, MADV_HWPOISON.
    assert [decided(column, numbers["madvise"], 0, 0, how) for how in (4, 8)] == [ALLOW] * 2
    assert [decided(column, numbers["madvise"], 0, 0, how) for how in (12, 21, 100)] == [REFUSE] * 3
    # PR_SET_PDEATHSIG would let a worker outlive its parent; PR_SET_NAME names a thread.
    assert [decided(column, numbers["prctl"], what) for what in (1, 15, 38)] == [REFUSE, ALLOW, ALLOW]
    assert [decided(column, numbers["prctl"], what) for what in (4, 24, 36, 47, 59, 62)] == [REFUSE] * 6
    assert [decided(column, numbers["openat"], 0, 0, os.O_RDWR, left=seccomp.WRITING)] == [ALLOW]
    assert seccomp.digest(column, seccomp.WRITING) != seccomp.digest(column) != seccomp.digest(1 - column)
    read = {0: 0, 1: 63}[column]
    assert decided(column, read) == ALLOW


def test_the_table_is_the_kernels_own() -> None:
    """The numbers are those of the system's headers, where these are installed; every call stands in one list."""
    tables = (BY_ARGUMENT, CONDITIONAL, ABSENT, CONFINING, REFUSED, *ALLOWED.values())
    numbers = {name: values for table in tables for name, values in table.items()}
    assert sum(map(len, tables)) == len(numbers)
    for column in (0, 1):
        known = [values[column] for values in numbers.values() if values[column] is not None]
        assert len(known) == len(set(known))
        assert max(known) <= NEWEST
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if header.exists():
        report = dict(line.split()[1:3] for line in header.read_text().splitlines() if line.startswith("#define __NR_"))
        for name, number in report.items():
            if int(number) <= NEWEST:
                assert numbers[name.removeprefix("__NR_")][0] == int(number), name


def test_every_call_that_is_allowed_has_its_reason_in_the_page() -> None:
    """docs/isolation.md lists each group of calls that the filter allows, with the reason; neither more nor fewer."""
    page = (SOURCE.parent / "docs" / "isolation.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \| (`[^|]+`) \| ([^|]+\S) \|$", page, flags=re.MULTILINE)
    listed = {group: set(re.findall(r"`(\w+)`", calls)) for group, calls, _ in rows}
    assert listed == {**{group: set(calls) for group, calls in ALLOWED.items()}, "by argument": set(BY_ARGUMENT)}
    assert all(len(why.split()) > 4 for _, _, why in rows)
