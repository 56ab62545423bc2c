"""Verbs over a lesson's history: list it, hold it at a revision, retire the lesson, drop revisions in no commit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from lessonpress.build import execute
from lessonpress.core import canonical_json, git, lock
from lessonpress.core.errors import LessonError, visible
from lessonpress.core.settings import Config
from lessonpress.publishing import integrity, publish
from lessonpress.revision import history, identity, revision_diff
from lessonpress.revision.history import Event, History


def list_history(config: Config, slug: str) -> str:
    """A lesson's history in lines, the newest event first."""
    told, lines = _read(config, slug), []
    seen: set[str] = set()
    for event in reversed(told["revisions"]):
        name = event["revision"]
        # A revision that the lesson went back to has several events; the last of them tells how it stands.
        marks = [word for word in ("pinned", "current") if told[word] == name and name not in seen]
        marks += [] if (config.published(slug) / name).is_dir() else ["its folder is missing"]
        seen.add(name)
        lines.append(_event(event) + (f"  [{', '.join(marks)}]" if marks else ""))
    if ended := told.get("retired"):
        goes_on = f", goes on as {ended['to']}" if ended["to"] else ""
        note = f"  “{ended['note']}”" if ended["note"] else ""
        lines.insert(0, f"retired {ended['at']}{goes_on}{note}")
    return "\n".join(lines)


def _event(event: Event) -> str:
    note = f"  “{visible(event['note'])}”" if event["note"] else ""
    return f"{event['revision']}  {event['publishedAt']}  {', '.join(event['reasons'])}{note}"


def pin(config: Config, slug: str, revision: str | None) -> str:
    """Hold a lesson's current revision at one (later publications add without moving it), or let go (None).

    Raises LessonError for a revision that the history does not name.
    """
    with lock.alone(Path(config.results)):
        told = _read(config, slug)
        chosen = _chosen(config, slug, told, revision) if revision else None
        history.write_history(config.published(slug), history.set_pin(told, chosen))
    if chosen:
        return f"{slug}: held at {chosen}; later publications add revisions without making them current"
    return f"{slug}: not held; current is {history.find_latest(told)}"


def retire(config: Config, slug: str, *, to: str | None = None, note: str | None = None) -> str:
    """End a lesson: it leaves the catalogue, its pages stay and say so; `to` names the lesson that goes on.

    Raises LessonError while the lesson still has a source, and when `to` is not published.
    """
    with lock.alone(Path(config.results)):
        told = _read(config, slug)
        if (config.lesson(slug) / "lesson.yaml").is_file():
            raise LessonError(os.path.relpath(config.lesson(slug)), "the lesson still has its source", "",
                              "Remove the folder (or give it its new name) first.")  # fmt: skip
        note = publish.require_readable(note)
        if to and (to == slug or history.find_latest(history.read_history(config.published(to), to)) is None):
            raise LessonError(f"--to {to}", "no such lesson is published", "", "Publish it first.")
        history.write_history(config.published(slug), history.retire_lesson(told, execute.read_clock(), to, note))
    return f"{slug}: retired" + (f"; it goes on as {to}" if to else "")


def find_prunable(config: Config, slugs: Sequence[str] = ()) -> dict[tuple[str, str], str]:
    """What `prune` would drop: slug and revision, with a line that says what it is.

    Raises LessonError outside git, where nothing tells what may go.
    """
    results = Path(config.results)
    if not results.is_dir() or not git.known(results):
        raise LessonError(os.path.relpath(results), "this lies in no git repository with a commit", "",
                          "prune drops what is in no commit, and here nothing tells what that is.")  # fmt: skip
    models = results / "models"
    found = slugs or sorted(path.name for path in models.glob("*") if path.is_dir())
    return {(slug, name): words for slug in found for name, words in _doomed(config, slug)}


def _doomed(config: Config, slug: str) -> Iterator[tuple[str, str]]:
    folder, told = config.published(slug), _read(config, slug)
    kept = {history.find_latest(told), told["pinned"], told["current"], *_committed_events(folder)}
    events = {event["revision"]: event for event in told["revisions"]}
    for name in integrity.list_revisions(folder):
        if name not in kept and not git.holds(folder, folder / name):
            yield name, _event(events[name]) if name in events else f"{name}  in no history"


