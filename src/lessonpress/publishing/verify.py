"""Command verify: regenerate lessons into a scratch folder and compare them with everything that is published.

Nothing under results/ is written. Structure is compared exactly and numbers by the lesson's tolerance. The digests of
all published revisions are checked, not only those of the current one.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from lessonpress import sandbox
from lessonpress.build import artifact, steps
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import batch_progress, canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import lesson_files
from lessonpress.publishing import committed, equivalence, integrity, signatures, site, verify_reports
from lessonpress.publishing.integrity import Fault
from lessonpress.publishing.verdict import (
    DRIFT,
    IDENTICAL,
    RETIRED,
    WITHIN,
    Report,
    StoredVerdict,
    Verdict,
    read_verdict,
)
from lessonpress.revision import history, revision_diff

AGAIN = "Type: lessonpress site (after a merge: lessonpress merge)."
RUNS = "_runs"  # the folder of each run's verdicts, in the work folder of verification


def verify(config: Config, slugs: Sequence[str] = ()) -> bool:
    """Verify some lessons, or all of them with the pages around them; print a table and write the reports.

    Writes `work/verify/{report.html, report.json, junit.xml, summary.md}`. Returns whether everything is good.
    """
    names = list(slugs) or list_slugs(config)
    verdicts = []
    with batch_progress.track("verifying", len(names)) as progress, sandbox.keep_servers():
        for name in names:
            verdicts.append(verify_lesson(config, name))
            progress.advance(failed=not verdicts[-1].good())
    around = [] if slugs else find_faults_around(config)
    verify_reports.write_reports(config, verdicts, around)
    print(verify_reports.format_table(verdicts, around))
    return all(verdict.good() for verdict in verdicts) and not around


def write_verdict(config: Config, slug: str, file: Path) -> None:
    """Verify one lesson and write its verdict into a file, for `report_verdicts`."""
    verdict = verify_lesson(config, slug)
    artifact.write(file, "", {**verdict.document(), "made": verdict.made})


def report_verdicts(config: Config, folder: Path) -> str:
    """Write the reports from the verdicts in a folder; a lesson without one has no source to run and is verified here.

    Returns the table for a terminal.
    """
    verdicts = []
    for name in list_slugs(config):
        stored = artifact.read(folder / f"{name}.json")
        verdicts.append(read_verdict(cast(StoredVerdict, stored.body)) if stored else verify_lesson(config, name))
    around = find_faults_around(config)
    verify_reports.write_reports(config, verdicts, around)
    for other in Path(config.work, "verify", RUNS).glob("*"):  # of earlier runs, wherever `folder` is
        if other.resolve() != folder.resolve():
            shutil.rmtree(other, ignore_errors=True)
    return verify_reports.format_table(verdicts, around)


def judge_last_report(config: Config) -> bool:
    """Print the lessons that failed the last verification and its summary; return whether everything was good.

    Raises LessonError where there is no report.
    """
    path = Path(config.work) / "verify" / "report.json"
    if not path.is_file():
        raise LessonError(os.path.relpath(path), "there is no such report", "", "Run `lessonpress verify` first.")
    last = cast(Report, canonical_json.read(path))
    bad = [f"{lesson['slug']}: {lesson['words']}" for lesson in last["lessons"] if not lesson["good"]]
    print("\n".join([*bad, last["summary"]]), flush=True)
    return last["good"]


def list_slugs(config: Config) -> list[str]:
    """The slugs of all lessons, with a source or published. Raises LessonError where there is no folder of lessons."""
    folder = Path(config.lessons)
    sources = {*lesson_files.slugs(folder), *lesson_files.odd_names(folder)}
    return sorted({*sources, *history.list_published(Path(config.results))})


def scratch_config(config: Config) -> Config:
    """The settings for a verification: it works in a folder of its own, and only reads the published site."""
    return config.model_copy(update={"work": str(Path(config.work) / "verify")})


def verify_lesson(config: Config, slug: str) -> Verdict:
    """Verify one lesson: what is published of it, and what it gives now."""
    start = time.monotonic()
    models = Path(config.results) / "models"
    faults = tuple(integrity.find_lesson_faults(models, slug)) if (models / slug).is_dir() else ()
    faults += tuple(Fault(*fault) for fault in signatures.find_faults(config, slug))
    try:
        verdict = _compare_lesson(config, slug, faults)
    except LessonError as error:
        verdict = Verdict(slug, DRIFT, None, error.message(), faults)
    except (OSError, *integrity.READ_ERRORS) as error:
        if not faults:
            raise
        # The faults already say in which way it is broken.
        verdict = Verdict(slug, DRIFT, None, f"what is published cannot be compared ({error})", faults)
    return Verdict(**{**vars(verdict), "seconds": time.monotonic() - start})


def _compare_lesson(config: Config, slug: str, faults: tuple[Fault, ...]) -> Verdict:
    folder = config.published(slug)
    lesson_history = history.read_history(folder, slug)
    revision = history.find_latest(lesson_history)
    if not (config.lesson(slug) / "lesson.yaml").is_file():
        if lesson_history.get("retired"):
            return Verdict(slug, RETIRED, revision, "retired; its revisions are kept", faults)
        words = f"its source is gone; if meant: `lessonpress retire {slug} --note REASON`"
        return Verdict(slug, DRIFT, revision, words, faults)
    work = regenerate(scratch_config(config), slug)
    failed = [check for check in work.checks if not check["passed"]]
    made = str(work.revision)
    if revision is None or not (folder / revision).is_dir():
        return Verdict(slug, DRIFT, revision, "not published", faults)
    compared = equivalence.compare_build(work, folder / revision)
    numbers = compared.comparison
    if compared.same and not failed:
        state = IDENTICAL if numbers.same() else WITHIN
        words = "byte for byte" if state == IDENTICAL else numbers.words()
        return Verdict(slug, state, revision, words, faults, numbers.document(), made=made)
    difference = revision_diff.compare_revisions(folder / revision, work.revision)
    failures = (f"{check['id']} fails (measured {check['measured']!r})" for check in failed)
    versions = (edit.words() for edit in difference.machine if edit.name == "lessonpress")
    words = ", ".join([*failures, *difference.words(), *versions])
    return Verdict(slug, DRIFT, revision, words, faults, numbers.document(), difference.document(), made)


def regenerate(config: Config, slug: str) -> LessonBuild:
    """Take a lesson through everything but publishing, in the work folder of `config`, from nothing.

    Raises LessonError for the lesson's mistakes.
    """
    for program in (sandbox.MODEL, sandbox.JUDGE):
        sandbox.warm_up(program, config.limits, config.isolation)
    shutil.rmtree(config.work_dir(slug), ignore_errors=True)  # so that nothing made before is used again
    work = steps.open_build(config, slug)
    steps.perform_all(work)
    return work


def find_faults_around(config: Config) -> list[Fault]:
    """What is wrong with the pages around the lessons, and with what the commits on the way here published."""
    return [*find_page_faults(config), *committed.find_rewritten(Path(config.results))]


def find_page_faults(config: Config) -> Iterator[Fault]:
    """Pages around the lessons that are not what the published revisions give, and files that nobody published."""
    results = Path(config.results)
    if not results.is_dir():
        return
    try:
        wanted = site.make_pages(results, config.site)
    except (LessonError, OSError, *integrity.READ_ERRORS) as error:
        why = f"{error.where}: {error.seen}" if isinstance(error, LessonError) else str(error)
        yield Fault("index.html", f"the pages cannot be made ({why})", "Mend what is named above first.")
        return
    for path, text in wanted.items():
        name = path.relative_to(results).as_posix()
        if not path.is_file():
            yield Fault(name, "the page is missing", AGAIN)
        elif not site.is_current(path, text):
            yield Fault(name, "the page is not what the published revisions give", AGAIN)
    lessons = results / "models"
    for path in sorted(results.rglob("*")):
        below = path.relative_to(results)
        if below.parts[0].startswith("."):  # such as .git, or a web server's settings
            continue
        if path.is_file() and path not in wanted and (lessons not in path.parents or path.parent == lessons):
            yield Fault(below.as_posix(), "no published file has this name", "Delete it.")
