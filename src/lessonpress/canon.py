"""One canonical way to write JSON, digests and files, so that equal content is equal bytes everywhere."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any


def dumps(value: Any) -> str:
    """Compact canonical JSON: sorted keys, no spaces, UTF-8 text, no bare NaN.

    Raises ValueError for a number that JSON cannot hold.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def compact(value: Any) -> str:
    """Compact JSON with keys in the order given, no bare NaN."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def pretty(value: Any) -> str:
    """Readable JSON with keys in the order given, two spaces deep, ending in a line feed."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest(content: bytes | str) -> str:
    """The SHA-256 of bytes (or of a text's UTF-8 bytes) as 64 hex digits."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def digest_of(value: Any) -> str:
    """The SHA-256 of a value's canonical JSON."""
    return digest(dumps(value))


def digest_files(files: Iterable[tuple[str, str]]) -> str:
    """One digest for named files: the SHA-256 of the sorted lines `<sha256>  <name>`."""
    return digest("".join(f"{sha}  {name}\n" for name, sha in sorted(files)))


def loads(text: bytes | str) -> Any:
    """The JSON in a text."""
    return json.loads(text)


def read(path: Path) -> Any:
    """The JSON in a file."""
    return json.loads(path.read_text(encoding="utf-8"))


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


def digest_file(path: Path) -> str | None:
    """The SHA-256 of a file's bytes; None where there is none that can be read."""
    try:
        return digest(path.read_bytes())
    except OSError:
        return None


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
