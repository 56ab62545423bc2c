"""Verb publish: put a rendered revision into the site, beside the earlier ones, whole or not at all."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from typing import Any

from lessonpress import canon, history, identity, lock, packages
from lessonpress.errors import LessonError, LessonErrors, visible
from lessonpress.settings import Config

MAKE = "Run `snakemake --cores 1`, which makes what is missing and then publishes."
NOTHING = "Nothing was published; earlier revisions stay as they are."
EXAMPLE = ("Write one, such as `- {id: dropped, sentence: The bias is left out., replace: {file: model.py, "
           "find: \" + bias\", with: \"\"}, breaks: [check_…]}`.")  # fmt: skip
DAMAGED = (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError)
NOTE = "LESSONPRESS_NOTE"  # how `snakemake --config note=…` reaches the verb without being a parameter of its rule


def publish(config: Config, slug: str, *, note: str | None = None) -> str:
    """Publish `work/<slug>/revision/` and write the receipt `work/<slug>/published.json`; answers what was done.

    `note` (or the environment's LESSONPRESS_NOTE) is stored with a new revision. Raises LessonError when a check
    failed or the disk refuses; then nothing is published and earlier revisions stay as they are.
    """
    room = config.room(slug)
    rendered = _rendered(room)
    require_passed(config, slug)
    require_teeth(config, slug)
    require_packages(config, slug)
    note = readable(note or os.environ.get(NOTE))
    with lock.alone(Path(config.results)):
        lock.sweep(config.published(slug))
        revision, words = _placed(config, rendered, note)
    receipt = {"slug": slug, "revision": revision, "words": words}
    canon.write(room / "published.json", canon.pretty(receipt))
    return f"{slug}: {words}"


def _rendered(room: Path) -> dict[str, Any]:
    """What was rendered. Raises LessonError where it is missing, or where an earlier lessonpress made its checks."""
    try:
        rendered, checks = canon.read(room / "rendered.json"), canon.read(room / "checks.json")
    except FileNotFoundError as error:
        raise LessonError(os.path.relpath(error.filename), "there is nothing to publish", "", MAKE) from None
    if not all("mutants" in check for check in checks):
        raise LessonError(os.path.relpath(room / "checks.json"), "an earlier lessonpress has made this", "", MAKE)
    return dict(rendered)


def readable(note: str | None) -> str | None:
    """A curator's note, if there is one. Raises LessonError for one that no page could show: it would stay for ever."""
    if note and visible(note) != note:  # also half a character, which no file can hold
        raise LessonError("the note", f"{note!r} holds what cannot be seen", "plain text", "Write it again.")
    if note:
        importlib.import_module("lessonpress.prose").inline(note, where="the note")
    return note or None


def require_passed(config: Config, slug: str) -> None:
    """The gate: every check must have passed, and failed on the broken variants that name it, else LessonErrors."""
    checks = canon.read(config.room(slug) / "checks.json")
    faults = [_failure(config, slug, check) for check in checks if not check["passed"]]
    faults += [_survival(config, slug, check, mutant)
               for check in checks for mutant in check["mutants"] if not mutant["failed"]]  # fmt: skip
    if faults:
        raise LessonErrors(faults)


def require_teeth(config: Config, slug: str) -> None:
    """The other gate: a check that no broken variant is there to break proves nothing, hence LessonErrors."""
    if faults := toothless(config, slug):
        raise LessonErrors(faults)


def toothless(config: Config, slug: str) -> list[LessonError]:
    """The checks that no broken variant of the lesson names, each with what to write."""
    checks = canon.read(config.room(slug) / "checks.json")
    return [LessonError(_place(config, slug, check), "no broken variant shows that this check can fail",
                        "at least one entry of lesson.yaml's `mutants:` whose `breaks:` names it", EXAMPLE)
            for check in checks if not check["mutants"]]  # fmt: skip


def require_packages(config: Config, slug: str) -> None:
    """The third gate: readers, who install requirements.txt, must have all that the lesson imports; or LessonErrors."""
    if faults := foreign(config, slug):
        raise LessonErrors(faults)


def foreign(config: Config, slug: str) -> list[LessonError]:
    """The imports of the rendered lesson that readers lack, in the words in which lint tells them."""
    room = config.room(slug)
    names = [file["path"] for file in canon.read(room / "source.json")["files"] if file["path"].endswith(".py")]
    files = {name: (room / "revision" / name).read_bytes() for name in names}
    return packages.lacking(files, os.path.relpath(config.lesson(slug)))


def _failure(config: Config, slug: str, check: dict[str, Any]) -> LessonError:
    return LessonError(_place(config, slug, check), f"the check fails: measured {check['measured']!r}",
                       f"it must be {check['sense']} {check['bound']!r} ({check['sentence']})", NOTHING)  # fmt: skip


def _survival(config: Config, slug: str, check: dict[str, Any], mutant: dict[str, Any]) -> LessonError:
    seen = f"the check passes on the broken variant {mutant['id']}: measured {mutant['measured']!r}"
    return LessonError(_place(config, slug, check), seen,
                       f"it must fail there, and be {check['sense']} {mutant['bound']!r} only on the lesson itself",
                       f"Sharpen the check, or take it out of the variant's `breaks:`. {NOTHING}")  # fmt: skip


def _place(config: Config, slug: str, check: dict[str, Any]) -> str:
    file = canon.read(config.room(slug) / "source.json")["plan"]["checks"]
    return f"{os.path.relpath(config.lesson(slug) / file)}:{check['line']}: {check['id']}"


def _placed(config: Config, rendered: dict[str, Any], note: str | None) -> tuple[str, str]:
    """Rename the new revision into its place, then enter it into the history; what is there already stays.

    Answers the revision that now stands for the lesson, and what was done in words.
    """
    slug, made = rendered["slug"], rendered["revision"]
    folder, new = config.published(slug), config.room(slug) / "revision"
    told = history.read(folder, slug)
    before = history.latest(told)
    revision, rounding = _standing(config, slug, told, made)
    there = (folder / revision).is_dir()
    if there:
        importlib.import_module("lessonpress.integrity").require_whole(folder / revision)
    if before == revision and there:
        return revision, f"unchanged, revision {revision} ({rounding or 'identical'})"
    if not there:
        _move(new, rendered["files"], folder / revision)
    if before == revision:
        return revision, f"revision {revision} is back in its place"
    why, counted = _reasons(folder / before if before else None, folder / revision)
    at = canon.read(folder / revision / "manifest.json")["provenance"]["capturedAt"]
    history.write(folder, history.extended(told, revision, at, why, note))
    if before is None:
        return revision, f"published revision {revision}"
    held = f"; {told['pinned']} is pinned and stays current" if told["pinned"] else ""
    return revision, f"revision {before} → {revision} because of: {', '.join(counted)}{held}"


def _standing(config: Config, slug: str, told: dict[str, Any], made: str) -> tuple[str, str]:
    """The revision that the rendering is: its own, or a published one that differs in its rounding only.

    Answers it with the rounding in words (none when the bytes are the same).
    """
    folder, new = config.published(slug), canon.read(config.room(slug) / "revision" / "identity.json")
    if history.names(told, made) or (folder / made).is_dir():
        return made, ""
    for revision in history.newest_first(told):
        if identity.may_be(_identity(folder / revision), new):
            # Only now: rendering again needs every library that makes a page, and most publications do not.
            with importlib.import_module("lessonpress.integrity").blamed(folder / revision):
                found = importlib.import_module("lessonpress.standing").of(config, slug, folder / revision)
            if found.same:
                return revision, f"within tolerance: {found.comparison.words()}"
    return made, ""


def _identity(folder: Path) -> dict[str, Any] | None:
    """What a published revision is; None where the file is gone or damaged, which `lessonpress doctor` tells."""
    try:
        told = dict(canon.read(folder / "identity.json"))
        return told if identity.formed(told) else None
    except DAMAGED:  # but never a disk that refuses: what it hides must not decide what is published
        return None


def _reasons(old: Path | None, new: Path) -> tuple[list[str], list[str]]:
    """Why a revision is not the one before it: plain words for the history, and the same with counts."""
    if old is None:
        return (first := identity.reasons(None, {})), first
    before, after = _identity(old), _identity(new)
    if before is None or after is None:
        return (lost := [f"unknown, because revision {old.name} cannot be read"]), lost
    try:
        # Only now, as above: the comparison reads YAML, arrays and graphs.
        told = importlib.import_module("lessonpress.changes").between(old, new)
        return list(told.reasons), told.words()
    except (LessonError, *DAMAGED):
        found = identity.reasons(before, after)  # something beside the identity is damaged or older than these counts
        return found, found


def _move(new: Path, names: list[str], place: Path) -> None:
    """Copy files beside their place, flush them, and rename their folder in: it is there whole or not at all."""
    beside = place.with_name(f".{place.name}.tmp-{os.getpid()}")
    try:
        for name in names:  # and nothing else that lies there, such as a workflow engine's own marks
            (beside / name).parent.mkdir(parents=True, exist_ok=True)
            (beside / name).write_bytes((new / name).read_bytes())
        canon.flush([beside / name for name in names])
        os.rename(beside, place)
        _flush(place.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Make a rename last through a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
