"""Reads what a worker answers and prints, under every limit that the parent itself must watch."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lessonpress.core.settings import Limits
from lessonpress.sandbox import process_tree
from lessonpress.sandbox.server import Request
from lessonpress.worker import kernel

PRINTED = 64 * 1024  # bytes of a lesson's own output that are kept
_LOOK = 0.2  # seconds between two looks at processes, threads and files
_GRACE = 0.5  # seconds that a worker has to end after its answer
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Reply:
    """What came: the worker's first line (what isolation applied), its other lines, the print, the limit hit."""

    first: bytes
    lines: tuple[bytes, ...]
    printed: bytes
    limit: str | None
    strange: bool
    cut: bool  # the worker's end of the answer pipe was closed, and yet the worker did not end


@dataclass
class _Listener:
    request: Request
    scratch: Path
    limits: Limits
    around: int  # processes of an outer layer
    answer: bytearray = field(default_factory=bytearray)
    printed: bytearray = field(default_factory=bytearray)
    said: int = 0  # bytes printed, kept or not
    cut: bool = False
    closed: tuple[int, ...] = ()  # the whole family, once it is known that it cannot grow
    meanwhile: Callable[[bytes], None] | None = None  # called with every complete line when it comes, marks and all
    passed: int = 0  # bytes of the answer that `meanwhile` was given

    def listen(self) -> str | None:
        """Read until both pipes close, the worker ends, or a limit is hit; answers the limit's name."""
        deadline = time.monotonic() + self.limits.wall_seconds
        look = 0.0
        with selectors.DefaultSelector() as selector:
            for pipe in (self.request.answer, self.request.output):
                os.set_blocking(pipe, False)
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                now = time.monotonic()
                if now >= deadline:
                    self.cut = self.request.answer not in selector.get_map()
                    return None if self.cut else "wall_seconds"
                if now >= look:
                    if limit := self._watch():
                        return limit
                    look = time.monotonic() + _LOOK
                events = selector.select(max(0.0, min(deadline, look) - now))
                for key, _ in events:
                    if not self._read(key.fd):
                        selector.unregister(key.fd)
                        if key.fd == self.request.answer:
                            deadline = min(deadline, time.monotonic() + _GRACE)
                if limit := self._sizes():
                    return limit
                if not events and self.request.ended():
                    break  # a left-over descendant may hold the pipes open; it says nothing that counts
        return None

    def _read(self, pipe: int) -> bool:
        """Take what is there; False at the end."""
        chunk = os.read(pipe, _CHUNK)
        if pipe == self.request.answer:
            self.answer += chunk
            self._pass_on()
        else:
            self.said += len(chunk)
            self.printed += chunk[: PRINTED - len(self.printed)]
        return bool(chunk)

    def _pass_on(self) -> None:
        """Pass on the complete lines that have come since the last time."""
        end = self.answer.rfind(b"\n") + 1
        if self.meanwhile and end > self.passed:
            for line in bytes(self.answer[self.passed : end]).splitlines():
                self.meanwhile(line)
            self.passed = end

    def _sizes(self) -> str | None:
        if len(self.answer) > self.limits.answer_mib << 20:
            return "answer_mib"
        return "printed_mib" if self.said > self.limits.printed_mib << 20 else None

    def _watch(self) -> str | None:
        """Count what the kernel does not count for us, from the moment at which lesson code can run."""
        if b"\n" not in self.answer:
            return None
        if not kernel.LINUX:
            return "memory_mib" if resident(self.request.pid) > self.limits.memory_mib << 20 else None
        return self._crowd() or ("scratch_mib" if size(self.scratch) > self.limits.scratch_mib << 20 else None)

    def _crowd(self) -> str | None:
        worker = self.request.pid
        if self.closed:
            seen = [process_tree.process(pid) for pid in self.closed]
        else:
            seen = [process_tree.process(worker), *process_tree.descendants(worker)]
        now = [one for one in seen if one and one.alive]
        if not self.closed and b'"fork":"denied"' in self.answer.partition(b"\n")[0]:
            self.closed = tuple(one.pid for one in now)
        if sum(one.seconds for one in now) >= self.limits.cpu_seconds + 0.5:
            return "cpu_seconds"  # the kernel's own limit, half a second earlier, was ignored or went round
        if len(now) - self.around > self.limits.processes:
            return "processes"
        return "threads" if sum(one.threads - 1 for one in now) + 1 > self.limits.threads else None


def listen(
    request: Request, scratch: Path, limits: Limits, mark: bytes, around: int = 0,
    meanwhile: Callable[[bytes], None] | None = None,
) -> Reply:  # fmt: skip
    """Everything that a worker said, or the limit that it passed; lines that do not begin with `mark` are strange.

    `around` is how many processes an outer layer adds to the worker's own; `meanwhile` is called with each marked line
    when it comes, without its mark.
    """
    start = mark + b" "
    tell = meanwhile and (lambda line: meanwhile(line[len(start) :]) if line.startswith(start) else None)
    listener = _Listener(request, scratch, limits, around, meanwhile=tell)
    limit = listener.listen()
    lines = bytes(listener.answer).split(b"\n")[:-1]  # what follows the last line feed is no complete line
    strange = not all(line.startswith(mark + b" ") for line in lines)
    first, *rest = [b"", *()] if strange or not lines else [line[len(mark) + 1 :] for line in lines]
    return Reply(first, () if limit == "answer_mib" else tuple(rest), bytes(listener.printed), limit, strange,
                 listener.cut)  # fmt: skip


def size(folder: Path) -> int:
    """Bytes of all files below a folder, as far as they can be seen."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
            except OSError:
                continue
    return total


def resident(pid: int) -> int:
    """Bytes of memory that a process holds, as `ps` says: for systems without a limit on address space."""
    done = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return int(done.stdout.strip() or 0) * 1024