def prune(
    config: Config, slugs: Sequence[str] = (), *, agreed: Collection[tuple[str, str]] | None = None
) -> list[str]:
    """Drop revision folders that are in no commit, with their events; the last and the pinned one always stay.

    With `agreed`, only those of them. Answers what was dropped, a line a revision. Raises LessonError outside git.
    """
    with lock.alone(Path(config.results)):
        gone = {key: words for key, words in find_prunable(config, slugs).items() if agreed is None or key in agreed}
        for slug in dict.fromkeys(slug for slug, _ in gone):
            _drop(config, slug, {name for owner, name in gone if owner == slug})
    return [f"{slug}: dropped {words}" for (slug, _), words in gone.items()]


def _drop(config: Config, slug: str, gone: set[str]) -> None:
    folder, told = config.published(slug), _read(config, slug)
    # The history first: a folder that it does not name is found again, an event without a folder would be a loss.
    history.write_history(folder, _told_again(folder, told, gone))
    for name in sorted(gone):
        hidden = folder / f".{name}.tmp-{os.getpid()}"
        os.rename(folder / name, hidden)  # whole or gone, also when this process is killed
        shutil.rmtree(hidden)


def _committed_events(folder: Path) -> set[str]:
    """The revisions that the committed history names: those events are others' already."""
    text = git.at_head(folder, folder / history.FILE)
    return {event["revision"] for event in canonical_json.loads(text)["revisions"]} if text else set()


def _told_again(folder: Path, told: History, gone: set[str]) -> History:
    """The history without some events; what followed them is told from what now comes before it."""
    before: str | None = None
    events: list[Event] = []
    dropped = False
    for event in told["revisions"]:
        if event["revision"] in gone:
            dropped = True
            continue
        if before == event["revision"]:
            continue  # the way back to a revision that its only successor has left
        events.append({**event, "reasons": _reasons(folder, before, event["revision"])} if dropped else event)
        before, dropped = event["revision"], False
    return {**told, "revisions": events}


def _reasons(folder: Path, old: str | None, new: str) -> list[str]:
    if old is None or not (folder / old).is_dir():
        return identity.list_reasons(None, {})
    with integrity.explain_damage(folder / old, folder / new):
        return list(revision_diff.compare_revisions(folder / old, folder / new).reasons)


def accept(config: Config, slug: str) -> str:
    """Seal a history that was merged by hand: its order of events decides what is current, its folders the dates.

    Raises LessonError when an event names a revision that is not there.
    """
    folder = config.published(slug)
    with lock.alone(Path(config.results)):
        told = _read(config, slug)
        lost = [name for name in history.list_newest_first(told) if not (folder / name).is_dir()]
        if lost:
            raise LessonError(os.path.relpath(folder / history.FILE), f"{lost[0]} has no folder", "",
                              "Take the folder back from git, or leave its event out.")  # fmt: skip
        events: list[Event] = [
            {**event, "publishedAt": _made_at(folder / event["revision"])} for event in told["revisions"]
        ]
        history.write_history(folder, history.set_pin({**told, "revisions": events}, told["pinned"]))
    return f"{slug}: sealed; current is {told['pinned'] or history.find_latest(told)}"


def _made_at(folder: Path) -> str:
    with integrity.explain_damage(folder):
        return str(history.read_document(folder / "manifest.json")["provenance"]["capturedAt"])


def _read(config: Config, slug: str) -> History:
    folder = config.published(slug)
    told = history.read_history(folder, slug)
    if not told["revisions"]:
        raise LessonError(os.path.relpath(folder), f"{slug} was never published", "", "Publish it first.")
    return told


def _chosen(config: Config, slug: str, told: History, name: str) -> str:
    """The published revision that a name, or the beginning of one, means."""
    folder = config.published(slug)
    fitting = [r for r in history.list_newest_first(told) if r.startswith(name) and (folder / r).is_dir()]
    if len(fitting) != 1:
        what = "several revisions begin so" if fitting else "there is no such revision"
        raise LessonError(slug, f"{name!r}: {what}", f"published are {', '.join(history.list_newest_first(told))}")
    return fitting[0]
