"""Starts a server process with an environment built from empty, and says under which limits its children work."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lessonpress.core.settings import Limits
from lessonpress.worker import kernel

# Settings under which the same bits come out on every x86-64 processor that was tried; see docs/determinism.md. The C
# library would choose its exp by whether there is FMA (two generations of names), OpenBLAS and numpy by generation;
# numpy itself does not start below what is called Nehalem and X86_V2 here.
SETTINGS: Mapping[str, str] = {
    "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41", "PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8",
    "TORCHDYNAMO_DISABLE": "1", "OPENBLAS_CORETYPE": "Nehalem",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable,-FMA4_Usable",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}  # fmt: skip
MIB = 1 << 20


def environment(scratch: Path) -> dict[str, str]:
    """The child's whole environment.

    No program is to be found: a library that looks for a compiler while it is imported (the CUDA build of torch does)
    must not go on to write a file for it, which ends in an error.
    """
    # torch's optimizers import its compiler, which wants to make a folder of this name; it is there.
    own = {"HOME": str(scratch), "TMPDIR": str(scratch), "TORCHINDUCTOR_CACHE_DIR": str(scratch)}
    return {"PATH": "", **own, **SETTINGS}


def start(
    command: Sequence[str], home: Path, limits: Limits, output: int, kept: int, *, alone: bool = True
) -> subprocess.Popen[bytes]:
    """Start a command in `home` that prints to `output` and inherits the descriptor `kept`, and nothing else.

    It may use as much memory as a worker. Where it runs `alone` it dies together with this process; bubblewrap sees to
    that itself, once its inner process has begun, which would else wait for ever for an outer one that was killed.
    Raises OSError when it does not start.
    """
    parent = os.getpid()
    return subprocess.Popen(
        command, cwd=home, env=environment(home), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        pass_fds=(kept,), start_new_session=True, preexec_fn=lambda: _settle(limits, parent if alone else None),
    )  # fmt: skip


def _settle(limits: Limits, parent: int | None) -> None:
    """Applied in the child before it becomes Python; it dies with `parent`, where one is named."""
    if kernel.LINUX and parent is not None:
        with contextlib.suppress(OSError):
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)
    for name, bounds in {**memory(limits), **bounded(RLIMIT_CORE=0)}.items():
        resource.setrlimit(getattr(resource, name), bounds)


def memory(limits: Limits) -> dict[str, tuple[int, int]]:
    """The limit on address space, where the system has one that works."""
    return bounded(RLIMIT_AS=limits.memory_mib * MIB) if sys.platform.startswith("linux") else {}


def all_limits(limits: Limits) -> dict[str, tuple[int, int]]:
    """What the kernel limits in a worker: soft and hard bound by the name that Python's `resource` gives it."""
    return {**memory(limits), **bounded(RLIMIT_CORE=0, RLIMIT_CPU=limits.cpu_seconds, RLIMIT_NOFILE=limits.open_files,
                                        RLIMIT_FSIZE=limits.file_mib * MIB)}  # fmt: skip


def bounded(**wanted: int) -> dict[str, tuple[int, int]]:
    """Soft and hard bounds, none of them above what this process may give."""
    bounds = {}
    for name, value in wanted.items():
        hard = resource.getrlimit(getattr(resource, name))[1]
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # At the hard limit the kernel kills without a word; two seconds earlier it says which limit it was.
        late = name == "RLIMIT_CPU" and (hard == resource.RLIM_INFINITY or hard >= value + 2)
        bounds[name] = (ceiling, ceiling + 2 if late else ceiling)
    return bounds
