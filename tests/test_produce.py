"""Producing a lesson does what its changes ask for and nothing more; verbs are stood in for, so nothing is run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lessonpress import canon, produce, stages
from lessonpress.errors import LessonError
from lessonpress.settings import Config
from tests import tiny

CHECKS = "def check_x(runs):\n    return {'measured': 0.0, 'bound': 0.0, 'sense': '<='}\n"


class Bench:
    """A repository with one lesson, and a note of every verb that ran."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.config = Config(lessons=str(root / "lessons"), results=str(root / "results"), work=str(root / "work"))
        self.folder = tiny.write(root / "lessons" / "echo", recipe=tiny.RECIPE + "checks: checks.py\n")
        (self.folder / "checks.py").write_text(CHECKS)
        self.ran: list[str] = []
        self.failing = ""
        own = produce._verb
        monkeypatch.setattr(produce, "_verb", lambda room, function: self.verb(room, own(room, function)))

    def verb(self, room: str, own: Callable[[Config, str], str | None]) -> Callable[[Config, str], str | None]:
        """`hash` is the real one; the others write down their own digest of what they would read."""

        def act(config: Config, slug: str) -> str | None:
            self.ran.append(room)
            if room == self.failing:
                raise LessonError(room, "refused")
            if room == "hashing":
                return own(config, slug)
            for made in produce.ARROWS[room].made:
                canon.write(config.room(slug) / made, self.content(room))
            return f"{room} speaks"

        return act

    def content(self, room: str) -> str:
        """What a verb writes: it hangs on what goes into the arrow, as real ones do."""
        files = {"execute": ("model.py",), "check": ("model.py", "checks.py")}.get(room, ("model.py", "lesson.yaml"))
        return canon.digest("".join((self.folder / name).read_text() for name in files))

    def produced(self) -> list[str]:
        """Produce once more; answers the verbs that ran."""
        self.ran.clear()
        produce.produce(self.config, "echo")
        return list(self.ran)

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace words in a file of the lesson."""
        text = (self.folder / file).read_text()
        assert old in text
        (self.folder / file).write_text(text.replace(old, new))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Give a lesson that was produced once."""
    made = Bench(tmp_path, monkeypatch)
    assert made.produced() == ["hashing", "execute", "record", "check", "render"]
    return made


def test_what_has_not_changed_is_passed_over(bench: Bench) -> None:
    """A second time nothing runs, and a mere touch only reads the lesson again."""
    assert bench.produced() == []
    (bench.folder / "model.py").touch()
    assert bench.produced() == ["hashing"]


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("lesson.yaml", "title: Echo", "title: Ecco", {"record", "render"}),
        ("checks.py", "0.0", "1.0", {"record", "check", "render"}),
        ("model.py", "return", "return 1 *", {"execute", "record", "check", "render"}),
        ("lesson.yaml", "fill: ", "fill:  ", set()),
    ],
)
def test_a_change_runs_what_hangs_on_it(bench: Bench, file: str, old: str, new: str, expected: set[str]) -> None:
    """Words never run the model again, checks never either, and the layout of a recipe is nothing at all."""
    bench.edit(file, old, new)
    ran = bench.produced()
    assert ran[0] == "hashing"
    assert expected <= set(ran[1:])
    assert ("execute" in ran) == ("execute" in expected)
    assert ("check" in ran) == ("check" in expected)
    assert bench.produced() == []


@pytest.mark.parametrize("stage", ["hash", "execute", "record", "check", "render"])
def test_other_code_of_an_arrow_runs_that_arrow(bench: Bench, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    """A change to how pages are made runs no worker."""
    other = {**stages.digests(), stage: "other"}
    monkeypatch.setattr(stages, "digests", lambda: other)
    assert bench.produced() == [{"hash": "hashing"}.get(stage, stage)]


@pytest.mark.parametrize("arrow", produce.ARROWS)
def test_a_lost_file_is_made_again(bench: Bench, arrow: str) -> None:
    """Somebody who deletes a file of the work folder gets it back."""
    (bench.config.room("echo") / produce.ARROWS[arrow].made[0]).unlink()
    assert bench.produced() == [arrow]


def test_a_failure_keeps_what_was_made_before_it(bench: Bench) -> None:
    """The next run goes on behind the last arrow that held, and the lesson is due until it is whole."""
    bench.edit("model.py", "return", "return 1 *")
    bench.failing = "check"
    with pytest.raises(LessonError, match="refused"):
        bench.produced()
    assert bench.ran == ["hashing", "execute", "record", "check"]
    assert produce.told(bench.config.room("echo"))["seen"] is None
    bench.failing = ""
    assert bench.produced() == ["hashing", "check", "render"]


def test_what_a_verb_says_is_passed_on(bench: Bench) -> None:
    """Hints about the prose reach the curator."""
    bench.edit("lesson.yaml", "title: Echo", "title: Ecco")
    assert "render speaks" in (produce.produce(bench.config, "echo") or "")


def test_a_record_that_cannot_be_read_is_none(bench: Bench) -> None:
    """Half a file is as good as no file."""
    (bench.config.room("echo") / produce.RECORD).write_text('{"keys": {')
    assert bench.produced() == ["hashing", "execute", "record", "check", "render"]
