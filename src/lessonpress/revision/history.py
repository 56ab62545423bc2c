"""A lesson's history (revisions.json): which revisions were published, when, and why.

The file ends in a seal, the SHA-256 of the canonical JSON of everything else in it, so that an edit by hand shows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.errors import LessonError

FILE, SEAL = "revisions.json", "seal"
NAME = re.compile(r"\w+")  # whatever a revision is called, it leads to no other folder


def read_history(folder: Path, slug: str) -> dict[str, Any]:
    """The history of a published lesson, or an empty one. Raises LessonError for a file that is none."""
    return _known(folder / FILE, slug) if (folder / FILE).is_file() else start_history(slug)


def read_document(path: Path) -> dict[str, Any]:
    """One of a revision's JSON files. Raises LessonError when it cannot be read."""
    expected, fix = "a file as lessonpress writes it", "`lessonpress doctor` says what is wrong, and how to mend it."
    try:
        told = canonical_json.read(path)
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise LessonError(str(path), f"the published file cannot be read: {error}", expected, fix) from None
    if not isinstance(told, dict):
        raise LessonError(str(path), "the published file holds no mapping", expected, fix)
    return told


def start_history(slug: str) -> dict[str, Any]:
    """The history of a lesson that was never published."""
    return {"slug": slug, "current": None, "pinned": None, "revisions": []}


def _known(path: Path, slug: str) -> dict[str, Any]:
    """What a history file says; one that a merge has left broken is a mistake that a person can mend."""
    try:
        told = canonical_json.read(path)
        kept = {key: value for key, value in told.items() if key != SEAL}
        if _formed(kept) and serialise(kept).encode():  # JSON can name halves of characters, which no file can hold
            return kept
    except (ValueError, AttributeError, KeyError, TypeError):
        pass
    raise LessonError(os.path.relpath(path), f"this is no history of {slug}", "JSON as lessonpress wrote it",
                      "Take the file back from git, with every event of both sides.")  # fmt: skip


def _formed(told: Any) -> bool:
    """Whether a document has the form of a history: every later reader relies on it."""
    held = [told["current"], told["pinned"]]
    return (
        told["current"] is not None and all(name is None or NAME.fullmatch(name) for name in held)
        and isinstance(told["slug"], str) and isinstance(told["revisions"], list)
        and all(_event(event) for event in told["revisions"])
        and ("retired" not in told or (_texts(told["retired"], "at") and _notes(told["retired"], "to", "note")))
    )  # fmt: skip


def _event(event: Any) -> bool:
    reasons = event["reasons"]
    told = isinstance(reasons, list) and all(isinstance(reason, str) for reason in reasons)
    return bool(NAME.fullmatch(event["revision"])) and told and _texts(event, "publishedAt") and _notes(event, "note")


def _texts(told: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(told[key], str) for key in keys)


def _notes(told: Mapping[str, Any], *keys: str) -> bool:
    return all(told[key] is None or isinstance(told[key], str) for key in keys)


def find_latest(history: Mapping[str, Any]) -> str | None:
    """The revision that was published last, whatever is current."""
    return history["revisions"][-1]["revision"] if history["revisions"] else None


def has_revision(history: Mapping[str, Any], revision: str) -> bool:
    """Whether a revision stands in the history."""
    return any(event["revision"] == revision for event in history["revisions"])


def list_newest_first(history: Mapping[str, Any]) -> list[str]:
    """Every revision of the history once, the one that was published last first."""
    return list(dict.fromkeys(event["revision"] for event in reversed(history["revisions"])))


def add_event(
    history: Mapping[str, Any], revision: str, published_at: str, reasons: list[str], note: str | None
) -> dict[str, Any]:
    """The history with one more event; the revision becomes current unless another is pinned.

    A retired lesson that is published again is retired no longer.
    """
    event = {"revision": revision, "publishedAt": published_at, "reasons": reasons, "note": note}
    current = history["current"] if history["pinned"] else revision
    kept = {key: value for key, value in history.items() if key != "retired"}
    return {**kept, "current": current, "revisions": [*history["revisions"], event]}


def set_pin(history: Mapping[str, Any], revision: str | None) -> dict[str, Any]:
    """The history held at a revision, or (None) let go: then the last published revision is current."""
    return {**history, "current": revision or find_latest(history), "pinned": revision}


def retire_lesson(history: Mapping[str, Any], at: str, to: str | None, note: str | None) -> dict[str, Any]:
    """The history of a lesson that has ended at a moment, perhaps going on under another slug."""
    return {**history, "retired": {"at": at, "to": to, "note": note}}


def drop_revisions(history: Mapping[str, Any], gone: set[str]) -> dict[str, Any]:
    """The history without the events of some revisions, none of which is the last one or pinned."""
    return {**history, "revisions": [event for event in history["revisions"] if event["revision"] not in gone]}


def find_faults(history: Mapping[str, Any]) -> Iterator[str]:
    """What in a history contradicts itself, in words."""
    known = [event["revision"] for event in history["revisions"]]
    current, held = history["current"], history["pinned"]
    if not known:
        yield "it holds no event"
    elif held is None and current != known[-1]:
        yield f"current is {current}, but {known[-1]} was published last and none is pinned"
    elif held is not None and current != held:
        yield f"current is {current}, but {held} is pinned"
    for word, revision in (("current", current), ("pinned", held)):
        if revision is not None and revision not in known:
            yield f"{word} is {revision}, which no event names"
    yield from (f"{a} is published twice in a row" for a, b in pairwise(known) if a == b)
    if extra := sorted(history.keys() - {"slug", "current", "pinned", "revisions", "retired"}):
        yield f"it has unknown keys: {', '.join(extra)}"


def serialise(history: Mapping[str, Any]) -> str:
    """The bytes of a history's file, as text."""
    return canonical_json.pretty({**history, SEAL: canonical_json.digest_of(history)})


def write_history(folder: Path, history: Mapping[str, Any]) -> None:
    """Store a history, whole or not at all."""
    atomic_io.write(folder / FILE, serialise(history))
