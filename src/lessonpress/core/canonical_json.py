"""One canonical way to write JSON and to digest it, so that equal content is equal bytes everywhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
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
    """The JSON in a text. Raises ValueError for what is none, and for what nests too deeply to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("the JSON nests too deeply") from None


def read(path: Path) -> Any:
    """The JSON in a file. Raises OSError, and ValueError as `loads` does."""
    return loads(path.read_text(encoding="utf-8"))


def digest_file(path: Path) -> str | None:
    """The SHA-256 of a file's bytes; None where there is none that can be read."""
    try:
        return digest(path.read_bytes())
    except OSError:
        return None
