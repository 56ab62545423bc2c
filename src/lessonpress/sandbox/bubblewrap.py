"""The outer layer, where it starts: bubblewrap gives the worker namespaces without a network or other files."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from lessonpress.core.settings import Isolation
from lessonpress.sandbox import child, paths

NAMESPACES = ("user", "ipc", "pid", "net", "uts", "cgroup", "mount")
SEALED = ("--remount-ro", "/dev", "--remount-ro", "/")  # the new root is a file system in memory that could be filled
# Where bubblewrap is installed setuid, the loader takes this out of its environment, and so out of the worker's.
KEPT = ("--setenv", "GLIBC_TUNABLES", child.SETTINGS["GLIBC_TUNABLES"])
PROCESSES = 2  # of its own: one outside, and the first of the inner process namespace


def wrap_command(shown: Iterable[str], home: Path, isolation: Isolation) -> list[str]:
    """The command to put before the server's, which sees `shown` and starts in `home`, one of them.

    Empty where bubblewrap is not wanted or does not start.
    """
    if isolation.bubblewrap == "never":
        return []
    program = shutil.which("bwrap")
    if program is None or not starts(program):
        return []
    return [*command(program, paths.readable()), *_bound(shown), *SEALED, *KEPT, "--chdir", str(home), "--"]


def exit_code(code: int) -> int:
    """The exit code of what ran inside: bubblewrap tells the signal that ended it in the shell's way."""
    return 128 - code if code - 128 in set(signal.Signals) else code


def command(program: str, readable: Iterable[str]) -> list[str]:
    """bubblewrap with nothing shared but what may be read."""
    shown = [path for path in readable if not path.startswith(("/proc/", "/dev/"))]
    # Without the names by which the interpreter was started (a link in an environment's folder, say) it does not start.
    shown += [os.path.dirname(sys.executable), os.path.join(sys.prefix, "pyvenv.cfg"), os.path.join(sys.prefix, "lib")]
    return [program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--proc", "/proc",
            "--dev", "/dev", *_bound(shown)]  # fmt: skip


@functools.cache
def starts(program: str) -> bool:
    """Whether bubblewrap works here: many containers forbid what it needs, and only a try tells."""
    tried: Sequence[str] = [*command(program, paths.readable()), *SEALED, "--", sys.executable, "-S", "-c", ""]
    try:
        done = subprocess.run(tried, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False, timeout=10)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _bound(readable: Iterable[str]) -> list[str]:
    """Options that show paths, read-only; a link (such as /lib on merged systems) is shown as what it leads to."""
    return [word for path in readable if os.path.exists(path) for word in ("--ro-bind", path, path)]
