"""The processes that descend from this one: counted while a worker runs, and none left when it has ended.

A process that double-forks or calls setsid leaves its parent's group, but it cannot leave the care of a subreaper:
orphans come to this process, which kills whatever it did not have before.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lessonpress.worker import kernel

_TICKS = os.sysconf("SC_CLK_TCK")  # of processor time in a second
_PAUSE = 0.005  # seconds between two looks while killed processes go
GONE = (1 << 22) + 1  # no process has a number as high
_PATIENCE = 10.0  # seconds until somebody who cannot be killed (in a hanging system call) is left behind


@dataclass(frozen=True)
class Process:
    """One process: its parent, whether it lives (or is a zombie), its threads, and its seconds of processor time."""

    pid: int
    parent: int
    alive: bool
    threads: int
    seconds: float


def processes() -> dict[int, Process]:
    """Every process that /proc shows; none on a system without /proc."""
    alive = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit() and (one := process(int(name))):
            alive[one.pid] = one
    return alive


def process(pid: int) -> Process | None:
    """One process, or None when it has gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # the name before may hold anything
    except OSError:
        return None
    alive = fields[0] not in (b"Z", b"X")
    return Process(pid, int(fields[1]), alive, int(fields[17]), (int(fields[11]) + int(fields[12])) / _TICKS)


def descendants(root: int) -> list[Process]:
    """The processes below `root`, itself left out."""
    everybody = processes()
    children: dict[int, list[Process]] = {}
    for one in everybody.values():
        children.setdefault(one.parent, []).append(one)
    below_root, waiting = [], [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        below_root += below
        waiting += [one.pid for one in below]
    return below_root


def find_outer_pid(inside: int, root: int) -> int:
    """The number that a process below `root` has here, by its number in the namespace where it lives."""
    for one in descendants(root):
        with contextlib.suppress(OSError), open(f"/proc/{one.pid}/status", "rb") as file:
            spaces = next((line.split()[1:] for line in file if line.startswith(b"NSpid:")), [])
            if len(spaces) > 1 and int(spaces[-1]) == inside:
                return one.pid
    return GONE


@dataclass(frozen=True)
class Adopted:
    """This process while it looks after a worker; `before` are descendants that belong to somebody else."""

    before: frozenset[int]

    def end(self, worker: int, wait: Callable[[float], bool]) -> None:
        """Kill the worker, its group, and all that it started; `wait` tells whether it has ended, in some seconds."""
        ended = wait(0.05)
        if not ended or not kernel.LINUX:  # where there is no sweep, its group may outlive it
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(worker, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
            ended = ended or wait(_PATIENCE)
        self._sweep()

    def _sweep(self) -> None:
        """Kill and reap descendants until none is left that was not there before."""
        deadline = time.monotonic() + _PATIENCE
        while kernel.LINUX and time.monotonic() < deadline:
            left = [one.pid for one in descendants(os.getpid()) if one.pid not in self.before]
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            for pid in left:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if not left:
                return
            time.sleep(_PAUSE)


@contextlib.contextmanager
def adopt_orphans() -> Iterator[Adopted]:
    """For as long as this lasts, orphaned descendants come to this process, and nobody may look into its memory."""
    before = frozenset(one.pid for one in descendants(os.getpid()))
    held = kernel.integer()
    with hide_memory():
        if kernel.LINUX:
            kernel.prctl(kernel.PR_GET_CHILD_SUBREAPER, held)
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        try:
            yield Adopted(before)
        finally:
            with contextlib.suppress(OSError):
                kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, int.from_bytes(held.raw, "little"))


@contextlib.contextmanager
def hide_memory() -> Iterator[None]:
    """For as long as this lasts, no other process may look into this one's memory or environment."""
    dumpable = kernel.prctl(kernel.PR_GET_DUMPABLE) if kernel.LINUX else 1
    if kernel.LINUX:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            kernel.prctl(kernel.PR_SET_DUMPABLE, min(dumpable, 1))
