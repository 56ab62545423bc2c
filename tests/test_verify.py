"""A verification's reports say the same thing in four forms."""

import dataclasses
import html
import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import site, verify, verify_reports
from lessonpress.publishing.integrity import Fault
from lessonpress.publishing.verdict import DRIFT, IDENTICAL, WITHIN, Verdict
from lessonpress.revision import history
from tests import tiny

GOOD = Verdict("a", IDENTICAL, "1" * 16, "byte for byte")
ROUND = Verdict("b", WITHIN, "2" * 16, "1 of 3 arrays, largest 2 ulp at x: y[0]")
BAD = Verdict("c", DRIFT, "3" * 16, "prose (1 key) | <b>\x00")
HURT = Verdict(
    "d", IDENTICAL, "4" * 16, "byte for byte", (Fault("models/d/x", "its bytes are others", "Mend it."),)
)
AROUND = [Fault("index.html", "the page is missing", "Run `lessonpress site`.")]


def test_good_is_no_drift_and_no_fault() -> None:
    """Rounding is good, drift is not, and neither is a damaged file of an identical lesson."""
    assert [verdict.good() for verdict in (GOOD, ROUND, BAD, HURT)] == [True, True, False, False]


@pytest.mark.parametrize(
    ("verdicts", "around", "words"),
    [
        ([GOOD], [], "All is good: 1 lesson verified."),
        ([GOOD, ROUND], [], "All is good: 2 lessons verified."),
        ([GOOD, BAD, HURT], [], "2 of 3 lessons drifted."),
        ([GOOD], AROUND, "1 lesson verified. 1 pages around the lessons are not as they should be."),
        ([], [], "There is no lesson to verify."),
    ],
)
def test_the_summary_counts(verdicts: list[Verdict], around: list[Fault], words: str) -> None:
    """One sentence says it all."""
    assert verify_reports.summarise(verdicts, around) == words


def test_the_table_names_every_lesson_and_fault() -> None:
    """A line a lesson, its faults below it; a lesson that is damaged is not called identical."""
    lines = verify_reports.format_table([GOOD, HURT, BAD], AROUND).splitlines()
    assert lines[0].split()[:2] == ["a", "identical"]
    assert lines[1].split()[:2] == ["d", "damaged"]
    assert lines[2] == "  models/d/x: its bytes are others. Mend it."
    assert lines[-2].startswith("index.html: the page is missing")


def test_junit_is_well_formed_and_counts() -> None:
    """Two cases a lesson and one for the pages; characters that XML cannot hold are replaced."""
    root = ElementTree.fromstring(verify_reports.format_junit([GOOD, BAD, HURT], AROUND).encode())
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures")) == ("7", "3")
    failed = {(case.get("classname"), case.get("name")) for case in suite if len(case)}
    assert failed == {("c", "regenerated"), ("d", "published files"), ("site", "pages")}


