"""Many lessons at a time: each one's failure is its own, all are told, and one process publishes."""

import io
import os
from pathlib import Path
from typing import Any

import pytest

from lessonpress import batch, canon, gather, pace, produce, publish, site
from lessonpress.errors import LessonError, LessonErrors
from lessonpress.settings import Config


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Give the settings of a scratch repository."""
    return Config(lessons=str(tmp_path / "lessons"), results=str(tmp_path / "results"), work=str(tmp_path / "work"))


def act(config: Config, slug: str) -> str:
    """Stand in for a verb: some slugs fail in their own ways."""
    if slug == "bad":
        raise LessonErrors([LessonError("lesson.yaml:1", "one"), LessonError("lesson.yaml:2", "two", "less", "Mend.")])
    if slug == "full":
        raise OSError(28, "No space left on device", "work/full")
    if slug == "fault":
        raise KeyError("ours")
    return f"{slug} is done"


def outcomes(config: Config, slugs: list[str], monkeypatch: pytest.MonkeyPatch) -> list[batch.Outcome]:
    """Do the stand-in to lessons, in this process."""
    monkeypatch.setattr(produce, "produce", act)
    return batch.produce(config, slugs)


def test_one_failure_is_none_of_the_others(
    config: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every lesson is tried; mistakes keep their parts, and a refusing disk is a message too."""
    found = outcomes(config, ["a", "bad", "full", "z"], monkeypatch)
    assert [(one.slug, one.answer, len(one.mistakes)) for one in found] == [
        ("a", "a is done", 0), ("bad", None, 2), ("full", None, 1), ("z", "z is done", 0)]  # fmt: skip
    assert found[1].words() == "lesson.yaml:1: one.\nlesson.yaml:2: two; less. Mend."
    assert "work/full: the system refuses: No space left on device" in found[2].words()
    said = capsys.readouterr().out
    assert "bad: failed" in said
    assert "producing: 4 lessons, 2 failed" in said


def test_a_fault_of_ours_takes_no_other_lesson_with_it(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw is told as what it is, and the rest goes on."""
    found = outcomes(config, ["fault", "z"], monkeypatch)
    assert found[0].words().startswith("fault: lessonpress itself failed (KeyError: 'ours'). Please report it")
    assert found[1].answer == "z is done"


def test_a_batch_tells_its_results_in_a_file(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one machine writes another reads: the same lessons with the same mistakes."""
    monkeypatch.setattr(produce, "produce", act)
    plan, done, log = tmp_path / "b.plan", tmp_path / "b.done", tmp_path / "b.log"
    plan.write_text("z\nbad\na\n")
    batch.run(config, plan, done, log, 1)
    assert [(one.slug, one.words()) for one in batch.read(done)] == [
        ("z", ""), ("bad", "lesson.yaml:1: one.\nlesson.yaml:2: two; less. Mend."), ("a", "")]  # fmt: skip
    assert "bad: failed" in log.read_text()


def test_several_processes_do_what_one_does(config: Config) -> None:
    """Two cores: other processes, the same answers and the same mistakes."""
    found = list(batch.each(config, ("produce", "produce"), [], 2))
    assert found == []
    several = {one.slug: one for one in batch.each(config, ("produce", "produce"), ["nope", "nothing"], 2)}
    alone = {one.slug: one for one in batch.each(config, ("produce", "produce"), ["nope", "nothing"], 1)}
    assert {slug: one.words() for slug, one in several.items()} == {slug: one.words() for slug, one in alone.items()}
    assert all(one.mistakes for one in several.values())


def test_whoever_gathers_publishes_the_good_and_names_the_bad(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What failed while it was produced, and what the gate holds back, are told together, after all else is done."""

    def published(config: Config, slug: str) -> str:
        if slug == "weak":
            raise LessonError("checks.py:3", "the check fails")
        return f"{slug}: published"

    monkeypatch.setattr(publish, "publish", published)
    monkeypatch.setattr(site, "site", lambda config: "site: renewed")
    canon.write(tmp_path / "1.done", canon.pretty({"good": [], "bad": [["model.py:1", "KeyError", "", ""]]}))
    canon.write(tmp_path / "2.done", canon.pretty({"weak": [], "fine": []}))
    with pytest.raises(LessonErrors) as caught:
        gather.gather(config, [tmp_path / "1.done", tmp_path / "2.done"], tmp_path / "publish.log")
    assert caught.value.message() == "model.py:1: KeyError.\nchecks.py:3: the check fails."
    said = capsys.readouterr().out
    assert "good: published\nfine: published\nsite: renewed\n" in said
    assert "2 of 4 lessons failed; the others are published." in said
    assert "fine: published" in (tmp_path / "publish.log").read_text()


def test_the_report_shows_every_lessons_files(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks, drift and preview of each lesson that has them lie in one folder, also of those that were not due."""
    monkeypatch.setattr(site, "site", lambda config: "site: unchanged")
    for slug in ("one", "two"):
        canon.write(config.lesson(slug) / "lesson.yaml", "")
    canon.write(config.room("one") / "revision" / "preview.svg", "<svg/>")
    canon.write(config.room("two") / "checks.json", "[]")
    gather.gather(config, [])
    shown = sorted(str(path.relative_to(config.work)) for path in Path(config.work).glob("report/*/*"))
    assert shown == ["report/checks/two.json", "report/previews/one.svg"]


def lines(total: int, steps: int, failed: int, monkeypatch: pytest.MonkeyPatch, pause: float = 4.0) -> list[str]:
    """What a job of so many lessons says when each takes `pause` seconds."""
    clock = iter(n * pause / 8 for n in range(10_000))
    monkeypatch.setattr(pace.time, "monotonic", lambda: next(clock))
    log = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", lambda *words, file=None, **_: file and log.write(" ".join(words) + "\n"))
        told = pace.Pace("producing", total, log)
        for step in range(steps):
            told.advance(failed=step < failed)
    return log.getvalue().splitlines()


def test_plain_lines_come_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a CI log a line every ten seconds says how many are done, how fast, and how long it will take."""
    told = lines(100, 50, 1, monkeypatch)
    assert 2 <= len(told) < 25
    assert all(line.startswith("producing: ") and " of 100 lessons, 1 failed, " in line for line in told)
    assert " a second, " in told[0]
    assert told[0].endswith(" s left")
    assert lines(2, 2, 0, monkeypatch, pause=60.0) == []


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Lessons done, rate, time left and failures in one line; words stand above it and in the log."""
    out = io.StringIO()
    out.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", out)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with pace.of("producing", 4, tmp_path / "log") as told:
        told.advance("[a] speaks")
        told.advance(failed=True)
    assert "[a] speaks" in out.getvalue()
    assert "2/4" in out.getvalue()
    assert "1 failed" in out.getvalue()
    assert (tmp_path / "log").read_text().startswith("[a] speaks\n")


def test_a_log_has_no_colours(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal there is no bar and no escape."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    with pace.of("producing", 3) as told:
        [told.advance() for _ in range(3)]
    said: Any = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert said.out.startswith("producing: 3 lessons, ")
    assert os.linesep in said.out
