"""Runs one worker process under limits and reads its answer; the only room that starts processes.

The seam for stronger isolation: `confine` decides how the child is started, `Confinement` tells what applied.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lessonpress.settings import Limits

PRINTED = 64 * 1024  # bytes of a lesson's own output that are kept
# Settings under which the same bits come out on every x86-64 processor; see docs/architecture.md.
SETTINGS: Mapping[str, str] = {
    "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41", "PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8",
    "TORCHDYNAMO_DISABLE": "1",
}  # fmt: skip


@dataclass(frozen=True)
class Confinement:
    """Which isolation applied to a child: the profile's name and the limits in force."""

    profile: str
    limits: Mapping[str, int]


@dataclass(frozen=True)
class Ended:
    """How a child ended: its complete answer lines, what it printed, and which limit it hit, if any."""

    lines: tuple[bytes, ...]
    printed: str
    code: int
    limit: str | None
    confinement: Confinement

    def reason(self) -> str:
        """In words, why there is no answer."""
        if self.limit:
            return f"it passed the {self.limit}"
        if self.code == -signal.SIGXCPU:
            return f"it passed the processor time limit of {self.confinement.limits['cpu_seconds']} s"
        if self.code < 0:
            name = signal.Signals(-self.code).name
            hint = " (killed: probably the machine's memory ran out)" if -self.code == signal.SIGKILL else ""
            return f"the process was ended by signal {-self.code}, {name}{hint}"
        return f"the process ended without a result, exit code {self.code}"


def run(module: str, arguments: Sequence[str], scratch: Path, limits: Limits) -> Ended:
    """Run `python -m module arguments… FD` in `scratch` and read the lines that it writes on descriptor FD.

    The child gets an environment built from empty, no standard input, its own session, and the limits; when it has
    answered, ended, or hit a limit, its whole process group is killed.
    """
    reader, writer = os.pipe()
    output_reader, output_writer = os.pipe()
    try:
        # -I would make Python ignore PYTHONHASHSEED, so its parts are named one by one.
        command = [sys.executable, "-s", "-P", "-B", "-m", module, *arguments, str(writer)]
        child = subprocess.Popen(
            command, cwd=scratch, env=environment(scratch), stdin=subprocess.DEVNULL, stdout=output_writer,
            stderr=output_writer, pass_fds=(writer,), start_new_session=True, preexec_fn=lambda: confine(limits),
        )  # fmt: skip
    finally:
        os.close(writer)
        os.close(output_writer)
    try:
        answer, printed, limit = _read(reader, output_reader, child, limits)
    finally:
        _end(child)
        os.close(reader)
        os.close(output_reader)
    lines = tuple(answer.split(b"\n")[:-1])  # what follows the last line feed is no complete line
    confinement = Confinement("posix-basic", limits.model_dump())
    return Ended(lines, printed.decode("utf-8", "replace"), child.returncode, limit, confinement)


def environment(scratch: Path) -> dict[str, str]:
    """The child's whole environment."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(scratch), "TMPDIR": str(scratch), **SETTINGS}


def confine(limits: Limits) -> None:
    """Applied in the child before it becomes Python."""
    mib = 1 << 20
    wanted = {
        resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: limits.cpu_seconds, resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_FSIZE: limits.file_mib * mib,
    }  # fmt: skip
    if sys.platform.startswith("linux"):
        wanted[resource.RLIMIT_AS] = limits.memory_mib * mib
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # At the hard limit the kernel kills without a word; two seconds earlier it says which limit it was.
        late = kind == resource.RLIMIT_CPU and (hard == resource.RLIM_INFINITY or hard >= value + 2)
        resource.setrlimit(kind, (ceiling, ceiling + 2 if late else ceiling))


def _read(
    answer_pipe: int, output_pipe: int, child: subprocess.Popen[bytes], limits: Limits
) -> tuple[bytes, bytes, str | None]:
    """Read both pipes until they close, the child ends, or a limit is hit."""
    answer, printed = bytearray(), bytearray()
    deadline = time.monotonic() + limits.wall_seconds
    with selectors.DefaultSelector() as selector:
        for pipe in (answer_pipe, output_pipe):
            os.set_blocking(pipe, False)
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return bytes(answer), bytes(printed), f"time limit of {limits.wall_seconds} s"
            events = selector.select(min(left, 0.2))
            for key, _ in events:
                chunk = os.read(key.fd, 1 << 18)
                if not chunk:
                    selector.unregister(key.fd)
                elif key.fd == answer_pipe:
                    answer += chunk
                elif len(printed) < PRINTED:
                    printed += chunk[: PRINTED - len(printed)]
            if len(answer) > limits.answer_mib << 20:
                return b"", bytes(printed), f"answer limit of {limits.answer_mib} MiB"
            if not events and child.poll() is not None:
                break  # a left-over descendant may hold the pipes open; it says nothing that counts
    return bytes(answer), bytes(printed), None


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of the child's process group, and wait for the child."""
    if child.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(0.05)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
