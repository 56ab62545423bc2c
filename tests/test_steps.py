"""A step is done when what it follows from is another, or its result is not whole; no model runs for other words.

What the steps do is stood in for, so nothing is run; the digests that decide are the real ones.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lessonpress.build import artifact, code_digest, steps
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.build.steps import Done, Made
from lessonpress.core import atomic_io, variables
from lessonpress.core.errors import LessonError, LessonErrors, RetryableError, WrongUsage
from lessonpress.core.settings import Limits
from tests import tiny

EVERY = ["hash", "execute", "record", "check", "render", "rehearse"]
LOST = ["mutants.json", "cases.csv", "revision/index.html", *(step.file for step in steps.STEPS.values())]
MISTAKE = LessonError("lessons/tiny-affine/model.py:9", "KeyError")


class Bench:
    """A repository with one lesson, and a note of every step that was done."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.config = tiny.repository(root)
        self.folder = self.config.lesson(tiny.SLUG)
        self.ran: list[str] = []
        self.failing: dict[str, LessonError] = {}  # what a step ends with instead of a result
        self.meanwhile: Callable[[], object] = lambda: None  # what somebody does while a step is done
        for name, step in steps.STEPS.items():
            monkeypatch.setitem(dict_of(steps.STEPS), name, replace(step, make=self.instead(name, step)))

    def instead(self, name: str, step: steps.Step) -> Callable[[LessonBuild], Made]:
        """`hash` is the real step; the others write down what they would read."""
        beside = {file: b"x" for file in step.beside if not file.endswith("/")}
        if name == "render":
            beside = {"revision/index.html": b"page"}

        def make(work: LessonBuild) -> Made:
            self.ran.append(name)
            self.meanwhile()
            if name in self.failing:
                raise self.failing[name]
            return step.make(work) if name == "hash" else Made({"read": step.inputs(work)}, beside, f"{name} speaks")

        return make

    @property
    def work(self) -> LessonBuild:
        """The build of the lesson as it is now, of which nothing was read yet."""
        return steps.open_build(self.config, tiny.SLUG)

    def made(self) -> list[str]:
        """Do all steps; answers those that were not passed over."""
        self.ran.clear()
        steps.perform_all(self.work)
        return list(self.ran)

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace words in a file of the lesson."""
        tiny.edit(self.folder / file, old, new)


def dict_of(mapping: object) -> dict[str, steps.Step]:
    """A mapping as what it is."""
    assert isinstance(mapping, dict)
    return mapping


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Give a lesson whose steps were done once."""
    monkeypatch.delenv(variables.AGAIN, raising=False)
    made = Bench(tmp_path, monkeypatch)
    assert made.made() == EVERY
    return made


def test_what_has_not_changed_is_passed_over(bench: Bench) -> None:
    """A second time nothing runs, nor after a touch, and no file gets another time."""
    before = {path: path.stat().st_mtime_ns for path in bench.work.folder.rglob("*")}
    (bench.folder / "model.py").touch()
    assert bench.made() == []
    assert all(steps.perform(bench.work, name).passed_over for name in EVERY)
    assert {path: path.stat().st_mtime_ns for path in bench.work.folder.rglob("*")} == before


