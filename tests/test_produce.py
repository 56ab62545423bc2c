"""Producing a lesson does what its changes ask for and nothing more; verbs are stood in for, so nothing is run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lessonpress import canon, produce, stages
from lessonpress.errors import LessonError
from lessonpress.settings import Config
from tests import tiny

CHECKS = "def check_x(runs):\n    return {'measured': 0.0, 'bound': 0.0, 'sense': '<='}\n"


FILES = ["identity.json", "worker/deep.py"]


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
                own(config, slug)
                return "the weights are old"
            for made in produce.ARROWS[room].made:
                canon.write(config.room(slug) / made, self.content(room))
            if room == "render":  # its receipt names all that is to be published
                canon.write(config.room(slug) / "revision" / "worker" / "deep.py", self.content(room))
                canon.write(config.room(slug) / "rendered.json", canon.pretty({"files": FILES}))
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


@pytest.mark.parametrize("lost", [True, False])
@pytest.mark.parametrize("file", FILES)
def test_every_file_of_the_revision_counts(bench: Bench, file: str, lost: bool) -> None:
    """What is published is what was rendered: a file of it that is lost or another is made again."""
    path = bench.config.room("echo") / "revision" / file
    path.unlink() if lost else canon.write(path, "another")
    assert bench.produced() == ["render"]
    assert bench.produced() == []


def test_every_file_of_the_revision_is_flushed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record must not outlive, through a loss of power, the files that it says are there."""
    flushed: list[Path] = []
    monkeypatch.setattr(canon, "flush", flushed.extend)
    bench.produced()
    revision = bench.config.room("echo") / "revision"
    assert {revision / name for name in FILES} <= set(flushed)


@pytest.mark.parametrize("receipt", ["half", "[]", '{"files": 1}'])
def test_a_receipt_of_the_rendering_that_cannot_be_read_is_made_again(bench: Bench, receipt: str) -> None:
    """Half a file is as good as no file."""
    canon.write(bench.config.room("echo") / "rendered.json", receipt)
    assert bench.produced() == ["render"]


@pytest.mark.parametrize("arrow", ["execute", "record", "check"])
def test_a_file_that_somebody_else_wrote_is_made_again(bench: Bench, arrow: str) -> None:
    """A verb that was killed before its record, a backup put back: what is on record decides, not what lies there."""
    canon.write(bench.config.room("echo") / produce.ARROWS[arrow].made[0], "another")
    assert bench.produced() == [arrow]


def test_a_killed_run_is_not_taken_for_the_one_before(bench: Bench) -> None:
    """The model changed, its capture was written, the power went; then the change is taken back."""
    before = (bench.folder / "model.py").read_text()
    bench.edit("model.py", "return", "return 1 *")
    canon.write(bench.config.room("echo") / "capture.json", "of the other model")
    (bench.folder / "model.py").write_text(before)
    assert bench.produced() == ["hashing", "execute"]


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
    """Warnings about the source and hints about the prose reach the curator, each once."""
    bench.edit("lesson.yaml", "title: Echo", "title: Ecco")
    assert produce.produce(bench.config, "echo") == "the weights are old\nrecord speaks\nrender speaks"
    assert produce.produce(bench.config, "echo") is None


def test_a_record_that_cannot_be_read_is_none(bench: Bench) -> None:
    """Half a file is as good as no file."""
    (bench.config.room("echo") / produce.RECORD).write_text('{"keys": {')
    assert bench.produced() == ["hashing", "execute", "record", "check", "render"]
