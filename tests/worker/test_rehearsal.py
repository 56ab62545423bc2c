"""A bundle runs before it is published, in a process that is another one; what depends on that is refused."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lessonpress.build import rehearse, steps
from lessonpress.core.errors import LessonError
from lessonpress.publishing import publish
from lessonpress.sandbox import capture
from lessonpress.worker import elsewhere
from tests import tiny

HEAD = "import datetime, os, time, uuid\nimport torch\nfrom torch import nn\n\n\n"
NET = HEAD + "class Echo(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {}\n\n" \
    "    def forward(self, x):\n        return x + {}\n"  # fmt: skip
PLAIN = "self.line = nn.Linear(3, 3)"
LINE = 12  # of what is added
# What a lesson adds to its numbers, and what of it the message names.
REFUSED = {
    "time.time()": "model.py:12 calls time.time()",
    "time.time_ns() % 9973": "calls time.time_ns()",
    "time.localtime().tm_year": "calls time.localtime()",
    "datetime.date.today().toordinal()": "calls datetime.date.today()",
    "datetime.datetime.now().weekday()": "calls datetime.datetime.now()",
    "id(self) % 65537": "calls id()",
    "hash(object()) % 65537": "gives other numbers from add@Echo#0 on",
    "x.data_ptr() % 65536": "gives other numbers from add@Echo#0 on",
    "os.getpid()": "calls os.getpid()",
    "os.urandom(1)[0] + 256 * os.urandom(1)[0]": "calls os.urandom()",
    "uuid.uuid4().int % 65537": "gives other numbers from add@Echo#0 on",
    "(1 if os.path.exists('manifest.json') else 0)": "gives other numbers from add@Echo#0 on",
}


def rehearsed(root: Path, model: str) -> list[str]:
    """What is wrong with the smallest lesson with this model, as the rehearsal says."""
    config = tiny.at(root)
    tiny.write(config.lesson("echo"), model=model)
    return tiny.words(steps.perform(steps.open_build(config, "echo"), "rehearse").mistakes)


def test_numbers_that_depend_on_the_process_are_refused(tmp_path: Path) -> None:
    """Clock, date, address, chance, process, folder: at the line of the call that gave another number."""
    for number, (added, words) in enumerate(REFUSED.items()):
        [said] = rehearsed(tmp_path / str(number), NET.format(PLAIN, added))
        assert f"echo/model.py:{LINE}: in a second process, the run execution gives other numbers" in said, added
        assert words in said, added
    # What a constructor takes from a clock lies among the published weights, and is found all the same.
    begun = NET.format("self.register_buffer('begun', torch.tensor(time.time()))", "self.begun")
    [said] = rehearsed(tmp_path / "begun", begun)
    assert "the run execution begins with other numbers in begun" in said
    assert "model.py:9 calls time.time()" in said


def test_what_a_seed_decides_is_not_refused(tmp_path: Path) -> None:
    """Drawn weights, drawn noise, time and addresses that reach no number: the control of the test above."""
    noise = "torch.randn(3) + 0 * len(str(id(self))) + (0 if time.time() > 0 else 1)"
    for number, model in enumerate([NET.format(PLAIN, noise), NET.format(PLAIN, "self.line(x)"), tiny.MODEL]):
        assert rehearsed(tmp_path / str(number), model) == []


def test_a_bundle_that_does_not_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with it: here a run.py that cannot load what it ships, and numbers that it does not repeat."""
    config = tiny.at(tmp_path)
    tiny.write(config.lesson("echo"), model=NET.format(PLAIN, "self.line(x)"))
    work = steps.open_build(config, "echo")
    steps.perform(work, "render")
    for file, old, new, words in (
        ("run.py", b'["execution/" + name]', b'["nowhere/" + name]', "fails: KeyError: 'nowhere/line.weight'"),
        ("compare.py", b"return int(failures > 0)", b"return 1", "ends with exit code 1"),
        ("worker/inputs.py", b"import", b"imp ort", "fails: SyntaxError"),
    ):  # fmt: skip
        monkeypatch.setattr(rehearse.zipfile, "ZipFile", damaging(file, old, new))
        with pytest.raises(LessonError, match=r"run\.py --compare of the bundle") as caught:
            rehearse.rehearse_bundle(work)
        monkeypatch.undo()
        assert words in caught.value.message()


def damaging(file: str, old: bytes, new: bytes) -> object:
    """A reader of zip files that unpacks one file with other bytes."""
    native = rehearse.zipfile.ZipFile

    class Damaged(native):  # type: ignore[misc,valid-type]
        def extractall(self, path: Path) -> None:
            super().extractall(path)
            [bundle] = Path(path).iterdir()
            data = (bundle / file).read_bytes()
            assert old in data
            (bundle / file).write_bytes(data.replace(old, new, 1))

    return Damaged


