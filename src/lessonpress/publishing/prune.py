"""Commands on a lesson's history: list it, pin a revision, retire the lesson, drop revisions that no commit holds."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from lessonpress.core import canonical_json, clock, git, lock
from lessonpress.core.errors import LessonError, escape_invisible
from lessonpress.core.settings import Config
from lessonpress.publishing import attestations, compact, integrity, publish, signatures
from lessonpress.revision import history, identity, packed, revision_diff
from lessonpress.revision.history import Event, History


def list_history(config: Config, slug: str) -> str:
    """A lesson's history in lines, the newest event first."""
    lesson_history, lines = _read_published(config, slug), []
    seen: set[str] = set()
    for event in reversed(lesson_history["revisions"]):
        name = event["revision"]
        # A revision that was published again has several events; the marks stand beside the last of them.
        states = {"pinned": lesson_history["pinned"], "current": lesson_history["current"]}
        marks = [word for word, revision in states.items() if revision == name and name not in seen]
        place = config.published(slug) / name
        marks += [] if place.is_dir() else ["packed"] if packed.exists(place) else ["its folder is missing"]
        seen.add(name)
        lines.append(_format_event(event) + (f"  [{', '.join(marks)}]" if marks else ""))
    if end := lesson_history.get("retired"):
        successor = f", continued as {end['to']}" if end["to"] else ""
        note = f"  “{end['note']}”" if end["note"] else ""
        lines.insert(0, f"retired {end['at']}{successor}{note}")
    for word, removals in (("withdrawn", lesson_history.get("withdrawn", [])),
                           ("dropped", lesson_history.get("dropped", []))):  # fmt: skip
        lines += [f"{gone['revision']}  {word} {gone['at']}  “{escape_invisible(gone['note'])}”" for gone in removals]
    return "\n".join(lines)


def _format_event(event: Event) -> str:
    note = f"  “{escape_invisible(event['note'])}”" if event["note"] else ""
    return f"{event['revision']}  {event['publishedAt']}  {', '.join(event['reasons'])}{note}"


def pin(config: Config, slug: str, revision: str | None) -> str:
    """Pin a revision (later publications add revisions, but this one stays current), or remove the pin (None).

    Raises LessonError for a revision that the history does not name.
    """
    with lock.hold(Path(config.results)):
        before = _read_published(config, slug)
        chosen = _find_revision(config, slug, before, revision) if revision else None
        after = history.set_pin(before, chosen)
        history.write_history(config.published(slug), after)
        compact.settle_lesson(config, slug, after)
    if chosen:
        return f"{slug}: pinned to {chosen}; later publications add revisions without making them current"
    return f"{slug}: not pinned; current is {history.find_latest(before)}"


def retire(config: Config, slug: str, *, to: str | None = None, note: str | None = None) -> str:
    """End a lesson: it leaves the catalogue, its pages stay and say so; `to` names the lesson that continues it.

    One of both says why. Raises LessonError where neither is given, while the lesson still has a source, and when `to`
    is not published.
    """
    with lock.hold(Path(config.results)):
        before = _read_published(config, slug)
        if (config.lesson(slug) / "lesson.yaml").is_file():
            raise LessonError(os.path.relpath(config.lesson(slug)), "the lesson still has its source", "",
                              "Remove the folder (or give it its new name) first.")  # fmt: skip
        note = publish.require_readable(note)
        if not (to or note):
            raise LessonError("--note", "a retirement gives its reason", "some words, or the lesson that continues it",
                              "Write: --note '…', or --to SLUG.")  # fmt: skip
        if to and (to == slug or history.find_latest(history.read_history(config.published(to), to)) is None):
            raise LessonError(f"--to {to}", "no such lesson is published", "", "Publish it first.")
        history.write_history(config.published(slug), history.retire_lesson(before, clock.read_clock(), to, note))
    return f"{slug}: retired" + (f"; it is continued as {to}" if to else "")


