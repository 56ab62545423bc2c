"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path


def write(path: Path, content: bytes | str) -> None:
    """Write a whole file or nothing: into a neighbour first, flushed to disk, then renamed over `path`."""
    write_all({path: content})


def draft(path: Path, content: bytes | str) -> None:
    """The same without the flush, for scratch: whole after a kill, but not after a loss of power."""
    write_all({path: content}, flushed=False)


def write_all(contents: Mapping[Path, bytes | str], *, flushed: bool = True) -> None:
    """Write many files, each whole or not at all; all are flushed before the first one is renamed."""
    beside = {path: path.with_name(f".{path.name}.tmp-{os.getpid()}") for path in contents}
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            beside[path].write_bytes(content.encode() if isinstance(content, str) else content)
        if flushed:
            flush(beside.values())
        for path in contents:
            beside[path].replace(path)
    finally:
        for left in beside.values():
            left.unlink(missing_ok=True)


def flush(paths: Collection[Path]) -> None:
    """Make files last through a loss of power; a disk that knows of them all takes little longer than for one."""
    for path in paths if hasattr(os, "posix_fadvise") else ():
        _opened(path, lambda handle: os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED))  # begins to write
    for path in paths:
        _flush(path)


def _flush(path: Path) -> None:
    _opened(path, os.fsync)


def _opened(path: Path, act: Callable[[int], object]) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        act(handle)
    finally:
        os.close(handle)
