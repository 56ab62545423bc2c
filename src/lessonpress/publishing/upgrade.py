"""Command upgrade: what other versions make of every lesson, and its publication for that reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lessonpress import sandbox
from lessonpress.build import steps
from lessonpress.core.errors import LessonError, LessonErrors
from lessonpress.core.settings import Config
from lessonpress.lesson import lesson_files
from lessonpress.publishing import equivalence, integrity, publish
from lessonpress.revision import bundle, history, revision_diff

SAME, IDENTICAL, WITHIN, OTHER = "unchanged", "numbers identical", "numbers within tolerance", "numbers differ"
REQUIREMENTS = "requirements.txt"
VERSIONS = ("lessonpress", "torch", "python")  # of a manifest's provenance: what an upgrade is about


@dataclass(frozen=True)
class Lesson:
    """What an upgrade makes of one lesson: one of the four words above, and more of it in a clause."""

    slug: str
    outcome: str
    words: str
    versions: tuple[str, ...]  # `torch 2.13.0 → 2.14.0`


def upgrade(
    config: Config, slugs: Sequence[str] = (), *, note: str | None = None, dry_run: bool = False
) -> tuple[list[Lesson], list[LessonError]]:  # fmt: skip
    """Make every published lesson again with what is installed now, and publish those that change.

    The note (by default the versions that changed) stands in each new event. Returns what became of each lesson, and
    the mistakes of those that could not be made. An edit that was not published would hide behind the reason, so it is
    a mistake here.
    """
    lessons, mistakes = [], []
    with sandbox.keep_servers():
        for slug in slugs or lesson_files.slugs(Path(config.lessons)):
            try:
                lessons += list(_upgrade_lesson(config, slug, note, dry_run))
            except LessonErrors as errors:
                mistakes += errors.errors
            except LessonError as error:
                mistakes.append(error)
    return lessons, mistakes


def _upgrade_lesson(config: Config, slug: str, note: str | None, dry_run: bool) -> Iterator[Lesson]:
    folder = config.published(slug)
    latest = history.find_latest(history.read_history(folder, slug))
    if latest is None:
        return
    work = steps.open_build(config, slug)
    steps.perform_all(work)
    with integrity.explain_damage(folder / latest):
        compared = equivalence.compare_build(work, folder / latest)
        difference = revision_diff.compare_revisions(folder / latest, work.revision)
    if compared.same:
        yield Lesson(slug, SAME, f"revision {latest}", ())
        return
    edited = [word for word in difference.reasons if word in ("source", "recipe", "prose", "checks")]
    if edited:
        raise LessonError(str(config.lesson(slug)), f"it was edited ({', '.join(edited)}) and not published",
                          "lessons as they are published", "Publish first, with the versions of before.")  # fmt: skip
    versions = tuple(f"{edit.name} {edit.old} → {edit.new}" for edit in difference.machine if edit.name in VERSIONS)
    numbers = difference.numbers
    outcome = IDENTICAL if numbers.same() else WITHIN if numbers.good() else OTHER
    words = ", ".join(difference.words())
    if not dry_run:
        done = publish.publish(work, note=note or ", ".join(versions) or None)
        if done.mistakes:
            raise LessonErrors(list(done.mistakes))
        words = (done.words or "").removeprefix(f"{slug}: ")
    yield Lesson(slug, outcome, words, versions)


def format_table(lessons: Sequence[Lesson], *, dry_run: bool) -> str:
    """What became of each lesson, a line each, and the whole in a sentence."""
    width = max((len(lesson.slug) for lesson in lessons), default=0)
    kind = max((len(lesson.outcome) for lesson in lessons), default=0)
    lines = [f"{one.slug.ljust(width)}  {one.outcome.ljust(kind)}  {one.words}" for one in lessons]
    counts = [(word, sum(one.outcome == word for one in lessons)) for word in (SAME, IDENTICAL, WITHIN, OTHER)]
    tally = ", ".join(f"{count} {word}" for word, count in counts if count) or "no published lesson"
    versions = "; ".join(dict.fromkeys(version for one in lessons for version in one.versions))
    because = f" ({versions})" if versions else ""
    then = "" if dry_run or all(one.outcome == SAME for one in lessons) else ". Commit it with your requirements"
    return "\n".join([*lines, f"{tally}{because}{then}."])


def check_requirements(folder: Path) -> Iterator[str]:
    """What a repository's requirements.txt does not say of the versions that publish it, and what to write, in words.

    Without a file of this name there is nothing to say: the versions are fixed elsewhere.
    """
    path = folder / REQUIREMENTS
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    said = "\n".join(line.partition("#")[0].strip() for line in lines)
    if lines:
        for name in ("lessonpress", "torch"):
            wanted = bundle.read_version(name)
            match = re.search(rf"(?mi)^{name}\b(?!-)(?:\[[^\]\n]*\])?[ \t]*(.*)$", said)
            what = match[1] if match else None
            if what is None or not re.match(rf"@|==\s*{re.escape(wanted)}(?![\w.*])", what):
                here = f"says {name} {what}".rstrip() if match else f"does not name {name}"
                yield f"{REQUIREMENTS} {here}: write {name}=={wanted}, so that everybody publishes with what is here."
