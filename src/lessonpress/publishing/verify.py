"""Verb verify: regenerate lessons into a scratch folder and compare with everything that is published.

Nothing under results/ is written. Structure is compared exactly, numbers by the lesson's tolerance, and the digests of
all published revisions are checked, not only those of the current one.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from lessonpress import sandbox
from lessonpress.build import artifact, steps
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import atomic_io, batch_progress, canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import lesson_files
from lessonpress.publishing import equivalence, integrity, report, site
from lessonpress.publishing.integrity import Fault
from lessonpress.revision import history, revision_diff
from lessonpress.web.page import rendering

IDENTICAL, WITHIN, DRIFT, RETIRED = "identical", "within tolerance", "drift", "retired"
RUNS = "_runs"  # the folder of the runs' verdicts, in the work folder of verification


@dataclass(frozen=True)
class Verdict:
    """What was found out about one lesson."""

    slug: str
    state: str  # identical, within tolerance, retired, or drift
    revision: str | None  # the published one that it was compared with
    words: str
    faults: tuple[Fault, ...] = ()
    numbers: Mapping[str, Any] | None = None  # the comparison of the recorded ones, as data
    changes: Mapping[str, Any] | None = None  # what is another one, as data
    made: str | None = None  # the folder of the revision that was made for the comparison
    seconds: float = field(default=0.0, compare=False)

    def good(self) -> bool:
        """Whether the lesson gives what is published, and all that is published is as it was."""
        return self.state != DRIFT and not self.faults

    def document(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return {
            "slug": self.slug, "state": self.state, "good": self.good(), "revision": self.revision, "words": self.words,
            "faults": [{"where": f.where, "what": f.what, "mend": f.mend} for f in self.faults],
            "numbers": self.numbers, "changes": self.changes, "seconds": round(self.seconds, 3),
        }  # fmt: skip


def verify(config: Config, slugs: Sequence[str] = ()) -> bool:
    """Verify some lessons, or all of them with the pages around them; print a table and write the reports.

    Writes `work/verify/{report.html, report.json, junit.xml, summary.md}`. Answers whether everything is good.
    """
    names = list(slugs) or list_slugs(config)
    verdicts = []
    with batch_progress.of("verifying", len(names)) as told, sandbox.kept():
        for name in names:
            verdicts.append(verify_lesson(config, name))
            told.advance(failed=not verdicts[-1].good())
    around = [] if slugs else list(find_page_faults(config))
    _write(config, verdicts, around)
    print(format_table(verdicts, around))
    return all(verdict.good() for verdict in verdicts) and not around


def write_verdict(config: Config, slug: str, file: Path) -> None:
    """Verify one lesson and write its verdict into a file, for `report_verdicts`."""
    verdict = verify_lesson(config, slug)
    artifact.write(file, "", {**verdict.document(), "made": verdict.made})


def report_verdicts(config: Config, folder: Path) -> str:
    """Write the reports from the verdicts in a folder; what has none is verified here: it has no source to run.

    Answers the table for a terminal.
    """
    verdicts = []
    for name in list_slugs(config):
        found = artifact.read(folder / f"{name}.json")
        verdicts.append(_read(found.body) if found else verify_lesson(config, name))
    around = list(find_page_faults(config))
    _write(config, verdicts, around)
    for other in Path(config.work, "verify", RUNS).glob("*"):  # of earlier runs, wherever `folder` is
        if other.resolve() != folder.resolve():
            shutil.rmtree(other, ignore_errors=True)
    return format_table(verdicts, around)


def _read(told: Mapping[str, Any]) -> Verdict:
    faults = tuple(Fault(fault["where"], fault["what"], fault["mend"]) for fault in told["faults"])
    return Verdict(told["slug"], told["state"], told["revision"], told["words"], faults, told["numbers"],
                   told["changes"], told["made"], told["seconds"])  # fmt: skip


def judge_last_report(config: Config) -> bool:
    """What the last verification found: print what was not good and its sentence, and answer whether all was good.

    Raises LessonError where there was none.
    """
    path = Path(config.work) / "verify" / "report.json"
    if not path.is_file():
        raise LessonError(os.path.relpath(path), "there is no such report", "", "Run `lessonpress verify` first.")
    told = canonical_json.read(path)
    bad = [f"{lesson['slug']}: {lesson['words']}" for lesson in told["lessons"] if not lesson["good"]]
    print("\n".join([*bad, told["summary"]]), flush=True)
    return bool(told["good"])


def list_slugs(config: Config) -> list[str]:
    """The slugs of all lessons, and of all that were published; LessonError where there is no folder of lessons."""
    folder = Path(config.lessons)
    sources = {*lesson_files.slugs(folder), *lesson_files.odd_names(folder)}
    models = Path(config.results) / "models"
    return sorted(sources | ({path.name for path in models.iterdir() if path.is_dir()} if models.is_dir() else set()))


def scratch_config(config: Config) -> Config:
    """The settings under which a verification works: everything but the published site is elsewhere."""
    return config.model_copy(update={"work": str(Path(config.work) / "verify")})


def verify_lesson(config: Config, slug: str) -> Verdict:
    """Verify one lesson: what is published of it, and what it gives now."""
    start = time.monotonic()
    models = Path(config.results) / "models"
    faults = tuple(integrity.find_lesson_faults(models, slug)) if (models / slug).is_dir() else ()
    try:
        verdict = _compared(config, slug, faults)
    except LessonError as error:
        verdict = Verdict(slug, DRIFT, None, error.message(), faults)
    except (OSError, *integrity.READ_ERRORS) as error:
        if not faults:
            raise
        # What is published is broken in a way that was just told; it cannot be compared as well.
        verdict = Verdict(slug, DRIFT, None, f"what is published cannot be compared ({error})", faults)
    return Verdict(**{**vars(verdict), "seconds": time.monotonic() - start})


def _compared(config: Config, slug: str, faults: tuple[Fault, ...]) -> Verdict:
    folder = config.published(slug)
    told = history.read_history(folder, slug)
    revision = history.find_latest(told)
    if not (config.lesson(slug) / "lesson.yaml").is_file():
        if told.get("retired"):
            return Verdict(slug, RETIRED, revision, "retired; its revisions are kept", faults)
        return Verdict(slug, DRIFT, revision, f"its source is gone; `lessonpress retire {slug}` would say so", faults)
    work = regenerate(scratch_config(config), slug)
    failed = [entry for entry in work.checks if not entry["passed"]]
    made = str(work.revision)
    if revision is None or not (folder / revision).is_dir():
        return Verdict(slug, DRIFT, revision, "not published", faults)
    found = equivalence.compare_build(work, folder / revision)
    if found.same and not failed:
        state = IDENTICAL if found.comparison.same() else WITHIN
        words = "byte for byte" if state == IDENTICAL else found.comparison.words()
        return Verdict(slug, state, revision, words, faults, found.comparison.document(), made=made)
    between = revision_diff.compare_revisions(folder / revision, work.revision)
    versions = (edit.words() for edit in between.machine if edit.name == "lessonpress")
    told_of = [*(f"{entry['id']} fails (measured {entry['measured']!r})" for entry in failed), *between.words(),
               *versions]  # fmt: skip
    numbers, different = found.comparison.document(), between.document()
    return Verdict(slug, DRIFT, revision, ", ".join(told_of), faults, numbers, different, made)


def regenerate(config: Config, slug: str) -> LessonBuild:
    """Take a lesson through everything but publishing, in the work folder of `config`, from nothing.

    Raises LessonError for the lesson's mistakes.
    """
    for program in (sandbox.MODEL, sandbox.JUDGE):
        sandbox.warm(program, config.limits, config.isolation)
    shutil.rmtree(config.work_dir(slug), ignore_errors=True)  # nothing that was made before is taken over
    work = steps.open_build(config, slug)
    steps.perform_all(work)
    return work


def find_page_faults(config: Config) -> Iterator[Fault]:
    """Every page around the lessons that is not what the published revisions give, and what nobody published."""
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
            yield Fault(name, "the page is missing", "Run `lessonpress site`.")
        elif not site.is_current(path, text):
            yield Fault(name, "the page is not what the published revisions give", "Run `lessonpress site`.")
    lessons = results / "models"
    for path in sorted(results.rglob("*")):
        below = path.relative_to(results)
        if below.parts[0].startswith("."):  # a repository of its own, marks of a web server
            continue
        if path.is_file() and path not in wanted and (lessons not in path.parents or path.parent == lessons):
            yield Fault(below.as_posix(), "nothing that is published has this name", "Delete it.")


def summarise(verdicts: Sequence[Verdict], around: Sequence[Fault]) -> str:
    """The whole in a sentence."""
    bad = sum(not verdict.good() for verdict in verdicts)
    tail = f" {len(around)} pages around the lessons are not as they should be." if around else ""
    if not verdicts:
        return "There is no lesson to verify." + tail
    noun = "lesson" if len(verdicts) == 1 else "lessons"
    good = f"All is good: {len(verdicts)} {noun} verified." if not bad else f"{bad} of {len(verdicts)} {noun} drifted."
    return (good if bad or not around else f"{len(verdicts)} {noun} verified.") + tail


def format_table(verdicts: Sequence[Verdict], around: Sequence[Fault]) -> str:
    """The verdicts as lines for a terminal, in columns."""
    states = [v.state if v.good() or v.state == DRIFT else "damaged" for v in verdicts]
    rows = [(v.slug, state, v.revision or "–", v.words) for v, state in zip(verdicts, states, strict=True)]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
    lines = []
    for row, verdict in zip(rows, verdicts, strict=True):
        lines.append("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]))
        lines += [f"  {fault.words()}" for fault in integrity.group_faults(verdict.faults)]
    return "\n".join([*lines, *(fault.words() for fault in around), summarise(verdicts, around)])


def _write(config: Config, verdicts: Sequence[Verdict], around: Sequence[Fault]) -> None:
    folder = Path(config.work) / "verify"
    good = all(verdict.good() for verdict in verdicts) and not around
    told = {"schema": 1, "good": good, "summary": summarise(verdicts, around),
            "lessons": [verdict.document() for verdict in verdicts],
            "site": [{"where": f.where, "what": f.what, "mend": f.mend} for f in around]}  # fmt: skip
    atomic_io.write(folder / "report.json", canonical_json.pretty(told))
    atomic_io.write(folder / "junit.xml", format_junit(verdicts, around))
    atomic_io.write(folder / "summary.md", format_markdown(verdicts, around))
    views = {verdict.slug: _view(config, verdict, number) for number, verdict in enumerate(verdicts) if verdict.changes}
    atomic_io.write(folder / "report.html", rendering.render(
        "verify_report.html.jinja", good=good, summary=told["summary"], verdicts=verdicts, site=around, views=views
    ))  # fmt: skip


def _view(config: Config, verdict: Verdict, number: int) -> report.View:
    assert verdict.made is not None
    old, new = config.published(verdict.slug) / (verdict.revision or ""), Path(verdict.made)
    return report.make_view(revision_diff.compare_revisions(old, new), old, new, name=f"lesson-{number}")


def format_junit(verdicts: Sequence[Verdict], around: Sequence[Fault]) -> str:
    """The verdicts as JUnit XML: two cases a lesson (regenerated, published files), one for the pages around them."""
    cases = []
    for verdict in verdicts:
        drift = verdict.words if verdict.state == DRIFT else ""
        cases.append(_case(verdict.slug, "regenerated", verdict.seconds, drift))
        cases.append(_case(verdict.slug, "published files", 0.0, "\n".join(f.words() for f in verdict.faults)))
    cases.append(_case("site", "pages", 0.0, "\n".join(fault.words() for fault in around)))
    failures = sum("<failure" in case for case in cases)
    head = f'<testsuite name="lessonpress verify" tests="{len(cases)}" failures="{failures}" errors="0">'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>{head}\n{"".join(cases)}</testsuite></testsuites>\n'


def _case(group: str, name: str, seconds: float, failure: str) -> str:
    body = f"<failure message={_quoted(failure)}/>" if failure else ""
    return f'<testcase classname={_quoted(group)} name={_quoted(name)} time="{seconds:.3f}">{body}</testcase>\n'


def _quoted(text: str) -> str:
    """Text as an XML attribute; characters that XML cannot hold become question marks."""
    plain = "".join(sign if sign >= " " or sign in "\n\t" else "?" for sign in text)
    return quoteattr(plain, {"\n": "&#10;"})


def format_markdown(verdicts: Sequence[Verdict], around: Sequence[Fault]) -> str:
    """The verdicts as Markdown, for the page of a CI job or a comment."""
    head = ("| | Lesson | Verdict | Revision | In words |", "|---|---|---|---|---|")
    lines = [f"### lessonpress verify: {summarise(verdicts, around)}", "", *head]
    for verdict in verdicts:
        mark = "✅" if verdict.good() else "❌"
        words = "<br>".join([_cell(verdict.words), *(_cell(fault.words()) for fault in verdict.faults)])
        lines.append(f"| {mark} | {verdict.slug} | {verdict.state} | `{verdict.revision or '–'}` | {words} |")
    lines += [""] + [f"- ❌ {_cell(fault.words())}" for fault in around] if around else []
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text inside a table's cell."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
