"""A lesson's history (revisions.json): which revisions were published, when, and why.

The file ends in a seal, the SHA-256 of the canonical JSON of everything else in it, so that an edit by hand shows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NotRequired, TypeAlias, TypedDict, cast

from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.errors import LessonError

FILE, SEAL = "revisions.json", "seal"
NAME = re.compile(r"\w+")  # whatever a revision is called, it leads to no other folder
# What leads to a good state, whatever git has done: every message about a published file that is not right says it.
TAKE_BACK = "Type: lessonpress merge (it takes from git what was published, after a merge or a mishap)."
Document: TypeAlias = dict[str, Any]  # a published JSON file, which anybody may have edited


class Event(TypedDict):
    """One publication: which revision became the last one, when and why."""

    revision: str
    publishedAt: str
    reasons: list[str]
    note: str | None


class Retirement(TypedDict):
    """The end of a lesson, which may go on under another slug."""

    at: str
    to: str | None
    note: str | None


class Removal(TypedDict):
    """A revision that was taken away on purpose: its folder and its events are gone, its name and the reason stay."""

    revision: str
    at: str
    note: str


class History(TypedDict):
    """Every publication of a lesson (revisions.json), the oldest first; `pinned` is then the current one."""

    slug: str
    current: str | None
    pinned: str | None
    revisions: list[Event]
    retired: NotRequired[Retirement]
    withdrawn: NotRequired[list[Removal]]  # what was wrong: it is not published again
    dropped: NotRequired[list[Removal]]  # what a policy does not keep: nothing was wrong with it


def list_published(results: Path) -> list[str]:
    """The slugs of all lessons that have a folder in the published site, sorted; none where nothing was published."""
    models = results / "models"
    return sorted(path.name for path in models.iterdir() if path.is_dir()) if models.is_dir() else []


def read_history(folder: Path, slug: str) -> History:
    """The history of a published lesson, or an empty one. Raises LessonError for a file that holds no history."""
    return _read_valid(folder / FILE, slug) if (folder / FILE).is_file() else start_history(slug)


def read_document(path: Path) -> Document:
    """One of a revision's JSON files, whatever mapping it holds. Raises LessonError when it cannot be read."""
    expected, fix = "a file as lessonpress writes it", "`lessonpress doctor` says what is wrong, and how to mend it."
    try:
        document = canonical_json.read(path)
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise LessonError(str(path), f"the published file cannot be read: {error}", expected, fix) from None
    if not isinstance(document, dict):
        raise LessonError(str(path), "the published file holds no mapping", expected, fix)
    return document


def parse_history(data: bytes) -> History | None:
    """The history that some bytes hold, sealed or not; None when they hold none."""
    try:
        kept = {key: value for key, value in canonical_json.loads(data).items() if key != SEAL}
        return cast(History, kept) if _is_history(kept) else None
    except (ValueError, AttributeError, KeyError, TypeError):
        return None


def start_history(slug: str) -> History:
    """The history of a lesson that was never published."""
    return {"slug": slug, "current": None, "pinned": None, "revisions": []}


def _read_valid(path: Path, slug: str) -> History:
    """What a history file says; one that a merge has left broken is a mistake that a person can mend."""
    try:
        kept = {key: value for key, value in canonical_json.read(path).items() if key != SEAL}
        if _is_history(kept):
            history = cast(History, kept)
            serialise(history).encode()  # JSON can name halves of characters, which no file can hold
            return history
    except (ValueError, AttributeError, KeyError, TypeError):
        pass
    raise LessonError(os.path.relpath(path), f"this is no history of {slug}", "JSON as lessonpress wrote it",
                      f"{TAKE_BACK} Outside git: lessonpress doctor --rebuild {slug}")  # fmt: skip


def _is_history(document: Any) -> bool:
    """Whether a document has the form of a history: every later reader relies on it."""
    named = [document["current"], document["pinned"]]
    return (
        document["current"] is not None and all(name is None or NAME.fullmatch(name) for name in named)
        and isinstance(document["slug"], str) and isinstance(document["revisions"], list)
        and all(_is_event(event) for event in document["revisions"])
        and ("retired" not in document
             or (_are_texts(document["retired"], "at") and _are_notes(document["retired"], "to", "note")))
        and all(NAME.fullmatch(one["revision"]) and _are_texts(one, "at", "note")
                for one in [*document.get("withdrawn", []), *document.get("dropped", [])])
    )  # fmt: skip


