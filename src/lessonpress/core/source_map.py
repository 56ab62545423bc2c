"""Where things stand in a YAML document: plain values, and the line of every key, so that an error can point at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Placed:
    """A YAML document as plain Python values, with the line (from 1) on which every value's key stands."""

    value: Any
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """The line of `path`, or of its nearest ancestor that stands in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def format_path(path: Path) -> str:
    """A path as a person writes it: `experiment.cases[2].inputs.state`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
