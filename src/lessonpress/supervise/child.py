"""Starts a worker with an environment built from empty, limits, its own session, and three pipes."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lessonpress.settings import Limits
from lessonpress.worker import kernel

# Settings under which the same bits come out on every x86-64 processor; see docs/architecture.md.
SETTINGS: Mapping[str, str] = {
    "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41", "PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8",
    "TORCHDYNAMO_DISABLE": "1",
}  # fmt: skip


@dataclass(frozen=True)
class Started:
    """A running worker with the parent's ends of its answer and output pipes."""

    process: subprocess.Popen[bytes]
    answer: int
    output: int

    def close(self) -> None:
        """Close the parent's ends: whoever still writes gets an error."""
        os.close(self.answer)
        os.close(self.output)


def environment(scratch: Path) -> dict[str, str]:
    """The child's whole environment.

    No program is to be found: a library that looks for a compiler while it is imported (the CUDA build of torch does)
    must not go on to write a file for it, which ends in an error.
    """
    return {"PATH": "", "HOME": str(scratch), "TMPDIR": str(scratch), **SETTINGS}


def start(command: Sequence[str], scratch: Path, spoken: bytes, limits: Limits) -> Started:
    """Start `command…` FD in `scratch`, FD being the answer pipe's number; `spoken` waits on its standard input.

    `spoken` must fit into a pipe (64 KiB). Raises OSError when the process cannot be started.
    """
    heard, said = os.pipe()
    os.write(said, spoken)
    os.close(said)
    answer, answers = os.pipe()
    output, outputs = os.pipe()
    parent = os.getpid()
    try:
        process = subprocess.Popen(
            [*command, str(answers)], cwd=scratch, env=environment(scratch), stdin=heard, stdout=outputs,
            stderr=outputs, pass_fds=(answers,), start_new_session=True, preexec_fn=lambda: confine(limits, parent),
        )  # fmt: skip
    except BaseException:
        os.close(answer)
        os.close(output)
        raise
    finally:
        for descriptor in (heard, answers, outputs):
            os.close(descriptor)
    return Started(process, answer, output)


def confine(limits: Limits, parent: int) -> None:
    """Applied in the child before it becomes Python: limits, and death together with the parent."""
    if kernel.LINUX:
        with contextlib.suppress(OSError):
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
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
