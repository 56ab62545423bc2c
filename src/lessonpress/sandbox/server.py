"""A process that has a program's libraries loaded, and has a child of its own do each request."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lessonpress.core.settings import Isolation, Limits
from lessonpress.sandbox import bubblewrap, child, process_tree, scratch_dirs
from lessonpress.worker import kernel
from lessonpress.worker.records import WorkerRequest
from lessonpress.worker.server import NUMBER, READY

FORKS = kernel.LINUX  # elsewhere a process that has loaded so much is better not forked: every request has its own
_LOST = 9  # how a child ended whose server cannot tell any more: killed


@dataclass
class Request:
    """A worker at work: its process, the ends of the pipes on which it answers and prints, and how it ended."""

    server: Server
    pid: int
    answer: int
    output: int
    code: int | None = None  # once it has ended; negative is the signal that ended it

    def close(self) -> None:
        """Close the pipes: whoever still writes gets an error."""
        os.close(self.answer)
        os.close(self.output)

    def ended(self) -> bool:
        """Whether the worker has ended."""
        return self.wait(0.0)

    def wait(self, seconds: float) -> bool:
        """Wait for the worker's end; whether it came."""
        if self.code is None:
            self.code = self.server.wait_for_end(seconds)
        return self.code is not None


@dataclass
class Server:
    """A running server. `shown` are the folders below which its children find what they work on."""

    module: str
    limits: Limits
    isolation: Isolation
    shown: Sequence[str]
    within: Path | None = None  # where its own scratch folder lies; the system's temporary folder
    forks: bool = field(default_factory=lambda: FORKS)
    printed: bytes = b""  # before it was ready
    used: bool = False
    ready: bool = False
    owing: bool = False  # it has not said yet how its last child ended

    def __post_init__(self) -> None:
        """Start the process; its libraries load while the caller goes on."""
        self.open = contextlib.ExitStack()
        if self.within:
            inner = tempfile.TemporaryDirectory(prefix="lessonpress-server-", dir=self.within)
            folder = Path(self.open.enter_context(inner))
        else:
            folder = self.open.enter_context(scratch_dirs.open_scratch_dir())
        home = folder / "home"
        home.mkdir()
        self.forbidden = folder / "forbidden"
        self.forbidden.write_bytes(b"no program\n")
        self.forbidden.chmod(0o700)
        self.outer = bubblewrap.wrap_command([*self.shown, str(folder)], home, self.isolation)
        self.control, theirs = socket.socketpair()
        self.output, output = os.pipe()
        # -I would make Python ignore PYTHONHASHSEED, so its parts are named one by one.
        python = [sys.executable, "-s", "-P", "-B", "-m", "lessonpress.worker.server", self.module]
        once = [] if self.forks else ["once"]
        try:
            self.process = child.start([*self.outer, *python, str(theirs.fileno()), *once], home, self.limits, output,
                                       theirs.fileno(), alone=not self.outer)  # fmt: skip
        finally:
            theirs.close()
            os.close(output)

    def fits(self, limits: Limits, isolation: Isolation) -> bool:
        """Whether it can do a next request under these limits."""
        there = self.process.poll() is None and (self.forks or not self.used) and not self.owing
        return there and (self.limits, self.isolation) == (limits, isolation)

    def loaded(self, deadline: float) -> bool:
        """Wait until all is loaded; False when the server ended or the time passed."""
        while not self.ready and (left := deadline - time.monotonic()) > 0:
            waiting: list[Any] = [self.control, self.output]
            readable = select.select(waiting, [], [], left)[0]
            if self.output in readable and (chunk := os.read(self.output, 1 << 16)):
                self.printed = (self.printed + chunk)[: 1 << 16]
            elif self.control in readable:
                if not self._received(len(READY)):
                    return False
                self.ready = True
        return self.ready

    def ask(self, request: WorkerRequest) -> Request:
        """Have a request done; the request must fit into a pipe (64 KiB). Raises OSError when the server has gone."""
        self.used = self.owing = True
        reads, said = os.pipe()
        answer, answers = os.pipe()
        output, outputs = os.pipe()
        try:
            os.write(said, json.dumps(request).encode())
            socket.send_fds(self.control, [b"?"], [reads, answers, outputs])
            pid = self._child() if self.forks else self.process.pid
        except BaseException:
            os.close(answer)
            os.close(output)
            raise
        finally:
            for descriptor in (reads, said, answers, outputs):
                os.close(descriptor)
        return Request(self, pid, answer, output)

    def _child(self) -> int:
        """The process that the server has just forked, by the number that it has here."""
        ready = select.select([self.control], [], [], self.limits.wall_seconds)[0]  # it may have been stopped
        inside = self._number() if ready else None
        if inside is None:
            raise ConnectionError("the server has gone")
        return process_tree.find_outer_pid(inside, self.process.pid) if self.outer else inside

    def wait_for_end(self, seconds: float) -> int | None:
        """The child's exit code, or minus the signal that ended it; None when it has not ended within some seconds."""
        if not self.forks:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds) if seconds else self.process.poll()
            code = self.process.returncode
            return code if code is None else bubblewrap.exit_code(code) if self.outer else code
        if not select.select([self.control], [], [], seconds)[0]:
            return None
        status = self._number()
        self.owing = False
        return -_LOST if status is None else os.waitstatus_to_exitcode(status)

    def _number(self) -> int | None:
        data = self._received(NUMBER.size)
        return int(NUMBER.unpack(data)[0]) if data else None

    def _received(self, size: int) -> bytes:
        """So many bytes from the server, or none when it has gone."""
        try:
            return self.control.recv(size, socket.MSG_WAITALL)
        except OSError:
            return b""

    def gone(self) -> int:
        """Kill the server if it has not ended; its exit code."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.05)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, 9)
        self.process.kill()
        code = self.process.wait()
        return bubblewrap.exit_code(code) if self.outer else code

    def end(self) -> None:
        """Kill the server and remove its scratch folder."""
        self.control.close()
        self.gone()
        os.close(self.output)
        self.open.close()
