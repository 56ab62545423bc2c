"""A lesson's history (revisions.json): which revisions were published, when, and why."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lessonpress import canon
from lessonpress.errors import LessonError

FILE = "revisions.json"


def read(folder: Path, slug: str) -> dict[str, Any]:
    """The history of a published lesson, or an empty one."""
    if (folder / FILE).is_file():
        return _known(folder / FILE, slug)
    return {"slug": slug, "current": None, "pinned": None, "revisions": []}


def _known(path: Path, slug: str) -> dict[str, Any]:
    """What a history file says; one that a merge has left broken is a mistake that a person can mend."""
    try:
        told = canon.read(path)
        if told.keys() >= {"slug", "current", "pinned", "revisions"} and all(e["revision"] for e in told["revisions"]):
            return dict(told)
    except (ValueError, AttributeError, KeyError, TypeError):
        pass
    raise LessonError(os.path.relpath(path), f"this is no history of {slug}", "JSON as lessonpress wrote it",
                      "Take the file back from git, with every event of both sides.")  # fmt: skip


def latest(history: Mapping[str, Any]) -> str | None:
    """The revision that was published last, whatever is current."""
    return history["revisions"][-1]["revision"] if history["revisions"] else None


def names(history: Mapping[str, Any], revision: str) -> bool:
    """Whether a revision stands in the history."""
    return any(event["revision"] == revision for event in history["revisions"])


def extended(
    history: Mapping[str, Any], revision: str, published_at: str, reasons: list[str], note: str | None
) -> dict[str, Any]:
    """The history with one more event; the revision becomes current unless another is pinned."""
    event = {"revision": revision, "publishedAt": published_at, "reasons": reasons, "note": note}
    current = history["current"] if history["pinned"] else revision
    return {**history, "current": current, "revisions": [*history["revisions"], event]}


def write(folder: Path, history: Mapping[str, Any]) -> None:
    """Store a history, whole or not at all."""
    canon.write(folder / FILE, canon.pretty(history))
