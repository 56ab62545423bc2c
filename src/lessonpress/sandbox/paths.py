"""What a worker may read besides its lesson: the Python installation, the system's libraries, the processor's facts."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig
from pathlib import Path

# Of its own entry in /proc only these files: others there (net, mountinfo, task) tell of the machine around it.
OWN = ("auxv", "cmdline", "environ", "fd", "limits", "maps", "stat", "statm", "status")
# torch needs /dev/urandom to be imported; without /proc/cpuinfo it would silently take another processor level and
# other numbers come out.
SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/etc/ld.so.cache", "/etc/ld.so.preload",
    "/dev/urandom", "/dev/random", "/dev/null", "/dev/zero", "/proc/cpuinfo",
    *(f"/proc/self/{name}" for name in OWN), "/sys/devices/system/cpu",
)  # fmt: skip


@functools.cache
def readable() -> tuple[str, ...]:
    """Every path below which a worker may read, links resolved except in /proc; those that exist, each once."""
    paths = [*SYSTEM, *(os.path.realpath(path) for path in installation())]
    return tuple(path for path in dict.fromkeys(paths) if os.path.exists(path))


def installation() -> list[str]:
    """The interpreter (that of the system, below a virtual environment, too), its packages, and lessonpress."""
    known = sysconfig.get_paths()
    out = [known[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    for prefix in dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)):
        out += [os.path.join(prefix, name) for name in ("bin", "lib", "lib64", "pyvenv.cfg")]
    return [*out, *site.getsitepackages(), str(Path(__file__).resolve().parents[1])]
