"""What a recipe promises of its page, and the page will not do, is said before anybody publishes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lessonpress.build import live_promise
from lessonpress.lesson import plan, reader
from lessonpress.replay import replay
from lessonpress.web.page import program
from lessonpress.worker import run
from tests.truth_lessons import IDS, TruthLesson, of_ids, of_line

TWO = {name: {"shape": [3], "dtype": "float32"} for name in "xy"}


def promises(lesson: TruthLesson, folder: Path, reason: str = "it uses torch.linalg.eigh") -> list[str]:
    """What is broken in a lesson, in words."""
    read = reader.read(lesson.write(folder / "one-thing"))
    captured = run.run_plan(plan.plan_runs(read.recipe), str(read.folder))
    replayed = replay.replay_runs(captured)
    live = program.make_live_data(captured, replayed, read.recipe.experiment)
    return [doubt.message() for doubt in live_promise.find_broken(read, captured, replayed, live, reason)]


@pytest.mark.parametrize("lesson", [
    of_line("return h * 2"), of_line("return h * 2 if h.sum().item() > 0 else h * 3"),
    of_ids("return self.table(ids)", "self.table = nn.Embedding(5, 2)"),
    TruthLesson("return x * 2 + y", inputs=TWO), of_line("return h + torch.randn_like(h)"),
])  # fmt: skip
def test_a_page_that_follows_gets_no_warning(lesson: TruthLesson, tmp_path: Path) -> None:
    """Neither is one that refuses some moves."""
    assert promises(lesson, tmp_path) == []


@pytest.mark.parametrize("lesson", [
    TruthLesson("return self.line(y) + x.shape[0]", inputs=TWO),
    of_line("return self.line.weight * 2"), of_line("return (h > 1e9).double()"),
])  # fmt: skip
def test_a_control_that_nothing_follows_is_named(lesson: TruthLesson, tmp_path: Path) -> None:
    """No figure is computed from it, or none changes within its range."""
    [words] = promises(lesson, tmp_path)
    assert words.partition("lesson.yaml:")[2].partition(": ")[2] == (
        "experiment.control.input: nothing on the page follows x; every figure stays as it is, wherever it is moved. "
        "Move an input that the recorded figures are computed from, or record what follows this one."
    )


def test_an_input_whose_every_move_is_refused_is_named(tmp_path: Path) -> None:
    """A page cannot follow a number that left for text, and says so once for all moves."""
    [words] = promises(of_line("return h * float(f'{float(x.sum()):.9f}')"), tmp_path)
    assert "input x: the page refuses every move of it; " in words
    assert "Let the decision go by something that readers do not move" in words


def test_a_page_of_recorded_values_is_reported_with_place_reason_and_cure(tmp_path: Path) -> None:
    """The line of the first call that the page cannot repeat, why, and what to do."""
    lesson = of_line("h = h @ h.T\nreturn torch.linalg.eigh(h).eigenvectors")
    [words] = promises(lesson, tmp_path)
    assert words.startswith("model.py:15: the page will show recorded values only; it uses torch.linalg.eigh. Use")
    assert "take `control:` out" in words
    long = promises(lesson, tmp_path, "because " * 100)
    assert len(long[0]) < 600


def test_lessons_without_an_experiment_promise_nothing(tmp_path: Path) -> None:
    """A graph alone follows nobody."""
    lesson = TruthLesson("return ids", inputs=IDS)
    read = reader.read(lesson.write(tmp_path / "bare"))
    recipe = read.folder / "lesson.yaml"
    recipe.write_text(recipe.read_text(encoding="utf-8").partition("experiment:")[0], encoding="utf-8")
    captured = {"runs": {}, "modules": {}, "blobs": {}}
    assert list(live_promise.find_broken(reader.read(read.folder), captured, {}, None, "")) == []
