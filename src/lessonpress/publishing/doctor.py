"""Command doctor: what in the published site is inconsistent, and how to mend it; nothing is run or changed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from lessonpress.core import git
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import committed, integrity, signatures, verify
from lessonpress.publishing.integrity import Fault
from lessonpress.revision import history, identity, packed, revision_diff
from lessonpress.revision.history import Event, History

REVISION = re.compile(r"models/([^/]+)/([0-9a-f]{16})/(.+)")


def find_faults(config: Config) -> list[Fault]:
    """Every inconsistency of `results/`: files, histories, pages, lessons without a source, differences from git."""
    results = Path(config.results)
    # Before the first publication there may be the schemas that `new` puts there for editors.
    if not results.is_dir() or all(path.name == "schema" for path in results.iterdir()):
        return []
    faults: list[Fault] = []
    models = results / "models"
    for folder in sorted(path for path in models.glob("*") if path.is_dir()):
        faults += integrity.find_lesson_faults(models, folder.name)
        faults += _check_history(config, folder)
        faults += [Fault(*fault) for fault in signatures.find_faults(config, folder.name)]
    faults += verify.find_page_faults(config)
    faults += _find_leftovers(results)
    known = {fault.where for fault in faults}
    faults += [fault for fault in _compare_with_git(results) if fault.where not in known]
    known = {fault.where for fault in faults}
    faults += [fault for fault in committed.find_rewritten(results) if fault.where not in known]
    return faults


def format_faults(faults: list[Fault]) -> str:
    """The faults in lines: one for each revision folder, and one for each other file."""
    lines = [fault.words() for fault in integrity.group_faults(faults)]
    return "\n".join(lines) or "Everything that is published is consistent."


def _check_history(config: Config, folder: Path) -> Iterator[Fault]:
    """Compare a lesson's history with its source and with the revisions that it explains."""
    at = f"models/{folder.name}/{history.FILE}"
    try:
        lesson_history = history.read_history(folder, folder.name)
    except LessonError:
        return  # `integrity` reports it
    source = (config.lesson(folder.name) / "lesson.yaml").is_file()
    if not source and not lesson_history.get("retired"):
        yield Fault(at, "the lesson's source is gone",
                    f"Bring it back, or type: lessonpress retire {folder.name} --note REASON")  # fmt: skip
    if source and lesson_history.get("retired"):
        yield Fault(at, "the lesson is retired, but it has a source", "Publish it again, or remove the source.")
    yield from _check_reasons(folder, lesson_history, at)


def _check_reasons(folder: Path, lesson_history: History, at: str) -> Iterator[Fault]:
    """Every event's reasons must follow from its revision and the one before it."""
    before: str | None = None
    for event in lesson_history["revisions"]:
        name = event["revision"]
        try:
            if before is None:
                expected = [identity.FIRST]
            else:
                sides = [packed.open_revision(folder / one) for one in (before, name)]
                expected = list(revision_diff.find_reasons(*sides))
        except (LessonError, OSError, *integrity.READ_ERRORS):
            expected = event["reasons"]  # a damaged revision is reported elsewhere
        if set(event["reasons"]) != set(expected):
            words = [", ".join(reasons) for reasons in (event["reasons"], expected)]
            yield Fault(at, f"it explains revision {name} by {words[0]}; the files say {words[1]}", history.TAKE_BACK)
        before = name


def _find_leftovers(results: Path) -> Iterator[Fault]:
    for path in sorted(results.rglob(".*.tmp-*")):
        name = path.relative_to(results)
        if not any(integrity.LEFTOVER.fullmatch(part) for part in name.parts[:-1]) and "models" not in name.parts[:1]:
            yield Fault(name.as_posix(), "a publisher that was killed left this", "The next publication removes it.")


def _compare_with_git(results: Path) -> Iterator[Fault]:
    """What the working tree has changed in committed revisions and histories, where `results` lies in a repository."""
    if not git.has_commits(results):
        return
    brought_in = [commit for _, commit in git.list_unfinished(results)]
    for kind, name in git.list_changes(results):
        if match := REVISION.fullmatch(name):
            place = results / "models" / match[1] / match[2]
            if kind == "D" and (_find_removal(results, match[1], match[2]) or packed.locate(place).is_file()
                                or (results / name).is_file()):  # fmt: skip
                continue  # of what is packed, or published again and not yet added, others compare the bytes
            if kind != "D" and any(_is_as_in(commit, results / name) for commit in brought_in):
                continue  # two have published it, and the copy of the branch that is merged stays
            what = "the commit holds this file, the folder does not" if kind == "D" else "the commit holds other bytes"
            yield Fault(name, what, _checkout_command(results / name.rsplit("/", name.count("/") - 2)[0]))
        elif name.endswith(f"/{history.FILE}") and not _continues_commit(results, name):
            yield Fault(name, "it has lost or changed events of the commit", _checkout_command(results / name))


def _is_as_in(commit: str, path: Path) -> bool:
    return path.is_file() and git.read_blob(path.parent, commit, path) == path.read_bytes()


def _checkout_command(path: Path) -> str:
    return f"{history.TAKE_BACK} Or by hand: git checkout HEAD -- {shlex.quote(str(path))}"


def _find_removal(results: Path, slug: str, revision: str) -> bool:
    """Whether a lesson's history says that a revision was taken away, and why."""
    try:
        past = history.read_history(results / "models" / slug, slug)
    except LessonError:
        return False  # `integrity` reports it
    return history.find_removal(past, revision) is not None


def _continues_commit(results: Path, name: str) -> bool:
    """Whether a history still has every committed event, in the same order, but for what was removed with a reason.

    A merge may put events of another branch between them, and joins an event with an earlier one of the same revision.
    """
    old = git.read_at_head(results, results / name)
    try:
        now = history.parse_history((results / name).read_bytes())
        before = history.parse_history(old or b"{}")
    except OSError:
        return False
    if now is None or before is None:
        return False
    if [one for one in before.get("withdrawn", []) if one not in now.get("withdrawn", [])]:
        return False
    left = iter(now["revisions"])
    gone = {one["revision"] for one in (*now.get("withdrawn", []), *now.get("dropped", []))}  # perhaps published again
    return all(any(_is_same(event, other) for other in left)
               for event in before["revisions"] if event["revision"] not in gone)  # fmt: skip


def _is_same(event: Event, other: Event) -> bool:
    """Whether another event of a history may be a committed one of a moment before a merge."""
    words = event["note"] in (None, other["note"])
    return event["revision"] == other["revision"] and words and other["publishedAt"] <= event["publishedAt"]
