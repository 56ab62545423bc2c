"""Which values differ between two nested ones, each named by its path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from lessonpress.core import canonical_json

SHOWN, BEFORE = 200, 40  # characters of a long value, and of those before and after what differs
ABSENT = "absent"


class EditDocument(TypedDict):
    """An edit as plain data."""

    name: str
    old: str
    new: str


@dataclass(frozen=True)
class Edit:
    """One value that is not what it was; `absent` stands for one that was not there."""

    name: str
    old: str
    new: str

    def words(self) -> str:
        """The edit in a line."""
        return f"{self.name}: {self.old} → {self.new}"

    def document(self) -> EditDocument:
        """The edit as plain data."""
        return {"name": self.name, "old": self.old, "new": self.new}


def list_documents(edits: Sequence[Edit]) -> list[EditDocument]:
    """Edits as plain data."""
    return [edit.document() for edit in edits]


def list_edits(old: Any, new: Any, name: str = "") -> tuple[Edit, ...]:
    """Every leaf of two nested values that differs, named by its path: `experiment.cases[2].note`."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [*old, *(key for key in new if key not in old)]
        parts = [(f"{name}.{key}" if name else str(key), old.get(key, ABSENT), new.get(key, ABSENT)) for key in keys]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        parts = [(f"{name}[{at}]", a, b) for at, (a, b) in enumerate(zip(old, new, strict=True))]
    elif _have_ids(old) and _have_ids(new):
        return list_edits({entry["id"]: entry for entry in old}, {entry["id"]: entry for entry in new}, name)
    else:
        shown = _cut_around_difference(_format_value(old), _format_value(new))
        return () if _are_equal(old, new) else (Edit(name, *shown),)
    return tuple(edit for part, a, b in parts for edit in list_edits(a, b, part))


def _have_ids(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(e, dict) and "id" in e for e in value)


def _are_equal(old: Any, new: Any) -> bool:
    return type(old) is type(new) and (old == new or (old != old and new != new))


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json.compact(value) if _is_json(value) else str(value)


def _cut_around_difference(old: str, new: str) -> tuple[str, str]:
    """Two texts as they are shown beside each other: long ones are cut around the place where they differ."""
    if max(len(old), len(new)) <= SHOWN:
        return old, new
    shorter = min(len(old), len(new))
    first = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    last = next((at for at in range(shorter - first) if old[-1 - at] != new[-1 - at]), shorter - first)
    return _cut_text(old, first, len(old) - last), _cut_text(new, first, len(new) - last)


def _cut_text(text: str, first: int, last: int) -> str:
    """A long text with some of what stands before and after a place in it."""
    start, end = max(0, first - BEFORE), min(len(text), last + BEFORE)
    end = min(end, start + SHOWN)
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def _is_json(value: Any) -> bool:
    return isinstance(value, dict | list | bool | int | None)


def format_count(number: int, noun: str) -> str:
    """`3 files`, `1 file`, and nothing where there is none."""
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""
