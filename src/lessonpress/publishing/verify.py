"""Command verify: regenerate lessons into a scratch folder and compare them with everything that is published.

Nothing under results/ is written. Structure is compared exactly and numbers by the lesson's tolerance. The digests of
all published revisions are checked, not only those of the current one.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, cast
from xml.sax.saxutils import quoteattr

from lessonpress import sandbox
from lessonpress.build import artifact, steps
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import atomic_io, batch_progress, canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import lesson_files
from lessonpress.publishing import committed, diff_view, equivalence, integrity, signatures, site
from lessonpress.publishing.integrity import Fault
from lessonpress.revision import history, revision_diff
from lessonpress.revision.numeric_diff import ComparisonDocument
from lessonpress.revision.revision_diff import RevisionDiffDocument
from lessonpress.web.page import rendering

IDENTICAL, WITHIN, DRIFT, RETIRED = "identical", "within tolerance", "drift", "retired"
NAMED = 40  # changes that a JUnit failure names
REMEDY = ("To publish what the lesson gives now: snakemake --cores 1, then commit what git shows. "
          "To keep what is published: take the lesson back from git.")  # fmt: skip
RUNS = "_runs"  # the folder of each run's verdicts, in the work folder of verification


class FaultDocument(TypedDict):
    """A fault as JSON."""

    where: str
    what: str
    mend: str


class VerdictDocument(TypedDict):
    """A lesson's verdict as JSON; its keys are published."""

    slug: str
    state: str
    good: bool
    revision: str | None
    words: str
    faults: list[FaultDocument]
    numbers: ComparisonDocument | None
    changes: RevisionDiffDocument | None
    seconds: float


class StoredVerdict(VerdictDocument):
    """A verdict that one job writes and another reads."""

    made: str | None


class Report(TypedDict):
    """The report of a verification, `work/verify/report.json`; its keys are published."""

    schema: int
    good: bool
    summary: str
    lessons: list[VerdictDocument]
    site: list[FaultDocument]


@dataclass(frozen=True)
class Verdict:
    """The result of verifying one lesson."""

    slug: str
    state: str  # identical, within tolerance, retired, or drift
    revision: str | None  # the published one that it was compared with
    words: str
    faults: tuple[Fault, ...] = ()
    numbers: ComparisonDocument | None = None  # how the recorded ones compare
    changes: RevisionDiffDocument | None = None  # everything that differs
    made: str | None = None  # the folder of the revision that was made for the comparison
    seconds: float = field(default=0.0, compare=False)

    def good(self) -> bool:
        """Whether the lesson gives what is published, and everything published is unchanged."""
        return self.state != DRIFT and not self.faults

    def label(self) -> str:
        """The verdict in a word, as reports for people show it: a lesson with faults is not called identical."""
        return self.state if self.good() or self.state == DRIFT else "damaged"

    def document(self) -> VerdictDocument:
        """The verdict as plain data."""
        return {
            "slug": self.slug, "state": self.state, "good": self.good(), "revision": self.revision, "words": self.words,
            "faults": _describe_faults(self.faults),
            "numbers": self.numbers, "changes": self.changes, "seconds": round(self.seconds, 3),
        }  # fmt: skip


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
    _write_reports(config, verdicts, around)
    print(format_table(verdicts, around))
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
        verdicts.append(_read_verdict(cast(StoredVerdict, stored.body)) if stored else verify_lesson(config, name))
    around = find_faults_around(config)
    _write_reports(config, verdicts, around)
    for other in Path(config.work, "verify", RUNS).glob("*"):  # of earlier runs, wherever `folder` is
        if other.resolve() != folder.resolve():
            shutil.rmtree(other, ignore_errors=True)
    return format_table(verdicts, around)


def _read_verdict(stored: StoredVerdict) -> Verdict:
    faults = tuple(Fault(fault["where"], fault["what"], fault["mend"]) for fault in stored["faults"])
    return Verdict(stored["slug"], stored["state"], stored["revision"], stored["words"], faults, stored["numbers"],
                   stored["changes"], stored["made"], stored["seconds"])  # fmt: skip


def _describe_faults(faults: Sequence[Fault]) -> list[FaultDocument]:
    return [{"where": fault.where, "what": fault.what, "mend": fault.mend} for fault in faults]


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


AGAIN = "Type: lessonpress site (after a merge: lessonpress merge)."


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


_MARKDOWN = re.compile(r"[\\`*_{}\[\]()<>&|!~#]")  # what Markdown, or HTML in it, gives a meaning
_CALLS = re.compile(r"@|://|(?<=[Ww]ww)\.")  # a person, an address


def summarise(verdicts: Sequence[Verdict], around: Sequence[Fault]) -> str:
    """The result of a verification in a sentence."""
    bad = sum(not verdict.good() for verdict in verdicts)
    tail = f" {len(around)} pages around the lessons are not as they should be." if around else ""
    if not verdicts:
        return "There is no lesson to verify." + tail
    noun = "lesson" if len(verdicts) == 1 else "lessons"
    good = f"All is good: {len(verdicts)} {noun} verified." if not bad else f"{bad} of {len(verdicts)} {noun} drifted."
    return (good if bad or not around else f"{len(verdicts)} {noun} verified.") + tail


