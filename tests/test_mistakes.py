"""The mistakes of all lessons are reported together, each once; and a lesson's files get names for other workflows."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lessonpress.build import artifact, steps
from lessonpress.core.errors import LessonError, LessonErrors
from lessonpress.core.settings import Config
from lessonpress.publishing import mistakes, publish
from tests import tiny


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Give a repository with a good lesson, two with mistakes, one that was never looked at, and an odd folder."""
    monkeypatch.chdir(tmp_path)
    settings = Config()
    tiny.published(settings, "One")
    for slug, line in (("bad", "titel: x"), ("worse", "a: 1\nb: 2")):
        tiny.write(settings.lesson(slug), recipe=tiny.RECIPE.replace("slug: echo", f"slug: {slug}") + f"{line}\n")
        finish(settings, slug)
    tiny.write(settings.lesson("later"))
    tiny.write(settings.lesson("No Slug"))
    return settings


def finish(settings: Config, slug: str) -> None:
    """Take a lesson to its receipt."""
    work = steps.open_build(settings, slug)
    steps.perform(work, "render")
    publish.publish(work)


def test_all_mistakes_are_reported(house: Config) -> None:
    """By the receipts of the lessons' present states, and those of folders that are no lesson's; good ones are not."""
    by_lesson = mistakes.collect_mistakes(house)
    assert {name: len(errors) for name, errors in by_lesson.items()} == {"bad": 1, "worse": 2, "No Slug": 1}
    assert by_lesson["bad"][0].message().startswith("lessons/bad/lesson.yaml:8: titel: unknown key")
    assert by_lesson["No Slug"][0].message().startswith("lessons/No Slug/lesson.yaml:2: slug: 'echo' given")
    assert mistakes.summarise(house, by_lesson) == "3 of 5 lessons failed; the others are published."


def test_the_summary_says_what_became_of_the_others(house: Config) -> None:
    """One, some, all."""
    assert mistakes.summarise(house, dict.fromkeys("abcde", ())) == "5 of 5 lessons failed; none was published."
    alone = house.model_copy(update={"lessons": "alone"})
    tiny.write(Path("alone") / "echo")
    assert mistakes.summarise(alone, {"echo": ()}) == "The lesson failed."


def test_a_mistake_that_was_mended_is_reported_no_more(house: Config) -> None:
    """Nor is one of a state that was not finished: the step that failed has reported why."""
    tiny.edit(house.lesson("bad") / "lesson.yaml", "titel: x\n", "")
    assert set(mistakes.collect_mistakes(house)) == {"worse", "No Slug"}


def test_a_receipt_that_is_not_whole_counts_for_nothing(house: Config) -> None:
    """It is due; what it says counts for nothing."""
    for path in Path("work", "bad").glob("*/published.json"):
        os.truncate(path, path.stat().st_size - 1)
    assert set(mistakes.collect_mistakes(house)) == {"worse", "No Slug"}


def test_an_odd_folder_is_a_mistake_whatever_it_holds(house: Config) -> None:
    """A lesson that is good but for its folder's name: no page could have that address."""
    recipe = house.lesson("No Slug") / "lesson.yaml"
    recipe.write_text(recipe.read_text().replace("slug: echo", "slug: No Slug"))
    [error] = mistakes.collect_mistakes(house)["No Slug"]
    assert error.where.startswith("lessons/No Slug")
    long = house.lesson("a" * 101)
    tiny.write(long, recipe=tiny.RECIPE.replace("slug: echo", f"slug: {long.name}"))
    assert mistakes.collect_mistakes(house)[long.name]


def test_that_there_is_no_mistake_is_written_down(house: Config) -> None:
    """As a whole artifact, so that half a file is none."""
    mistakes.write_receipt(Path("work/good/x.json"))
    receipt = artifact.read(Path("work/good/x.json"))
    assert receipt
    assert receipt.body == {"good": True}


def test_files_get_their_names(house: Config) -> None:
    """Those of the present state, whole or not at all; what is named already is replaced, and others stay."""
    work, folder = steps.open_build(house, "echo"), house.work_dir("echo")
    mistakes.copy_to_stable_names(house, "echo", work.key, ["cases.csv", "capture.json"])
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == ["capture.json", "cases.csv"]
    (folder / "cases.csv").write_text("of another state")
    mistakes.copy_to_stable_names(house, "echo", None, ["cases.csv"])
    assert (folder / "cases.csv").read_bytes() == (work.folder / "cases.csv").read_bytes()
    assert set(mistakes.STEP_FILES) == {
        "source.json", "capture.json", "mutants.json", "cases.json", "cases.csv", "checks.json", "rendered.json",
            "rehearsed.json",
    }  # fmt: skip


def test_a_name_for_what_nobody_makes_is_refused(house: Config) -> None:
    """With the names that there are; a folder is none of them."""
    for name in ("case.csv", "revision", "../echo/cases.csv"):
        with pytest.raises(LessonError, match=r"no step leaves such a file; one of: source\.json, "):
            mistakes.copy_to_stable_names(house, "echo", None, [name])


def test_a_lesson_with_a_mistake_gives_no_names(house: Config) -> None:
    """Another workflow must not go on with an empty table."""
    with pytest.raises(LessonErrors, match="unknown key"):
        mistakes.copy_to_stable_names(house, "bad", None, ["cases.csv"])
    assert not (house.work_dir("bad") / "cases.csv").exists()


def test_what_is_not_whole_gets_no_name(house: Config) -> None:
    """Half a table under a good name would be taken for a whole one; one of tomorrow's time is settled."""
    folder = steps.open_build(house, "echo").folder
    ahead = time.time() + 86_400
    os.utime(folder / "cases.csv", (ahead, ahead))
    mistakes.copy_to_stable_names(house, "echo", None, ["cases.csv"])
    assert (folder / "cases.csv").stat().st_mtime <= time.time()
    os.truncate(folder / "cases.csv", 5)
    with pytest.raises(LessonError, match="not as it was written"):
        mistakes.copy_to_stable_names(house, "echo", None, ["cases.csv"])
