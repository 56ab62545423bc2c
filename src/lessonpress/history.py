"""A lesson's history (revisions.json): which revisions were published, when, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lessonpress import canon

FILE = "revisions.json"


def read(folder: Path, slug: str) -> dict[str, Any]:
    """The history of a published lesson, or an empty one."""
    if (folder / FILE).is_file():
        return dict(canon.read(folder / FILE))
    return {"slug": slug, "current": None, "pinned": None, "revisions": []}


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