def find_prunable(config: Config, slugs: Sequence[str] = ()) -> dict[tuple[str, str], str]:
    """What `prune` would drop: slug and revision, with a line that describes it.

    Raises LessonError outside git, where nothing shows what may be dropped.
    """
    results = Path(config.results)
    if not results.is_dir() or not git.has_commits(results):
        raise LessonError(os.path.relpath(results), "this lies in no git repository with a commit", "",
                          "prune drops what no commit holds; without git it cannot know what that is.")  # fmt: skip
    models = results / "models"
    chosen = slugs or sorted(path.name for path in models.glob("*") if path.is_dir())
    return {(slug, name): words for slug in chosen for name, words in _find_prunable(config, slug)}


def _find_prunable(config: Config, slug: str) -> Iterator[tuple[str, str]]:
    folder, now = config.published(slug), _read_published(config, slug)
    kept = {history.find_latest(now), now["pinned"], now["current"], *_list_committed(folder)}
    events = {event["revision"]: event for event in now["revisions"]}
    for name in integrity.list_revisions(folder):
        if name not in kept and not git.holds(folder, folder / name):
            yield name, _format_event(events[name]) if name in events else f"{name}  in no history"


def prune(
    config: Config, slugs: Sequence[str] = (), *, agreed: Collection[tuple[str, str]] | None = None
) -> list[str]:
    """Drop revision folders that are in no commit, with their events; the last and the pinned one always stay.

    With `agreed`, only those of them. Returns what was dropped, one line for each revision. Raises LessonError outside
    git.
    """
    with lock.hold(Path(config.results)):
        gone = {key: words for key, words in find_prunable(config, slugs).items() if agreed is None or key in agreed}
        for slug in dict.fromkeys(slug for slug, _ in gone):
            _drop(config, slug, {name for owner, name in gone if owner == slug})
    return [f"{slug}: dropped {words}" for (slug, _), words in gone.items()]


def withdraw(config: Config, slug: str, revision: str, note: str) -> str:
    """Take a published revision back: its folder and events go, its name, the moment and the reason stay.

    Raises LessonError for a revision that no event names, for the only one, and for a note that cannot be shown.
    """
    note = publish.require_readable(note) or ""
    if not note:
        raise LessonError("--note", "a withdrawal gives its reason", "some words", "Write: --note '…'.")
    with lock.hold(Path(config.results)):
        before, folder = _read_published(config, slug), config.published(slug)
        names = [name for name in history.list_newest_first(before) if name.startswith(revision)]
        if not names and integrity.NAME.fullmatch(revision):  # a commit took it away before it was withdrawn
            names = [revision]
        if len(names) != 1:
            raise LessonError(slug, f"{revision!r} is not the beginning of one published revision", "",
                              f"lessonpress history {slug} lists them.")  # fmt: skip
        left = _drop_events(folder, before, set(names))
        if not left["revisions"]:
            raise LessonError(slug, f"{names[0]} is the only revision", "one that readers can have instead",
                              "Publish a better one first, or retire the lesson.")  # fmt: skip
        now = history.withdraw_revision(left, names[0], clock.read_clock(), note)
        history.write_history(folder, now)
        compact.settle_lesson(config, slug, now)
        _remove_folders(folder, names)
    return f"{slug}: withdrawn {names[0]}; current is {now['current']}"


def drop(config: Config, slug: str, revisions: Collection[str], note: str) -> str:
    """Drop published revisions that a policy does not keep, whatever commits hold them: folders and events go.

    The names, the moment and the reason (`note`: which policy) stay in the history, so that nobody takes it for a loss;
    what was dropped may be published again. Raises LessonError, and drops nothing, where one of them is no revision of
    the lesson, is the last, current or pinned one, and where no reason is given.
    """
    note = publish.require_readable(note) or ""
    if not note:
        raise LessonError(slug, "a drop gives its reason", "the policy that asks for it")
    with lock.hold(Path(config.results)):
        before, folder = _read_published(config, slug), config.published(slug)
        chosen = [name for name in reversed(history.list_newest_first(before)) if name in revisions]
        kept = {history.find_latest(before), before["current"], before["pinned"]}
        for name in sorted(revisions):
            if name not in chosen or name in kept:
                seen = "is what the lesson shows" if name in kept else "is no revision of the lesson"
                raise LessonError(slug, f"{name} {seen}", "a superseded revision", "Nothing was dropped.")
        if chosen:
            left = history.record_drops(_drop_events(folder, before, set(chosen)), chosen, clock.read_clock(), note)
            history.write_history(folder, left)
            _remove_folders(folder, chosen)
    return f"{slug}: dropped {', '.join(chosen) or 'nothing'} ({note})"