def test_what_is_published_runs_for_its_reader(tmp_path: Path) -> None:
    """A buffer that was spread out, traced and scripted layers with their weights: run.py as a reader types it."""
    spread = "self.register_buffer('wide', torch.tensor([[0.5]]).expand(2, 3))"
    traced = (
        "self.one = torch.jit.trace(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).eval(), torch.ones(2, 3)); "
        "self.two = torch.jit.script(nn.Linear(3, 3))"
    )
    for name, model in {"spread": NET.format(spread, "self.wide"),
                        "traced": NET.format(traced, "self.one(x) + self.two(x)")}.items():  # fmt: skip
        config = tiny.at(tmp_path / name)
        tiny.write(config.lesson("echo"), model=model)
        work = steps.open_build(config, "echo")
        assert steps.perform(work, "rehearse").mistakes == ()
        done = subprocess.run(
            [sys.executable, "run.py", "--compare"], cwd=work.revision, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[2,3]"), done.stderr
    weights = (work.revision / "weights.safetensors").read_bytes()
    assert all(name in weights for name in (b"execution/one.0.weight", b"execution/one.1.running_mean",
                                            b"execution/two.bias"))  # fmt: skip


def test_publishing_refuses_what_was_not_rehearsed_well(tmp_path: Path) -> None:
    """The mistake reaches the receipt, and no folder is made."""
    config = tiny.at(tmp_path)
    tiny.write(config.lesson("echo"), model=NET.format(PLAIN, "time.time()"))
    work = steps.open_build(config, "echo")
    steps.perform(work, "rehearse")
    [said] = tiny.words(publish.publish(work).mistakes)
    assert "in a second process" in said
    assert not config.published("echo").exists()


def test_a_metric_that_depends_on_the_clock_is_refused(tmp_path: Path) -> None:
    """Own metrics are computed in two processes; the message names the function and both numbers."""
    config = tiny.at(tmp_path)
    checks = "import time\n\n\ndef metric_now(array):\n    return {}\n\n\ndef check_it(runs):\n" \
        '    """It is."""\n    return {{"measured": 0.0, "bound": 1.0, "sense": "<="}}\n'  # fmt: skip
    recipe = tiny.RECORDED.replace("value: sum", "value: metric_now").replace('"output[sum]"', "output").replace(
        "{batch: {dict: {x: {shape: [2, 3], dtype: float64, fill: arange}}}}", "{x: {shape: [2, 3], fill: arange}}")
    for number, (value, good) in enumerate({"float(array.sum())": True, "time.time()": False}.items()):
        folder = tiny.write(config.lesson("echo"), recipe=recipe, checks=checks.format(value))
        work = steps.open_build(config, "echo")
        mistakes = tiny.words(steps.perform(work, "record").mistakes)
        assert (mistakes == []) is good, (number, mistakes)
        assert good or "checks.py: metric_now: for the run one it gives" in mistakes[0]
    assert folder == config.lesson("echo")


FORGED = [
    {}, [], {"ended": 0}, {"ended": True, "error": None, "results": {}, "drawn": {}, "asked": []},
    {"ended": 0, "error": "x", "results": {}, "drawn": {}, "asked": []},
    {"ended": 0, "error": None, "results": {"execution": "abc"}, "drawn": {}, "asked": []},
    {"ended": 0, "error": None, "results": {"execution": [1]}, "drawn": {}, "asked": []},
    {"ended": 0, "error": None, "results": {}, "drawn": {"execution": ["x"]}, "asked": []},
    {"ended": 0, "error": None, "results": {}, "drawn": {}, "asked": [["model.py", "1", "time"]]},
    {"ended": 0, "error": None, "results": {}, "drawn": {}, "asked": [["model.py", 1]]},
    {"ended": 0, "error": None, "results": {}, "drawn": {}, "asked": [["model.py", 10**4000, "time"]]},
    {"ended": 256, "error": None, "results": {}, "drawn": {}, "asked": []},
    {"ended": -9, "error": None, "results": {}, "drawn": {}, "asked": []},
]  # fmt: skip


def test_a_forged_answer_is_no_answer() -> None:
    """A lesson may have written it: each part has its form, or the lesson is refused."""
    for answer in FORGED:
        with pytest.raises(capture.Malformed):
            rehearse.read_answer(answer)
    good = rehearse.read_answer({"ended": 0, "error": None, "results": {}, "drawn": {}, "asked": [["a", 1, "b"]]})
    assert rehearse.find_difference(tiny.capture(), good)  # what it leaves out was not repeated


MOVED = """
import datetime, time, sys
sys.path.insert(0, {source!r})
from lessonpress.worker import elsewhere
elsewhere.move({folder!r})
print(time.time(), time.time_ns() // 10**9, time.mktime(time.localtime()), datetime.datetime.now().timestamp())
day, zero = datetime.date.today().toordinal(), time.strftime("%Y", time.gmtime(0))
print(day, time.strftime("%Y"), zero, time.gmtime(5).tm_sec)
print(isinstance(datetime.datetime.now(), datetime.datetime), isinstance(datetime.datetime(2000, 1, 1), datetime.date))
print(time.asctime(time.gmtime(0)), datetime.datetime.now(datetime.timezone.utc).utcoffset())
"""


def test_every_clock_shows_another_time(tmp_path: Path) -> None:
    """All by the same amount; a moment that is given stays what it is."""
    code = MOVED.format(source=str(Path(elsewhere.__file__).parents[2]), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True,
                          env={**os.environ, "TZ": "UTC"})  # fmt: skip
    first, second, third, fourth = done.stdout.splitlines()
    moved = time.time() + elsewhere.AWAY
    assert all(abs(float(number) - moved) < 60 for number in first.split())
    day = datetime.datetime.fromtimestamp(moved, datetime.UTC)
    assert second.split() == [str(day.date().toordinal()), str(day.year), "1970", "5"]
    assert third == "True True"
    assert fourth == "Thu Jan  1 00:00:00 1970 0:00:00"


def test_what_the_checks_are_is_no_reason_to_run_a_bundle_again(tmp_path: Path) -> None:
    """Words and checks were judged on the same numbers; what is recorded is cut by compare.py, so it is."""
    config = tiny.repository(tmp_path)
    assert steps.perform(steps.open_build(config, tiny.SLUG), "rehearse").mistakes == ()
    tiny.edit(config.lesson(tiny.SLUG) / "lesson.yaml", "title: What does", "title: And what does")
    tiny.edit(config.lesson(tiny.SLUG) / "checks.py", '"bound": 0.5', '"bound": 0.25')
    assert steps.perform(steps.open_build(config, tiny.SLUG), "rehearse").passed_over
