"""The site compared with the commits of this clone: published revisions that are gone or have changed since."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lessonpress.core import git
from lessonpress.core.errors import LessonError
from lessonpress.publishing.integrity import Fault
from lessonpress.revision import history, packed

FILE = re.compile(r"models/([^/]+)/(?:([0-9a-f]{16})/(.+)|revisions\.json)")


def find_rewritten(results: Path) -> Iterator[Fault]:
    """Every revision that a commit before this one published and that is gone or has changed since.

    Publishing only adds, so what was once committed is still there, except for revisions that the history calls
    withdrawn or dropped. Outside git there is nothing to compare with.
    """
    if not git.has_commits(results):
        return
    known = _Known()
    changes = git.list_committed_changes(results)
    for kind, name, blob in changes:
        if (match := FILE.fullmatch(name)) and match[2]:
            known.add_file((match[1], match[2]), match[3], kind, blob)
    histories = {blob: match[1] for _, name, blob in changes if (match := FILE.fullmatch(name)) and not match[2]}
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
        """Enter one change. A file was published when a commit added it, but not when it was added after a removal."""
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
        if not (results / folder).is_dir():
            changed = list(_find_repacked(results / folder, files))
        if changed:
            yield Fault(f"{folder}/{changed[0]}", "a commit changed this file after the revision was published",
                        "Take the folder back from the commit that published it.")  # fmt: skip


def _find_repacked(place: Path, published: Mapping[str, set[str]]) -> Iterator[str]:
    """Files of an archive that are not the bytes which a commit published."""
    if not packed.exists(place):
        return
    try:
        files = packed.read_files(place)
    except LessonError:
        return  # `integrity` reports it
    for name, blobs in sorted(published.items()):
        if blobs and (name not in files or git.name_blob(files[name], len(next(iter(blobs)))) not in blobs):
            yield name


def _find_lost(results: Path, known: _Known) -> Iterator[Fault]:
    """Revisions that a commit holds and the site does not, and notes that no commit holds in this form."""
    published = {*known.files, *known.notes}
    for slug in sorted({slug for slug, _ in published}):
        folder = results / "models" / slug
        try:
            past = history.read_history(folder, slug)
        except LessonError:
            continue  # `integrity` reports it
        events = {event["revision"]: event["note"] for event in past["revisions"]}
        dropped = {one["revision"] for one in past.get("dropped", [])}
        for revision in sorted(revision for owner, revision in published if owner == slug):
            if history.find_removal(past, revision):
                continue
            if revision not in events or not packed.exists(folder / revision):
                reason = f" Or say why it is gone: lessonpress withdraw {slug} {revision} --note REASON"
                mend = history.TAKE_BACK + (reason if events else "")
                yield Fault(f"models/{slug}/{revision}",
                            "a commit published this revision, but it is gone and the history gives no reason", mend)
            elif revision in dropped:
                continue  # published again, which is another event
            elif (slug, revision) in known.notes and events[revision] not in known.notes[slug, revision]:
                yield Fault(f"models/{slug}/{history.FILE}", f"every commit holds another note of revision {revision}",
                            "Take the file back from git.")  # fmt: skip


def explain_shallow(results: Path) -> str:
    """What could not be compared, in words, where the clone is shallow; else nothing."""
    if not git.is_shallow(results):
        return ""
    return ("The clone is shallow: whether earlier commits published what is gone now was not compared. "
            "Fetch them all (git fetch --unshallow; in a workflow, fetch-depth: 0).")  # fmt: skip