def _drop(config: Config, slug: str, gone: set[str]) -> None:
    folder, before = config.published(slug), _read_published(config, slug)
    # The history first: prune finds a folder that it does not name again, but an event without a folder is a fault.
    history.write_history(folder, _drop_events(folder, before, gone))
    _remove_folders(folder, gone)


def _remove_folders(folder: Path, gone: Collection[str]) -> None:
    for name in sorted(gone):
        packed.remove(folder / name)
        signatures.locate(folder / name).unlink(missing_ok=True)
        attestations.locate(folder / name).unlink(missing_ok=True)


def _list_committed(folder: Path) -> set[str]:
    """The revisions that the committed history names: other people may rely on these events."""
    text = git.read_at_head(folder, folder / history.FILE)
    return {event["revision"] for event in canonical_json.loads(text)["revisions"]} if text else set()


def _drop_events(folder: Path, lesson_history: History, gone: set[str]) -> History:
    """The history without some events; what followed them gets reasons that compare it with what is now before it."""
    before: str | None = None
    events: list[Event] = []
    dropped = False
    for event in lesson_history["revisions"]:
        if event["revision"] in gone:
            dropped = True
            continue
        if before == event["revision"]:
            continue  # the return to a revision: what came between is gone
        events.append({**event, "reasons": list_reasons(folder, before, event["revision"])} if dropped else event)
        before, dropped = event["revision"], False
    return {**history.drop_revisions(lesson_history, gone), "revisions": events}


def list_reasons(folder: Path, old: str | None, new: str) -> list[str]:
    """Why a revision follows another, from their folders."""
    if old is None or not packed.exists(folder / old):
        return [identity.FIRST]
    sides = [packed.open_revision(folder / name) for name in (old, new)]
    with integrity.explain_damage(*sides):
        return list(revision_diff.find_reasons(*sides))


def accept(config: Config, slug: str) -> str:
    """Seal a history that was merged by hand: its order of events decides what is current.

    An event of a moment before its revision ran gets the moment of the run.

    Raises LessonError when an event names a revision that is not there.
    """
    folder = config.published(slug)
    with lock.hold(Path(config.results)):
        merged = _read_published(config, slug)
        lost = [name for name in history.list_newest_first(merged) if not packed.exists(folder / name)]
        if lost:
            raise LessonError(os.path.relpath(folder / history.FILE), f"{lost[0]} has no folder", "",
                              f"{history.TAKE_BACK} Or leave its event out.")  # fmt: skip
        events: list[Event] = [
            {**event, "publishedAt": max(event["publishedAt"], read_date(folder / event["revision"]))}
            for event in merged["revisions"]
        ]
        history.write_history(folder, history.set_pin({**merged, "revisions": events}, merged["pinned"]))
    return f"{slug}: sealed; current is {merged['pinned'] or history.find_latest(merged)}"


def read_date(folder: Path) -> str:
    """When a revision was made, from its manifest."""
    with integrity.explain_damage(folder):
        return str(history.read_document(packed.open_revision(folder) / "manifest.json")["provenance"]["capturedAt"])


def _read_published(config: Config, slug: str) -> History:
    folder = config.published(slug)
    lesson_history = history.read_history(folder, slug)
    if not lesson_history["revisions"]:
        raise LessonError(os.path.relpath(folder), f"{slug} was never published", "", "Publish it first.")
    return lesson_history


def _find_revision(config: Config, slug: str, lesson_history: History, name: str) -> str:
    """The published revision that a name, or the beginning of one, means."""
    order = history.list_newest_first(lesson_history)
    folder = config.published(slug)
    matches = [revision for revision in order if revision.startswith(name) and packed.exists(folder / revision)]
    if len(matches) != 1:
        what = "several revisions begin so" if matches else "there is no such revision"
        raise LessonError(slug, f"{name!r}: {what}", f"published are {', '.join(order)}")
    return matches[0]
