"""Notes of what the servers of a Snakemake run do, beside Snakemake's own logs; where there is no such run, nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path

_log: int | None = None


def begin(path: Path) -> int:
    """Write to the end of a file from now on, in this process and those that it forks; answers its descriptor."""
    global _log
    path.parent.mkdir(parents=True, exist_ok=True)
    _log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    return _log


def note(words: str) -> None:
    """Write a line: the time, the process, and what it does."""
    if _log is not None:
        os.write(_log, f"{time.strftime('%H:%M:%S')} {os.getpid()} {words}\n".encode(errors="backslashreplace"))