def format_table(verdicts: Sequence[Verdict], around: Sequence[Fault]) -> str:
    """The verdicts as lines for a terminal, in columns."""
    rows = [(v.slug, v.label(), v.revision or "–", v.words) for v in verdicts]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
    lines = []
    for row, verdict in zip(rows, verdicts, strict=True):
        lines.append("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]))
        lines += [f"  {fault.words()}" for fault in integrity.group_faults(verdict.faults)]
    return "\n".join([*lines, *(fault.words() for fault in around), summarise(verdicts, around)])


def _write_reports(config: Config, verdicts: Sequence[Verdict], around: Sequence[Fault]) -> None:
    folder = Path(config.work) / "verify"
    good = all(verdict.good() for verdict in verdicts) and not around
    document: Report = {"schema": 1, "good": good, "summary": summarise(verdicts, around),
                        "lessons": [verdict.document() for verdict in verdicts],
                        "site": _describe_faults(around)}  # fmt: skip
    atomic_io.write(folder / "report.json", canonical_json.pretty(document))
    atomic_io.write(folder / "junit.xml", format_junit(verdicts, around))
    unknown = committed.explain_shallow(Path(config.results))
    atomic_io.write(folder / "summary.md", format_markdown(verdicts, around, unknown))
    views = {verdict.slug: _make_view(config, verdict, number)
             for number, verdict in enumerate(verdicts) if verdict.changes}  # fmt: skip
    atomic_io.write(folder / "report.html", rendering.render(
        "verify_report.html.jinja", good=good, summary=document["summary"], verdicts=verdicts, site=around, views=views
    ))  # fmt: skip


def _make_view(config: Config, verdict: Verdict, number: int) -> diff_view.View:
    assert verdict.made is not None
    old, new = config.published(verdict.slug) / (verdict.revision or ""), Path(verdict.made)
    return diff_view.make_view(revision_diff.compare_revisions(old, new), old, new, name=f"lesson-{number}")


def format_junit(verdicts: Sequence[Verdict], around: Sequence[Fault]) -> str:
    """The verdicts as JUnit XML: two cases for each lesson (regenerated, published files), one for all other pages."""
    cases = []
    for verdict in verdicts:
        drift = "\n".join([verdict.words, *list_changed(verdict), REMEDY]) if verdict.state == DRIFT else ""
        cases.append(_format_case(verdict.slug, "regenerated", verdict.seconds, drift))
        cases.append(_format_case(verdict.slug, "published files", 0.0, "\n".join(f.words() for f in verdict.faults)))
    cases.append(_format_case("site", "pages", 0.0, "\n".join(fault.words() for fault in around)))
    failures = sum("<failure" in case for case in cases)
    head = f'<testsuite name="lessonpress verify" tests="{len(cases)}" failures="{failures}" errors="0">'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>{head}\n{"".join(cases)}</testsuite></testsuites>\n'


def list_changed(verdict: Verdict) -> Iterator[str]:
    """Every key, file, value or check that drifted, a line each; at most `NAMED` lines."""
    if not verdict.changes:
        return
    changes = verdict.changes
    named = [(kind, str(edit["name"])) for kind, edits in (
        ("recipe", changes["recipe"]), ("prose", changes["prose"]), ("environment", changes["environment"]),
        ("file", changes["files"])) for edit in edits or ()]  # fmt: skip
    named += [("source", name) for name in changes["texts"]] + [("check", check["id"]) for check in changes["checks"]]
    yield from (f"{kind}: {name}" for kind, name in named[:NAMED])
    if len(named) > NAMED:
        yield f"and {len(named) - NAMED} more"


def _format_case(group: str, name: str, seconds: float, failure: str) -> str:
    body = f"<failure message={_quote(failure)}/>" if failure else ""
    return f'<testcase classname={_quote(group)} name={_quote(name)} time="{seconds:.3f}">{body}</testcase>\n'


def _quote(text: str) -> str:
    """Text as an XML attribute; characters that XML cannot hold become question marks."""
    plain = "".join(sign if sign >= " " or sign in "\n\t" else "?" for sign in text)
    return quoteattr(plain, {"\n": "&#10;"})


def format_markdown(verdicts: Sequence[Verdict], around: Sequence[Fault], unknown: str = "") -> str:
    """The verdicts as Markdown, for a CI job's summary page or a comment; `unknown` is what could not be compared."""
    head = ("| | Lesson | Verdict | Revision | In words |", "|---|---|---|---|---|")
    lines = [f"### lessonpress verify: {summarise(verdicts, around)}", "", *head]
    for verdict in verdicts:
        mark = "✅" if verdict.good() else "❌"
        words = "<br>".join([_escape_cell(verdict.words), *(_escape_cell(fault.words()) for fault in verdict.faults)])
        slug = _escape_cell(verdict.slug)
        lines.append(f"| {mark} | {slug} | {verdict.label()} | `{verdict.revision or '–'}` | {words} |")
    lines += [""] + [f"- ❌ {_escape_cell(fault.words())}" for fault in around] if around else []
    return "\n".join([*lines, *(["", unknown] if unknown else [])]) + "\n"


def _escape_cell(text: str) -> str:
    """Text in a form that may stand in a cell of a table, where it is text alone.

    A lesson decides what its messages say: they must neither load a picture, nor lead elsewhere, nor call for anybody.
    """
    plain = " ".join(text.split())
    marked = _MARKDOWN.sub(lambda sign: f"&#{ord(sign[0])};", plain)
    return _CALLS.sub(lambda word: f"{word[0]}&#8203;", marked)  # nothing is seen of it, and nobody is called

