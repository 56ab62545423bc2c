"""Command doctor --rebuild: make a lost history again from what commits and folders hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lessonpress.core import git, lock
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import integrity, prune
from lessonpress.revision import history
from lessonpress.revision.history import Event, History


def rebuild_history(config: Config, slug: str) -> str:
    """Make a lesson's history again: from the newest commit that holds one, and from the folders it does not name.

    Returns in words what came from where and what is lost. Raises LessonError where nothing is lost, or nothing left.
    """
    folder = config.published(slug)
    with lock.hold(Path(config.results)):
        names = integrity.list_revisions(folder)
        if not names:
            raise LessonError(os.path.relpath(folder), "no revision is left here", "",
                              history.TAKE_BACK)  # fmt: skip
        _require_lost(folder, slug, names)
        commit, base = _find_committed(folder)
        kept: list[Event] = [event for event in base["revisions"] if event["revision"] in names] if base else []
        known = {event["revision"] for event in kept}
        dates = {name: prune.read_date(folder / name) for name in names}
        events, new = kept, sorted(set(names) - known, key=lambda name: (dates[name], name))
        for name in new:
            reasons = prune.list_reasons(folder, events[-1]["revision"] if events else None, name)
            events = [*events, {"revision": name, "publishedAt": dates[name], "reasons": reasons, "note": None}]
        pinned = base["pinned"] if base and base["pinned"] in names else None
        whole: History = {**(base or history.start_history(slug)), "slug": slug, "revisions": events}
        history.write_history(folder, history.set_pin(whole, pinned))
    return _report(slug, base, commit, events, new)


def _require_lost(folder: Path, slug: str, names: Sequence[str]) -> None:
    try:
        present = history.read_history(folder, slug)
    except LessonError:
        return
    if present["revisions"] and {event["revision"] for event in present["revisions"]} >= set(names):
        raise LessonError(os.path.relpath(folder / history.FILE), "the history is here and names every revision", "",
                          "There is nothing to rebuild.")  # fmt: skip


def _find_committed(folder: Path) -> tuple[str, History | None]:
    """The newest history that a commit holds, with the commit; commits of this branch first."""
    for commit in git.list_commits(folder, folder / history.FILE):
        data = git.read_blob(folder, commit, folder / history.FILE)
        if data and (committed := history.parse_history(data)):
            return commit[:12], committed
    return "", None


def _report(slug: str, base: History | None, commit: str, events: Sequence[Event], new: Sequence[str]) -> str:
    """What came from where, and what is lost."""
    lines = [f"{slug}: the history is made again, with {len(events)} publication(s)"]
    if base:
        lines.append(f"  {len(events) - len(new)} of them, with notes and reasons, as in commit {commit}")
    else:
        lines.append("  no commit holds a history: the order is that of the folders' dates; a pin is lost, and so is "
                     "that a revision was published twice")  # fmt: skip
    if new:
        lines.append(f"  from the folders alone, dated by their runs, so that a note is lost: {', '.join(new)}")
    named = [event["revision"] for event in events]
    gone = [name for name in history.list_newest_first(base) if name not in named] if base else []
    if gone:
        lines.append(f"  left out, because their folders are gone (git may hold them): {', '.join(gone)}")
    if base and base["pinned"] in gone:
        lines.append(f"  the pin on {base['pinned']} is lost with it")
    return "\n".join(lines)