CHANGES = {
    "the title": ("lesson.yaml", "title: What does", "title: And what does", ["hash", "render"]),
    "a case's label": ("lesson.yaml", "label: Shifted", "label: Moved", ["hash", "render"]),
    "a step's note": ("lesson.yaml", "note: Twice.", "note: Two times.", ["hash", "render"]),
    "a variant's sentence": ("lesson.yaml", "The shift is never added.", "No shift.", ["hash", "render"]),
    "a comment": ("lesson.yaml", "schema: 1", "schema: 1  # the first", ["hash", "render"]),
    "an axis's labels": ("lesson.yaml", "[a, b, c, d]", "[a, b, c, e]", ["hash", "record", "render"]),
    "a metric": ("lesson.yaml", "value: argmax", "value: argmin", ["hash", "record", "render"]),
    "what is recorded": (
        "lesson.yaml", 'tensor: "input:shift"', 'tensor: "output[1]"', ["hash", "record", "render", "rehearse"],
    ),
    "what a variant breaks": (
        "lesson.yaml", "[check_result_is_a_quarter_of_the_shifted_map, check_the_shift_moves_every_number]",
        "[check_the_shift_moves_every_number]", ["hash", "check", "render"],
    ),
    "a check": ("checks.py", '"bound": 0.5', '"bound": 0.25', ["hash", "record", "check", "render"]),
    "the seed": ("lesson.yaml", "seed: 6", "seed: 7", EVERY),
    "a case's input": ("lesson.yaml", "[4, -4, 8]", "[4, -4, 9]", EVERY),
    "how a variant is broken": ("lesson.yaml", "+ 0 * shift", "- 0 * shift", EVERY),
    "the model": ("model.py", "nn.Linear(2, width)", "nn.Linear(2, width, bias=True)", EVERY),
    "a file beside the model": ("layers.py", "* 0.5", "* 0.25", EVERY),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_does_what_hangs_on_it(bench: Bench, change: str) -> None:
    """Words never run the model again, checks never either; taken back, nothing is done at all."""
    file, old, new, expected = CHANGES[change]
    bench.edit(file, old, new)
    assert bench.made() == expected
    assert bench.made() == []
    bench.edit(file, new, old)
    assert bench.made() == []


@pytest.mark.parametrize("step", EVERY)
def test_other_code_of_a_step_does_that_step(bench: Bench, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """A change to how pages are made, or checks are judged, runs no model."""
    other = {**code_digest.digest_steps(), step: "other"}
    monkeypatch.setattr(code_digest, "digest_steps", lambda: other)
    assert bench.made() == {
        "hash": ["hash"], "execute": EVERY, "record": ["hash", "record", "render"],
        "check": ["hash", "check", "render"], "render": ["hash", "render"], "rehearse": ["hash", "rehearse"],
    }[step]  # fmt: skip


def test_other_limits_do_everything_again(bench: Bench) -> None:
    """What did not fit may fit now, and the other way round."""
    bench.config = bench.config.model_copy(update={"limits": Limits(memory_mib=5000)})
    assert bench.made() == EVERY


@pytest.mark.parametrize("file", LOST)
@pytest.mark.parametrize("damage", ["lost", "cut off", "edited", "of another state", "of another lesson"])
def test_what_is_not_whole_is_made_again(bench: Bench, file: str, damage: str) -> None:
    """By whoever needs it, and that step alone: what follows from an equal result stays."""
    path, before = bench.work.folder / file, (bench.work.folder / file).read_bytes()
    if damage == "lost":
        path.unlink()
    elif damage == "cut off":
        path.write_bytes(before[: len(before) // 2])
    elif damage == "edited":
        path.write_bytes(before[:-3] + bytes([before[-3] ^ 1]) + before[-2:] if len(before) > 3 else b"other")
    elif file.endswith(".json") and file != "mutants.json":
        made_from = "0" * 64 if damage == "of another lesson" else artifact.read_made_from(path) or ""
        artifact.write(path, made_from if damage == "of another lesson" else made_from[::-1], {"read": []})
    else:
        path.write_bytes(b"of another")
    step = next((name for name, step in steps.STEPS.items() if file in (step.file, *step.beside)), "render")
    bench.ran.clear()
    steps.perform(bench.work, "rehearse")
    assert bench.ran == [step]
    assert path.read_bytes() == before
    assert bench.made() == []


def test_a_killed_step_is_not_taken_for_the_one_before(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the files beside an artifact are written, no artifact vouches for them."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(artifact, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            steps.perform(bench.work, "execute", again=True)
    assert not (bench.work.folder / "capture.json").exists()
    assert bench.made() == ["execute"]


def test_a_rendering_leaves_nothing_of_the_one_before(bench: Bench) -> None:
    """What lies in the revision's folder is what was rendered, and no file besides."""
    stray = bench.work.revision / "worker" / "old.py"
    atomic_io.write(stray, "of an earlier rendering")
    steps.perform(bench.work, "render", again=True)
    assert [path.name for path in bench.work.revision.rglob("*")] == ["index.html"]


@pytest.mark.parametrize("step", EVERY)
def test_a_mistake_is_handed_on(bench: Bench, step: str) -> None:
    """It is a result: all later steps have it too, each with all its files, and nothing is done a second time."""
    bench.edit("model.py", "nn.Linear(2, width)", "nn.Linear(2, width, True)")
    bench.failing[step] = LessonErrors([MISTAKE, LessonError("a", "b", "c", "d")])
    with pytest.raises(LessonErrors) as caught:
        bench.made()
    assert caught.value.message() == bench.failing[step].message()
    assert bench.ran == EVERY[: EVERY.index(step) + 1]
    results = {name: steps.perform(bench.work, name) for name in EVERY}
    assert {name: len(done.mistakes) for name, done in results.items()} == {
        name: 2 if name == step or step in steps.STEPS[name].after else 0 for name in EVERY
    }
    assert bench.ran[len(EVERY[: EVERY.index(step) + 1]) :] == [
        name for name in EVERY[EVERY.index(step) + 1 :] if step not in steps.STEPS[name].after
    ]
    files = {file.rstrip("/") for each in steps.STEPS.values() for file in (each.file, *each.beside)}
    assert files <= {path.name for path in bench.work.folder.iterdir()}


def test_a_mistake_that_is_mended_is_gone(bench: Bench) -> None:
    """The next state has nothing of it."""
    bench.edit("model.py", "nn.Linear(2, width)", "nn.Linear(2, width, True)")
    bench.failing["execute"] = MISTAKE
    with pytest.raises(LessonErrors):
        bench.made()
    bench.failing.clear()
    bench.edit("model.py", "nn.Linear(2, width, True)", "nn.Linear(2, width, bias=True)")
    assert bench.made() == EVERY


def test_a_mistake_is_not_taken_over_by_another_state(bench: Bench) -> None:
    """It names lines, which may be others now: after an edit of words the step is done once more."""
    bench.edit("checks.py", '"bound": 0.5', '"bound": 0.25')
    bench.failing["check"] = MISTAKE
    with pytest.raises(LessonErrors):
        bench.made()
    bench.edit("lesson.yaml", "title: What does", "title: And what does")
    with pytest.raises(LessonErrors):
        bench.made()
    assert bench.ran == ["hash", "check"]


@pytest.mark.parametrize(
    "error",
    [RetryableError("a", "a limit"), WrongUsage("a", "no lesson"), LessonErrors([MISTAKE, RetryableError("a", "b")])],
)
def test_what_the_lesson_does_not_prove_is_not_kept(bench: Bench, error: LessonError) -> None:
    """A limit, a kill, a full disk: it is raised, nothing is stored, and the next run does the step."""
    bench.edit("model.py", "nn.Linear(2, width)", "nn.Linear(2, width, True)")
    bench.failing["execute"] = error
    for _ in range(2):
        with pytest.raises(type(error)) as caught:
            bench.made()
        assert caught.value is error
        assert "execute" in bench.ran
        assert not (bench.work.folder / "capture.json").exists()
    bench.failing.clear()
    assert bench.made() == EVERY[1:]


def test_what_is_to_be_done_again_is_done(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Snakemake is to do steps again (-F, -R): those that it names, each when it is asked for, and no other."""
    bench.ran.clear()
    assert not steps.perform(bench.work, "check", again=True).passed_over
    assert bench.ran == ["check"]
    monkeypatch.setenv(variables.AGAIN, "execute,render")
    assert bench.made() == ["execute", "render", "rehearse"]  # the last belongs to the rule that renders
    bench.ran.clear()
    steps.perform(bench.work, "record")
    assert bench.ran == []  # `execute` is needed, and is there
    steps.perform(bench.work, "execute", again=False)
    assert bench.ran == []


def test_a_mistake_that_is_looked_for_again_may_be_gone(bench: Bench) -> None:
    """What depends on more than the lesson can be done anew by name."""
    bench.edit("model.py", "nn.Linear(2, width)", "nn.Linear(2, width, True)")
    bench.failing["execute"] = MISTAKE
    with pytest.raises(LessonErrors):
        bench.made()
    bench.failing.clear()
    assert not steps.perform(bench.work, "execute", again=True).mistakes
    assert bench.made() == ["record", "check", "render", "rehearse"]


def test_a_run_knows_when_the_lesson_has_changed(bench: Bench) -> None:
    """The key that Snakemake knows names a state; another one is no mistake of the lesson, and nothing is done."""
    key = bench.work.key
    assert steps.open_build(bench.config, tiny.SLUG, key).key == key
    bench.edit("model.py", "nn.Linear(2, width)", "nn.Linear(2, width, True)")
    with pytest.raises(RetryableError, match="the lesson has changed since the run began"):
        steps.open_build(bench.config, tiny.SLUG, key)


@pytest.mark.parametrize("failing", [False, True])
def test_a_lesson_that_changes_while_it_is_read_leaves_nothing(bench: Bench, failing: bool) -> None:
    """Neither what it is nor what is wrong with it is written down under the key of another state."""
    bench.edit("lesson.yaml", "title: What does", "title: Now what does")
    work = bench.work
    bench.meanwhile = lambda: (bench.folder / "model.py").write_text("# x + 1\n")
    if failing:
        bench.failing["hash"] = MISTAKE
    with pytest.raises(RetryableError, match="has changed since"):
        steps.perform(work, "render")
    assert not work.folder.exists()


def test_a_mistake_of_another_state_is_none_of_this_one(bench: Bench) -> None:
    """What went wrong while somebody was saving is looked for again."""
    bench.edit("lesson.yaml", "seed: 6", "seed: 7")
    work = bench.work
    steps.perform(work, "hash")
    bench.meanwhile = lambda: (bench.folder / "layers.py").write_text("")
    bench.failing["execute"] = MISTAKE
    with pytest.raises(RetryableError, match="has changed since"):
        steps.perform(work, "execute")
    assert not (work.folder / "capture.json").exists()


def test_what_steps_say_is_passed_on(bench: Bench) -> None:
    """Warnings about the source and hints about the prose reach the curator, each once."""
    bench.edit("checks.py", '"bound": 0.5', '"bound": 0.25')
    assert steps.perform_all(bench.work) == ["record speaks", "check speaks", "render speaks"]
    assert steps.perform_all(bench.work) == []
    assert steps.perform(bench.work, "render") == Done(passed_over=True)


def test_it_is_known_whether_a_model_will_run(bench: Bench) -> None:
    """Then its libraries are loaded while the lesson is still read."""
    bench.edit("lesson.yaml", "title: What does", "title: And what does")
    work = bench.work
    steps.perform(work, "hash")
    assert steps.has_earlier_result(work, "execute")
    bench.edit("lesson.yaml", "seed: 6", "seed: 7")
    work = bench.work
    steps.perform(work, "hash")
    assert not steps.has_earlier_result(work, "execute")


def test_sweeping_keeps_the_present_state_and_the_last_few(bench: Bench) -> None:
    """However old the present one is; what is no state stays."""
    present = bench.work
    states_dir = present.folder.parent
    for number in range(6):
        (states_dir / f"{number:016x}").mkdir()
        os.utime(states_dir / f"{number:016x}", (1000 + number, 1000 + number))
    os.utime(present.folder, (1, 1))
    kept = {"cases.csv", "not-a-state", "f" * 17}
    (states_dir / "cases.csv").touch()
    for name in kept - {"cases.csv"}:
        (states_dir / name).mkdir()
    steps.sweep_states(present)
    latest = {f"{number:016x}" for number in (3, 4, 5)}
    assert {path.name for path in states_dir.iterdir()} == {present.key, *kept, *latest}
    assert bench.made() == []


def test_a_state_that_is_swept_meanwhile_is_no_failure(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was to be taken over is made instead."""
    bench.edit("lesson.yaml", "title: What does", "title: And what does")
    own = artifact.copy

    def late(path: Path, folder: Path) -> artifact.Artifact | None:
        shutil.rmtree(path.parent)
        return own(path, folder)

    monkeypatch.setattr(artifact, "copy", late)
    assert bench.made() == EVERY