def test_markdown_cells_hold_their_text() -> None:
    """A bar or an angle bracket in a message does not break the table."""
    rows = [line for line in verify_reports.format_markdown([GOOD, BAD], AROUND).splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert all(row.count("|") == 6 for row in rows)
    assert "<b>" not in rows[-1]


INJECTED = (
    "![x](https://example.org/track.png) [here](javascript:alert(1)) <img src=x> &lt;b&gt; **loud** `code` @everybody "
    "https://example.org www.example.org\n# Head\n| a | b |\n|---|---|\n- [ ] ~~gone~~ <!-- "
)


def test_what_a_lesson_says_stays_text_in_markdown() -> None:
    """A message is the lesson's: on a pull request it loads no picture, leads nowhere, and calls nobody."""
    said = dataclasses.replace(BAD, slug=INJECTED, words=INJECTED, faults=(Fault(INJECTED, INJECTED, INJECTED),))
    text = verify_reports.format_markdown([said], [Fault(INJECTED, INJECTED, INJECTED)])
    page = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    shapes = {"h3", "table", "thead", "tr", "th", "tbody", "td", "br", "code", "ul", "li"}
    assert set(re.findall(r"<(\w+)", page)) == shapes
    assert page.count("<tr") == 2
    shown = html.unescape(re.sub(r"<[^>]*>", "", page))
    assert "[here](javascript:alert(1))" in shown.replace("\u200b", "")  # every sign is there to be read
    assert not re.search(r"@everybody|https://e|www\.e", shown)


def test_a_report_can_be_judged_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report says what the verification said; without a report that is a mistake with a way out."""
    config = tiny.at(tmp_path)
    with pytest.raises(LessonError, match="Run `lessonpress verify` first"):
        verify.judge_last_report(config)
    monkeypatch.setattr(verify, "verify_lesson", lambda _, slug: {"a": GOOD, "c": BAD}[slug])
    for slugs, good in ((["a"], True), (["a", "c"], False)):
        assert verify.verify(config, slugs) is good
        capsys.readouterr()
        assert verify.judge_last_report(config) is good
        assert ("c: prose" in capsys.readouterr().out) is not good


@pytest.fixture
def house(tmp_path: Path) -> Config:
    """Give a repository with one published lesson whose source is gone: nothing needs a worker."""
    config = tiny.at(tmp_path)
    tiny.published(config, "One")
    site.write_site(config)
    shutil.rmtree(config.lesson("echo"))
    return config


def test_a_lesson_without_a_source_is_drift_until_it_is_retired(
    house: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its published files are verified all the same."""
    assert verify.verify(house) is False
    assert "its source is gone" in capsys.readouterr().out
    path = house.published("echo") / "revisions.json"
    published = history.read_history(path.parent, "echo")
    history.write_history(path.parent, history.retire_lesson(published, "2026-01-01T00:00:00+00:00", None, None))
    site.write_site(house)
    assert verify.verify(house) is True
    assert "retired" in capsys.readouterr().out
    report = json.loads((Path(house.work) / "verify" / "report.json").read_text(encoding="utf-8"))
    assert report["good"] is True
    [revision] = [p for p in path.parent.iterdir() if p.is_dir()]
    (revision / "run.py").write_text("other", encoding="utf-8")
    assert verify.verify(house, ["echo"]) is False


def test_a_lesson_that_cannot_be_read_is_reported_and_the_others_are_verified(
    house: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistake in one recipe is that lesson's verdict, with file and line."""
    tiny.write(house.lesson("broken"), recipe="schema: 1\nslug: broken\ntittle: x\n")
    assert verify.verify(house) is False
    said = capsys.readouterr().out
    assert "lesson.yaml:3" in said
    assert "echo" in said


def test_junit_says_what_drifted_and_what_to_do() -> None:
    """Which key, file or check it is, and the two ways out: a CI page shows nothing but this message."""
    nothing: dict[str, Any] = {"texts": {}, "recipe": [], "prose": [], "environment": [], "files": [], "checks": []}
    prose = [{"name": "steps[2].note", "old": "a", "new": "b"}]
    changes: Any = {**nothing, "prose": prose, "texts": {"model.py": ["x"]}}
    verdict = dataclasses.replace(BAD, changes=changes)
    [failure] = ElementTree.fromstring(verify_reports.format_junit([verdict], []).encode()).iter("failure")
    message = str(failure.get("message"))
    assert "prose: steps[2].note" in message
    assert "source: model.py" in message
    assert "snakemake --cores 1" in message
    many: Any = {**nothing, "files": [{"name": f"f{n}", "old": None, "new": None} for n in range(1000)]}
    assert len(verify_reports.format_junit([dataclasses.replace(BAD, changes=many)], [])) < 3_000


def test_no_report_calls_a_damaged_lesson_identical() -> None:
    """The mark and the word beside it say the same."""
    [line] = [line for line in verify_reports.format_markdown([HURT], []).splitlines() if "| d |" in line]
    assert "❌" in line
    assert "damaged" in line
    assert "identical" not in line
