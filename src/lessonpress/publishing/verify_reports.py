"""The reports of a verification: a table for a terminal, and files as JSON, JUnit XML, Markdown and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.settings import Config
from lessonpress.publishing import committed, diff_view, integrity
from lessonpress.publishing.integrity import Fault
from lessonpress.publishing.verdict import DRIFT, Report, Verdict, describe_faults
from lessonpress.revision import revision_diff
from lessonpress.web.page import rendering

NAMED = 40  # changes that a JUnit failure names
REMEDY = ("To publish what the lesson gives now: snakemake --cores 1, then commit what git shows. "
          "To keep what is published: take the lesson back from git.")  # fmt: skip
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


def write_reports(config: Config, verdicts: Sequence[Verdict], around: Sequence[Fault]) -> None:
    """Write `work/verify/{report.html, report.json, junit.xml, summary.md}`."""
    folder = Path(config.work) / "verify"
    good = all(verdict.good() for verdict in verdicts) and not around
    document: Report = {"schema": 1, "good": good, "summary": summarise(verdicts, around),
                        "lessons": [verdict.document() for verdict in verdicts],
                        "site": describe_faults(around)}  # fmt: skip
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