def _is_event(event: Any) -> bool:
    reasons = event["reasons"]
    known = isinstance(reasons, list) and all(isinstance(reason, str) for reason in reasons)
    return (bool(NAME.fullmatch(event["revision"])) and known and _are_texts(event, "publishedAt")
            and _are_notes(event, "note"))  # fmt: skip


def _are_texts(document: Mapping[str, object], *keys: str) -> bool:
    return all(isinstance(document[key], str) for key in keys)


def _are_notes(document: Mapping[str, object], *keys: str) -> bool:
    return all(document[key] is None or isinstance(document[key], str) for key in keys)


def find_latest(history: History) -> str | None:
    """The revision that was published last, whatever is current."""
    return history["revisions"][-1]["revision"] if history["revisions"] else None


def has_revision(history: History, revision: str) -> bool:
    """Whether a revision stands in the history."""
    return any(event["revision"] == revision for event in history["revisions"])


def list_newest_first(history: History) -> list[str]:
    """Every revision of the history once, the one that was published last first."""
    return list(dict.fromkeys(event["revision"] for event in reversed(history["revisions"])))


def add_event(history: History, revision: str, published_at: str, reasons: list[str], note: str | None) -> History:
    """The history with one more event; the revision becomes current unless another is pinned.

    A retired lesson that is published again is retired no longer.
    """
    event: Event = {"revision": revision, "publishedAt": published_at, "reasons": reasons, "note": note}
    current = history["current"] if history["pinned"] else revision
    continued = history.copy()
    continued.pop("retired", None)
    return {**continued, "current": current, "revisions": [*history["revisions"], event]}


def set_pin(history: History, revision: str | None) -> History:
    """The history held at a revision, or (None) let go: then the last published revision is current."""
    return {**history, "current": revision or find_latest(history), "pinned": revision}


def retire_lesson(history: History, at: str, to: str | None, note: str | None) -> History:
    """The history of a lesson that has ended at a moment, perhaps going on under another slug."""
    return {**history, "retired": {"at": at, "to": to, "note": note}}


def drop_revisions(history: History, gone: set[str]) -> History:
    """The history without the events of some revisions, none of which is the last one or pinned."""
    return {**history, "revisions": [event for event in history["revisions"] if event["revision"] not in gone]}


def withdraw_revision(history: History, revision: str, at: str, note: str) -> History:
    """The history without a revision's events, and with the moment and the reason of its withdrawal."""
    entry: Removal = {"revision": revision, "at": at, "note": note}
    left = drop_revisions(history, {revision})
    pinned = None if history["pinned"] == revision else history["pinned"]
    return {**set_pin(left, pinned), "withdrawn": [*history.get("withdrawn", []), entry]}


def record_drops(history: History, gone: Iterable[str], at: str, note: str) -> History:
    """The history with the moment and the reason for which revisions were dropped; their events are another matter."""
    entries: list[Removal] = [{"revision": revision, "at": at, "note": note} for revision in gone]
    return {**history, "dropped": [*history.get("dropped", []), *entries]}


def find_withdrawal(history: History, revision: str) -> Removal | None:
    """When and why a revision was withdrawn, if it was."""
    return next((one for one in history.get("withdrawn", []) if one["revision"] == revision), None)


def list_removals(history: History) -> list[Removal]:
    """What was withdrawn, or dropped and not published again, each with the moment and the reason."""
    removed = [*history.get("withdrawn", []), *history.get("dropped", [])]
    return [one for one in removed if not has_revision(history, one["revision"])]


def find_removal(history: History, revision: str) -> Removal | None:
    """When and why a revision was withdrawn, or dropped by a policy and not published again: then nothing is lost."""
    return next((one for one in list_removals(history) if one["revision"] == revision), None)


def find_faults(history: History) -> Iterator[str]:
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
    for one in history.get("withdrawn", []):
        if one["revision"] in known:
            yield f"{one['revision']} was withdrawn, but an event names it"
    for one in [*history.get("withdrawn", []), *history.get("dropped", [])]:
        if not one["note"].strip():
            yield f"{one['revision']} was taken away without a reason"
    yield from (f"{a} is published twice in a row" for a, b in pairwise(known) if a == b)
    if extra := sorted(history.keys() - History.__annotations__.keys()):
        yield f"it has unknown keys: {', '.join(extra)}"


def serialise(history: History) -> str:
    """The bytes of a history's file, as text."""
    return canonical_json.pretty({**history, SEAL: canonical_json.digest_of(history)})


def write_history(folder: Path, history: History) -> None:
    """Store a history, whole or not at all."""
    atomic_io.write(folder / FILE, serialise(history))
