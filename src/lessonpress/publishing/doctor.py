"""Verb doctor: what in the published site is inconsistent, and how to mend it; nothing is run and nothing changed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from lessonpress.core import canonical_json, git
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import integrity, verify
from lessonpress.publishing.integrity import Fault
from lessonpress.revision import history, identity, revision_diff
from lessonpress.revision.history import History

GIT = "Take the file back from git."
REVISION = re.compile(r"models/([^/]+)/([0-9a-f]{16})/(.+)")


def find_faults(config: Config) -> list[Fault]:
    """Every inconsistency of `results/`: files, histories, pages, what git knows better, lessons without a source."""
    results = Path(config.results)
    # Before the first publication there may be the schemas that `new` puts there for editors.
    if not results.is_dir() or all(path.name == "schema" for path in results.iterdir()):
        return []
    found: list[Fault] = []
    models = results / "models"
    for folder in sorted(path for path in models.glob("*") if path.is_dir()):
        found += integrity.find_lesson_faults(models, folder.name)
        found += _lesson(config, folder)
    found += verify.find_page_faults(config)
    found += _left(results)
    known = {fault.where for fault in found}
    found += [fault for fault in _against_git(results) if fault.where not in known]
    return found


def format_faults(faults: list[Fault]) -> str:
    """What was found: a line for each revision folder, and for each thing beside them."""
    lines = [fault.words() for fault in integrity.group_faults(faults)]
    return "\n".join(lines) or "Everything that is published is consistent."


def _lesson(config: Config, folder: Path) -> Iterator[Fault]:
    """A lesson's history against its source and against the revisions that it explains."""
    at = f"models/{folder.name}/{history.FILE}"
    try:
        told = history.read_history(folder, folder.name)
    except LessonError:
        return  # the integrity of the folder told it
    source = (config.lesson(folder.name) / "lesson.yaml").is_file()
    if not source and not told.get("retired"):
        yield Fault(at, "the lesson's source is gone", f"Bring it back, or say so: lessonpress retire {folder.name}.")
    if source and told.get("retired"):
        yield Fault(at, "the lesson is retired, but it has a source", "Publish it again, or remove the source.")
    yield from _explained(folder, told, at)


def _explained(folder: Path, told: History, at: str) -> Iterator[Fault]:
    """Every event's reasons follow from its revision and the one before it."""
    before: str | None = None
    for event in told["revisions"]:
        name = event["revision"]
        try:
            if before is None:
                expected = identity.list_reasons(None, {})
            else:
                expected = list(revision_diff.compare_revisions(folder / before, folder / name).reasons)
        except (LessonError, OSError, *integrity.READ_ERRORS):
            expected = event["reasons"]  # a damaged revision is told elsewhere
        if set(event["reasons"]) != set(expected):
            words = [", ".join(reasons) for reasons in (event["reasons"], expected)]
            yield Fault(at, f"it explains revision {name} by {words[0]}; the files say {words[1]}", GIT)
        before = name


def _left(results: Path) -> Iterator[Fault]:
    for path in sorted(results.rglob(".*.tmp-*")):
        name = path.relative_to(results)
        if not any(integrity.LEFTOVER.fullmatch(part) for part in name.parts[:-1]) and "models" not in name.parts[:1]:
            yield Fault(name.as_posix(), "a publisher that was killed left this", "The next publication removes it.")


def _against_git(results: Path) -> Iterator[Fault]:
    """What the working tree has changed in committed revisions and histories, where git is at hand."""
    if not git.known(results):
        return
    for kind, name in git.changed(results):
        if REVISION.fullmatch(name):
            what = "the commit holds this file, the folder does not" if kind == "D" else "the commit holds other bytes"
            yield Fault(name, what, _taken_back(results / name.rsplit("/", name.count("/") - 2)[0]))
        elif name.endswith(f"/{history.FILE}") and not _extends(results, name):
            yield Fault(name, "it has lost or changed events of the commit", _taken_back(results / name))


def _taken_back(path: Path) -> str:
    return f"git checkout HEAD -- {shlex.quote(str(path))}"


def _extends(results: Path, name: str) -> bool:
    """Whether a history continues the committed one: a history only ever grows."""
    old = git.at_head(results, results / name)
    try:
        new = canonical_json.read(results / name)["revisions"]
        before = canonical_json.loads(old or b"{}")["revisions"]
    except (OSError, *integrity.READ_ERRORS):
        return False
    return bool(new[: len(before)] == before)
