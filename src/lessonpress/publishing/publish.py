"""Command publish: put a rendered revision into the site, beside the earlier ones, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lessonpress.build import artifact
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.build.steps import Done
from lessonpress.core import atomic_io, canonical_json, clock, git, lock, variables
from lessonpress.core.errors import LessonError, LessonErrors, RetryableError, escape_invisible
from lessonpress.lesson import packages
from lessonpress.lesson.reader import RECIPE
from lessonpress.publishing import attestations, history_guard, signatures
from lessonpress.revision import dated, history, identity, packed
from lessonpress.revision.history import History

if TYPE_CHECKING:
    from lessonpress.lesson.records import MutantVerdict, Verdict

RECEIPT, REHEARSED = "published.json", "rehearsed.json"
REFUSED = "Nothing was published; earlier revisions stay as they are."
EXAMPLE = ("Write one, such as `- {id: dropped, sentence: The bias is left out., replace: {file: model.py, "
           "find: \" + bias\", with: \"\"}, breaks: [check_…]}`.")  # fmt: skip
# What reading a damaged or missing document raises.
READ_ERRORS = (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, *packed.DAMAGE)


def publish(work: LessonBuild, *, note: str | None = None, receipt: Path | None = None) -> Done:
    """Publish a rendered build, unless a gate refuses it; in both cases write a receipt into its folder.

    The first gate is that its bundle ran (`build.rehearse`).

    `note` (or the environment's LESSONPRESS_NOTE) is stored with a new revision. Raises LessonError when what is
    published already is damaged or the disk refuses; then nothing is published and earlier revisions stay as they are.
    """
    rendered = work.artifact("rendered.json")
    if missing := [] if rendered.mistakes else find_missing_lessons(work):
        raise LessonErrors(missing)
    mistakes = rendered.mistakes or work.artifact(REHEARSED).mistakes or find_refusals(work)
    revision, words = None, ""
    if not mistakes:
        note = require_readable(note or os.environ.get(variables.NOTE))
        with lock.hold(Path(work.config.results)):
            lock.sweep(work.config.published(work.slug))
            revision, words = _place_revision(work, note)
            if work.config.signing.key and signatures.sign_revision(
                work.config.published(work.slug) / revision, work.config.signing.key
            ):
                words += ", signed"
            if work.config.signing.identity and attestations.has_identity() and attestations.attest_revision(
                work.config.published(work.slug) / revision
            ):
                words += ", attested"
    body = {"slug": work.slug, "key": work.key, "revision": revision, "words": words}
    artifact.write(receipt or work.folder / RECEIPT, rendered.digest, body, mistakes=mistakes)
    if receipt:  # of several valid receipts the rules would take now one, now another
        for other in work.folder.glob("published*.json"):
            if other.name != receipt.name:
                other.unlink(missing_ok=True)
    return Done(f"{work.slug}: {words}" if words else None, tuple(mistakes), passed_over=bool(rendered.mistakes))


def find_refusals(work: LessonBuild) -> list[LessonError]:
    """Why a rendered lesson may not be published: every mistake that the first gate which refuses it finds."""
    gates = (find_failed_checks, find_untested_checks, find_missing_packages)
    return next(filter(None, (gate(work) for gate in gates)), [])


def require_readable(note: str | None) -> str | None:
    """A curator's note, if there is one. Raises LessonError for one that no page can show: a note stays for ever."""
    if note and escape_invisible(note) != note:  # also half a character, which no file can hold
        raise RetryableError("the note", f"{note!r} holds invisible characters", "plain text", "Write it again.")
    if note:
        from lessonpress.web import prose

        prose.to_inline(note, where="the note")
    return note or None


def find_failed_checks(work: LessonBuild) -> list[LessonError]:
    """The first gate: checks that do not pass, and those that pass on a broken variant that names them."""
    failed = [_describe_failure(work, check) for check in work.checks if not check["passed"]]
    return failed + [_describe_survival(work, check, mutant)
                     for check in work.checks for mutant in check["mutants"] if not mutant["failed"]]  # fmt: skip


def find_untested_checks(work: LessonBuild) -> list[LessonError]:
    """The second gate: checks that no broken variant is to break, and that so prove nothing; each with an example."""
    return [LessonError(_locate(work, check), "no broken variant shows that this check can fail",
                        "at least one entry of lesson.yaml's `mutants:` whose `breaks:` names it", EXAMPLE)
            for check in work.checks if not check["mutants"]]  # fmt: skip


def find_missing_packages(work: LessonBuild) -> list[LessonError]:
    """The third gate: imports that readers lack, who install requirements.txt alone; in the words of lint."""
    names = [file["path"] for file in work.source["files"] if file["path"].endswith(".py")]
    files = {name: (work.revision / name).read_bytes() for name in names}
    return packages.find_lacking(files, os.path.relpath(work.source_dir))


def find_missing_lessons(work: LessonBuild) -> list[LessonError]:
    """Links to lessons that are not there: nothing that the lesson itself proves, so the next run looks again."""
    if b"(lesson:" not in (work.revision / RECIPE).read_bytes():  # most lessons link to none
        return []
    from lessonpress.build import lesson_links

    return lesson_links.find_missing(work.config, work.lesson)


def _describe_failure(work: LessonBuild, check: Verdict) -> LessonError:
    return LessonError(_locate(work, check), f"the check fails: measured {check['measured']!r}",
                       f"it must be {check['sense']} {check['bound']!r} ({check['sentence']})", REFUSED)  # fmt: skip


def _describe_survival(work: LessonBuild, check: Verdict, mutant: MutantVerdict) -> LessonError:
    seen = f"the check passes on the broken variant {mutant['id']}: measured {mutant['measured']!r}"
    return LessonError(_locate(work, check), seen,
                       f"it must fail there, and be {check['sense']} {mutant['bound']!r} only on the lesson itself",
                       f"Sharpen the check, or take it out of the variant's `breaks:`. {REFUSED}")  # fmt: skip


def _locate(work: LessonBuild, check: Verdict) -> str:
    file = work.source["plan"]["checks"] or ""  # a lesson that has a check has a file of checks
    return f"{os.path.relpath(work.source_dir / file)}:{check['line']}: {check['id']}"


def _place_revision(work: LessonBuild, note: str | None) -> tuple[str, str]:
    """Rename the new revision into its place, then enter it into the history; what is there already stays.

    Returns the revision that the lesson now has, and what was done in words.
    """
    rendered = work.body("rendered.json")
    folder = work.config.published(work.slug)
    past = history.read_history(folder, work.slug)
    history_guard.require_history(folder, rendered["revision"])
    before = history.find_latest(past)
    revision, rounding = _find_equivalent(work, past, rendered["revision"])
    if gone := history.find_withdrawal(past, revision):
        raise LessonError(os.path.relpath(work.source_dir), f"revision {revision} was withdrawn: {gone['note']}",
                          "a lesson that gives another one", "Change what was wrong with it.")  # fmt: skip
    if packed.exists(folder / revision) and not (folder / revision).is_dir():
        packed.unpack_folder(folder / revision)  # it is published again
    exists = (folder / revision).is_dir()
    if exists:
        from lessonpress.publishing import integrity

        integrity.require_whole(folder / revision)
    if before == revision and exists:
        return revision, f"unchanged, revision {revision} ({rounding or 'identical'})"
    made = canonical_json.read((folder / revision if exists else work.revision) / "manifest.json")
    at = max(clock.read_clock(), made["provenance"]["capturedAt"])  # SOURCE_DATE_EPOCH may name one before the run
    if not exists:
        files = {name: (work.revision / name).read_bytes() for name in rendered["files"]}
        _move(dated.date_files(made, files, _find_moment(folder, past, revision) or at), folder / revision)
    if before == revision:
        return revision, f"revision {revision} is back in its place"
    reasons, counted = _list_reasons(packed.open_revision(folder / before) if before else None, folder / revision)
    now = history.add_event(past, revision, at, reasons, note)
    history.write_history(folder, now)
    if work.config.earlier == "packed":
        from lessonpress.publishing import compact

        compact.settle_lesson(work.config, work.slug, now)
    if before is None:
        return revision, f"published revision {revision}"
    pin = f"; {past['pinned']} is pinned and stays current" if past["pinned"] else ""
    return revision, f"revision {before} → {revision} because of: {', '.join(counted)}{pin}"


def _find_moment(folder: Path, past: History, revision: str) -> str | None:
    """When a revision was first published, so that its files come back as they were.

    Of one that was dropped the last commit knows it, while it still holds the revision: its bytes must not change.
    """
    known: History | None = past
    if history.find_removal(past, revision):
        known = history.parse_history(git.read_at_head(folder, folder / history.FILE) or b"")
    events = known["revisions"] if known else []
    return next((event["publishedAt"] for event in events if event["revision"] == revision), None)


def _find_equivalent(work: LessonBuild, past: History, made: str) -> tuple[str, str]:
    """The revision that the rendering counts as: its own, or a published one that differs in its rounding only.

    Returns it with the rounding in words (empty when the bytes are the same).
    """
    folder, new = work.config.published(work.slug), canonical_json.read(work.revision / "identity.json")
    if history.has_revision(past, made) or packed.exists(folder / made):
        return made, ""
    for revision in history.list_newest_first(past):
        if identity.differ_in_numbers_only(_read_identity(folder / revision), new):
            # Imported only here: rendering again needs every library that makes a page; most publications do not.
            from lessonpress.publishing import equivalence, integrity

            with integrity.explain_damage(folder / revision):
                equivalent = equivalence.compare_build(work, packed.open_revision(folder / revision))
            if equivalent.same:
                return revision, f"within tolerance: {equivalent.comparison.words()}"
    return made, ""


def _read_identity(folder: Path) -> identity.Identity | None:
    """A published revision's identity; None where the file is gone or damaged, which `lessonpress doctor` reports."""
    try:
        document = dict(canonical_json.loads(packed.read_identity(folder)))
        return document if identity.is_identity(document) else None
    except READ_ERRORS:  # but not an error of the disk: what it hides must not decide what is published
        return None


def _list_reasons(old: Path | None, new: Path) -> tuple[list[str], list[str]]:
    """Why a revision is not the one before it: plain words for the history, and the same with counts."""
    if old is None:
        return [identity.FIRST], [identity.FIRST]
    before, after = _read_identity(old), _read_identity(new)
    if before is None or after is None:
        return (unknown := [f"unknown, because revision {old.name} cannot be read"]), unknown
    try:
        # Imported only here, as above: the comparison reads YAML, arrays and graphs.
        from lessonpress.revision import revision_diff

        difference = revision_diff.compare_revisions(old, new)
        return list(difference.reasons), difference.words()
    except (LessonError, *READ_ERRORS):
        # Something beside the identity is damaged, or older than these counts.
        reasons = identity.list_reasons(before, after)
        return reasons, reasons


def _move(files: Mapping[str, bytes], place: Path) -> None:
    """Write files beside their place, flush them, and rename their folder in: it is there whole or not at all."""
    beside = place.with_name(f".{place.name}.tmp-{os.getpid()}")
    try:
        for name, data in files.items():
            (beside / name).parent.mkdir(parents=True, exist_ok=True)
            (beside / name).write_bytes(data)
        atomic_io.flush([beside / name for name in files])
        os.rename(beside, place)
        _flush(place.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Make sure that a rename survives a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
