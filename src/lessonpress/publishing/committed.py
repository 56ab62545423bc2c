"""What the commits that this clone holds know of the site: published revisions that are gone, or are others now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lessonpress.core import git
from lessonpress.core.errors import LessonError
from lessonpress.publishing.integrity import Fault
from lessonpress.revision import history

_FILE = re.compile(r"models/([^/]+)/(?:([0-9a-f]{16})/(.+)|revisions\.json)")


def find_rewritten(results: Path) -> Iterator[Fault]:
    """Every revision that a commit on the way here published and that is gone or another one now.

    Publishing adds, so whatever was once committed is still there, but for what the history says was withdrawn.
    Outside git there is nothing to compare with.
    """
    if not git.has_commits(results):
        return
    known = _Known()
    changes = git.list_committed_changes(results)
    for kind, name, blob in changes:
        if (found := _FILE.fullmatch(name)) and found[2]:
            known.add_file((found[1], found[2]), found[3], kind, blob)
    histories = {blob: found[1] for _, name, blob in changes if (found := _FILE.fullmatch(name)) and not found[2]}
    for blob, data in git.read_objects(results, histories).items():
        for event in (history.parse_history(data) or history.start_history(""))["revisions"]:
            known.notes.setdefault((histories[blob], event["revision"]), set()).add(event["note"])
    yield from _find_lost(results, known)
    yield from _find_changed(results, known)


@dataclass
class _Known:
    """What the commits hold: by slug and revision the bytes that were published (as git names them), and notes."""

    files: dict[tuple[str, str], dict[str, set[str]]] = field(default_factory=dict)
    dropped: set[tuple[str, str, str]] = field(default_factory=set)
    notes: dict[tuple[str, str], set[str | None]] = field(default_factory=dict)

    def add_file(self, revision: tuple[str, str], name: str, kind: str, blob: str) -> None:
        """Take one change: published is what was added, on any branch, but not what was added again after a removal."""
        published = self.files.setdefault(revision, {}).setdefault(name, set())
        if kind == "D":
            self.dropped.add((*revision, name))
        elif kind == "A" and (*revision, name) not in self.dropped:
            published.add(blob)


def _find_changed(results: Path, known: _Known) -> Iterator[Fault]:
    """Revisions of which the last commit holds other bytes than were published."""
    now = git.list_blobs(results)
    for (slug, revision), files in sorted(known.files.items()):
        folder = f"models/{slug}/{revision}"
        blobs = ((name, now.get(f"{folder}/{name}"), published) for name, published in sorted(files.items()))
        changed = [name for name, blob, published in blobs if blob and blob not in published]
        if changed and (results / folder).is_dir():
            yield Fault(f"{folder}/{changed[0]}", "a commit changed this file after the revision was published",
                        "Take the folder back from the commit that published it.")  # fmt: skip


def _find_lost(results: Path, known: _Known) -> Iterator[Fault]:
    """Revisions that a commit holds and the site does not, and notes that every commit tells otherwise."""
    published = {*known.files, *known.notes}
    for slug in sorted({slug for slug, _ in published}):
        folder = results / "models" / slug
        try:
            told = history.read_history(folder, slug)
        except LessonError:
            continue  # `integrity` reports it
        events = {event["revision"]: event["note"] for event in told["revisions"]}
        for revision in sorted(revision for owner, revision in published if owner == slug):
            if history.find_withdrawal(told, revision):
                continue
            if revision not in events or not (folder / revision).is_dir():
                reason = f", or say why: lessonpress withdraw {slug} {revision} --note REASON" if events else "."
                mend = f"Take it back from the commit, with its event{reason}"
                yield Fault(f"models/{slug}/{revision}",
                            "a commit published this revision, but it is gone and the history gives no reason", mend)
            elif (slug, revision) in known.notes and events[revision] not in known.notes[slug, revision]:
                yield Fault(f"models/{slug}/{history.FILE}", f"every commit tells another note of revision {revision}",
                            "Take the file back from git.")  # fmt: skip


def explain_shallow(results: Path) -> str:
    """What could not be compared, in words, where the clone is shallow; else nothing."""
    if not git.is_shallow(results):
        return ""
    return ("The clone is shallow: whether earlier commits published what is gone now was not compared. "
            "Fetch them all (git fetch --unshallow; in a workflow, fetch-depth: 0).")  # fmt: skip
