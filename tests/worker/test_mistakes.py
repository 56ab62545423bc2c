"""What goes wrong while a lesson runs is one message: file and line, what happened, what to do; no traceback."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from lessonpress.build import check, check_runner, steps
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import canonical_json
from lessonpress.core.errors import LessonError, RetryableError
from lessonpress.core.settings import Config
from lessonpress.lesson import reader
from lessonpress.publishing import publish
from tests import tiny

pytestmark = [pytest.mark.workflow, pytest.mark.hostile]

CASES = """\
experiment:
  cases:
    - id: one
      inputs:
        x: {fill: 2}
  record:
    matrices:
      - {id: all, tensor: output}
"""


def forward(*lines: str) -> str:
    """A model whose forward() has these lines (they begin at line 7)."""
    body = "".join(f"        {line}\n" for line in lines)
    return f"import os, sys, time\n\nfrom torch import nn\n\nclass Echo(nn.Module):\n    def forward(self, x):\n{body}"


def settings(root: Path, **limits: int) -> Config:
    """A scratch repository's settings with small limits."""
    config = tiny.at(root)
    return config.model_copy(update={"limits": config.limits.model_copy(update={"wall_seconds": 40, **limits})})


def executed(root: Path, *, limits: dict[str, int] | None = None, **files: str) -> dict[str, Any]:
    """Write a lesson, hash it and execute it; answers its capture."""
    config = settings(root, **(limits or {}))
    tiny.write(config.lesson("echo"), **files)
    return dict(tiny.made(config, "echo", last="execute").body("capture.json"))


def mistake(root: Path, **parts: Any) -> str:
    """The message that a lesson earns, with places given from the lesson's folder on."""
    with pytest.raises(LessonError) as caught:
        executed(root, **parts)
    text = caught.value.message()
    assert "Traceback" not in text
    assert "/tmp/lessonpress-" not in text
    return text.replace(os.path.relpath(root / "lessons") + "/", "")


def test_the_smallest_lesson_runs(tmp_path: Path) -> None:
    """What the tests below break is whole to begin with."""
    assert list(executed(tmp_path)["runs"]) == ["execution"]


MODELS = {
    "wrong class name": (
        {"model": tiny.MODEL.replace("Echo", "Ecco") + "\n\nclass Other(nn.Module):\n    pass\n"},
        "echo/lesson.yaml:4: model.class: model.py has no class Echo; classes found: Ecco, Other.",
    ),
    "no class at all": (
        {"model": "x = 1\n"},
        "echo/lesson.yaml:4: model.class: model.py has no class Echo; classes found: none.",
    ),
    "class that is no module": (
        {"model": "class Echo:\n    pass\n"},
        "echo/lesson.yaml:4: model.class: Echo in model.py is no nn.Module; a class derived from torch.nn.Module.",
    ),
    "function in the class's place": (
        {"model": "def Echo():\n    pass\n"},
        "echo/lesson.yaml:4: model.class: Echo in model.py is no nn.Module",
    ),
    "syntax error": (
        {"model": "import torch\n\ndef f(:\n    pass\n"},
        "echo/model.py:3: importing the file of Echo: SyntaxError: ",
    ),
    "exception while importing": (
        {"model": "import torch\nx = 1 / 0\n"},
        "echo/model.py:2: importing the file of Echo: ZeroDivisionError: division by zero; the line reads `x = 1 / 0`.",
    ),
    "missing package": (
        {"model": "import nothing_like_it\n"},
        "echo/model.py:1: importing the file of Echo: ModuleNotFoundError: No module named 'nothing_like_it'",
    ),
    "exit while importing": (
        {"model": "import sys\nsys.exit(0)\n"},
        "echo/model.py:2: importing the file of Echo: SystemExit: 0",
    ),
    "exception in __init__": (
        {
            "model": "from torch import nn\n\nclass Echo(nn.Module):\n    def __init__(self):\n        "
            "nn.Linear('a', 2)\n"
        },
        "echo/model.py:5: building the model of Echo: TypeError: ",
    ),
    "missing constructor argument": (
        {
            "model": "from torch import nn\n\nclass Echo(nn.Module):\n    def __init__(self, width):\n        "
            "super().__init__()\n"
        },
        "echo/lesson.yaml:4: model: building the model of Echo: TypeError: ",
    ),
    "unknown constructor argument": (
        {"recipe": tiny.RECIPE.replace("class: Echo}", "class: Echo, args: {depth: 3}}")},
        "echo/lesson.yaml:4: model.args: building the model of Echo: TypeError: ",
    ),
    "exception in forward": (
        {"model": forward("y = x + 1", "raise ValueError('no such word')")},
        "echo/model.py:8: calling the model of Echo: ValueError: no such word; the line reads `raise "
        "ValueError('no such word')`.",
    ),
    "shapes that do not fit": (
        {"model": forward("return x @ x")},
        "echo/model.py:7: calling the model of Echo: RuntimeError: ",
    ),
    "input that forward does not know": (
        {"recipe": tiny.RECIPE.replace("    x: ", "    y: ")},
        None,
    ),
    "input that is missing": (
        {"recipe": tiny.RECIPE.split("  inputs")[0] + "  inputs: {}\n"},
        "echo/lesson.yaml:6: execution.inputs: calling the model of Echo: TypeError: ",
    ),
    "parameter that the model lacks": (
        {"recipe": tiny.RECIPE + CASES.replace("      inputs:", "      parameters: {w: {fill: 0}}\n      inputs:")},
        "echo/lesson.yaml:11: experiment.cases[0].parameters.w: the model has no parameter w; there are: none.",
    ),
    "a case that fails": (
        {"recipe": tiny.RECIPE + CASES, "model": forward("if x.sum() > 6: raise ValueError('too much')", "return x")},
        "echo/model.py:7: calling the model of Echo (run one): ValueError: too much; the line reads ",
    ),
    "exit in forward": (
        {"model": forward("sys.exit('bye')")},
        "echo/model.py:7: calling the model of Echo: SystemExit: bye",
    ),
    "interrupt in forward": (
        {"model": forward("raise KeyboardInterrupt")},
        "echo/model.py:7: calling the model of Echo: KeyboardInterrupt",
    ),
    "words before the end": (
        {"model": forward("print('looking at', x.shape)", "raise ValueError('stop')")},
        "echo/model.py:8: calling the model of Echo: ValueError: stop; the line reads `raise ValueError('stop')`. "
        "\n  it printed: looking at torch.Size([2, 3])",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_mistake_in_the_code_is_one_message(tmp_path: Path, name: str) -> None:
    """The lesson's own innermost line, the exception and the line's text; the recipe's line where no code took part."""
    files, message = MODELS[name]
    if message is None:
        executed(tmp_path, **files)  # one input of another name is passed in order
        return
    assert message in mistake(tmp_path, **files)


ENDS = {
    "os._exit": (forward("os._exit(0)"), {}, "echo: running Echo: the process ended without a result, exit code 0."),
    "abort": (forward("os.abort()"), {}, "echo: running Echo: the process "),
    "endless loop": (
        forward("while True: time.sleep(1)"),
        {"wall_seconds": 6},
        "echo: running Echo: it passed the time limit of 6 s (config.yaml: limits.wall_seconds). Raise it in "
        "config.yaml under limits",
    ),
    "busy loop": (
        forward("while True: pass"),
        {"cpu_seconds": 3, "wall_seconds": 600},  # a loaded machine gives processor time slowly
        "echo: running Echo: it passed the processor time limit of 3 s",
    ),
    "huge answer": (
        forward("return x.new_zeros(1 << 19)[x.long().sum():] + x.new_ones(1).exp()"),
        {"answer_mib": 1},
        "echo: running Echo: it passed the answer limit of 1 MiB",
    ),
    "huge tensor": (
        forward("return x.new_zeros(1 << 34)"),
        {},
        "the memory limit is 4096 MiB (config.yaml: limits.memory_mib).",
    ),
    "too little for torch": (
        forward("return x"),
        {"memory_mib": 64},
        "the memory limit is 64 MiB (config.yaml: limits.memory_mib). Raise it in config.yaml under limits",
    ),
    "forged line": (forward("os.write(3, b'{}\\n')", "return x"), {}, "echo: "),
    "flood and fail": (
        forward("for _ in range(9999): print('x' * 999)", "raise ValueError('stop')"),
        {},
        "echo/model.py:8: calling the model of Echo: ValueError: stop",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_limit_is_reported_by_its_name(tmp_path: Path, name: str) -> None:
    """Whatever a lesson does, that ends it, not the clock, and the message is bounded and printable."""
    model, limits, message = ENDS[name]
    message_text = mistake(tmp_path, model=model, limits=limits)
    assert message in message_text
    assert len(message_text) < 4_000
    assert all(char.isprintable() or char == "\n" for char in message_text)
    clock = "it passed the time limit"
    assert (clock in message_text) is (clock in message)
    # Only what the lesson's own code says for sure is kept; all else the next run does again.
    assert bool(list(tmp_path.glob("work/echo/*/capture.json"))) is (name == "flood and fail")


def test_a_flood_of_words_does_no_harm(tmp_path: Path) -> None:
    """A lesson that prints megabytes still publishes; the words are nobody's business."""
    assert executed(tmp_path, model=forward("for _ in range(9999): print('x' * 999)", "return x"))["runs"]


def test_a_file_that_changes_meanwhile_is_reported(tmp_path: Path) -> None:
    """What was hashed is what runs, or nothing does."""
    config = settings(tmp_path)
    tiny.write(config.lesson("echo"))
    work = tiny.made(config, "echo", last="hash")
    (config.lesson("echo") / "model.py").write_text("changed = True\n")
    with pytest.raises(
        RetryableError, match=r"model\.py: the file changed while the lesson was running\. Run the same command"
    ):
        steps.perform(work, "execute")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> LessonBuild:
    """The build of the tiny lesson, executed."""
    return tiny.made(tiny.repository(tmp_path_factory.mktemp("house")), last="execute")


def judged(work: LessonBuild, tmp_path: Path, checks: str) -> list[dict[str, Any]]:
    """The checks of another checks.py on the tiny lesson's capture."""
    config = tiny.repository(tmp_path)
    (config.lesson(tiny.SLUG) / "checks.py").write_text(checks, encoding="utf-8")
    return check_runner.run_checks(config, reader.read(config.lesson(tiny.SLUG)), work.bytes("capture.json"))[0]


def test_checks_are_measured_in_file_order(work: LessonBuild) -> None:
    """Sentence (the docstring's first line), measured value, bound, margin, verdict, and where it stands."""
    steps.perform(work, "check")
    first, second = work.checks
    assert (first["id"], second["id"]) == (
        "check_result_is_a_quarter_of_the_shifted_map",
        "check_the_shift_moves_every_number",
    )
    assert first["sentence"] == "The result is a quarter of the shifted map, computed by hand."
    assert (first["passed"], first["line"], first["sense"]) == (True, 6, "<=")
    assert first["measured"] <= 1e-15
    assert first["margin"] == first["bound"] - first["measured"]
    # The shift of 4, −4, 8 enters halve#1 as a quarter of itself: the smallest move is 1.
    assert second["measured"] == pytest.approx(1.0, abs=1e-12)
    assert second["margin"] == second["measured"] - 0.5


def test_the_lessons_own_metric_is_recorded(work: LessonBuild) -> None:
    """A metric_ function sees the array as it is published."""
    steps.perform(work, "record")
    plain = work.cases["cases"]["plain"]
    mapped = [value for row in plain["arrays"]["mapped"]["values"] for value in row]
    assert plain["metrics"]["spread"] == max(mapped) - min(mapped)
    assert plain["metrics"]["top"] == 0


def test_the_whole_capture_is_read_as_the_worker_meant_it(work: LessonBuild) -> None:
    """Execution, cases and probe hold what torch computes, here by hand in numpy."""
    from lessonpress.worker import recorded

    runs = recorded.Runs(work.body("capture.json"))
    for name in ("execution", "plain", "moved", "flat"):
        run = runs[name]
        line = run["input:points"] @ run["param:line.weight"].T + run["param:line.bias"]
        assert abs(run["line"] - line).max() < (1e-6 if name == "execution" else 1e-15)
        assert abs(run["output[0]"] - (line + run["input:shift"]) / 4).max() < (1e-6 if name == "execution" else 1e-15)
    assert runs["flat"]["line"].tolist() == [[1.0, 2.0, 3.0]] * 4
    assert runs["execution"]["input:points"].ravel().tolist() == [-1 + 0.25 * i for i in range(8)]


def test_a_failing_check_is_a_verdict_and_publish_the_gate(work: LessonBuild, tmp_path: Path) -> None:
    """`check` succeeds and records; `publish` refuses with file, line, measured value and bound."""
    config = tiny.repository(tmp_path)
    tiny.edit(config.lesson(tiny.SLUG) / "checks.py", '"bound": 0.5', '"bound": 1.5')
    shutil.copytree(work.config.work_dir(tiny.SLUG), config.work_dir(tiny.SLUG))  # the same runs
    other = tiny.made(config)
    assert [entry["passed"] for entry in other.checks] == [True, False]
    [message] = tiny.words(publish.publish(other).mistakes)
    assert re.search(
        r"checks\.py:19: check_the_shift_moves_every_number: the check fails: measured [01]\.\d*; it "
        r"must be >= 1\.5 \(Another shift moves every number of the result\.\)", message,
    )  # fmt: skip


def check_with(*lines: str) -> str:
    """A checks.py with one check; its lines begin at line 6."""
    body = "".join(f"    {line}\n" for line in lines)
    return f'import os, sys, time\n\n\ndef check_it(runs):\n    """It holds."""\n{body}'


GOOD = "return {'measured': 0.0, 'bound': 1.0, 'sense': '<='}"
SHAPE = 'a check returns {"measured": float, "bound": float, "sense": "<=" or ">="}'
CHECKS = {
    "raises": (check_with("assert 1 == 2, 'not equal'"), "checks.py:6: running check_it: AssertionError: not equal"),
    "raises deep inside": (
        check_with("return help_me()") + "\n\ndef help_me():\n    return [][1]\n",
        "checks.py:10: running check_it: IndexError: list index out of range",
    ),
    "returns nothing": (check_with("pass"), f"checks.py:4: running check_it: TypeError: it returned None; {SHAPE}"),
    "returns a bool": (
        check_with("return True"),
        f"checks.py:4: running check_it: TypeError: it returned True; {SHAPE}",
    ),
    "returns half": (
        check_with("return {'measured': 1.0}"),
        "running check_it: TypeError: it returned {'measured': 1.0}; ",
    ),
    "another sense": (
        check_with("return {'measured': 1.0, 'bound': 1, 'sense': '<'}"),
        "TypeError: it returned {'measured': 1.0, ",
    ),
    "a bound that is none": (
        check_with("return {'measured': 1.0, 'bound': float('nan'), 'sense': '<='}"),
        "TypeError: it returned",
    ),
    "an address that matches nothing": (
        check_with("return runs['plain']['lime']"),
        "checks.py:6: running check_it: NoSuchAddress: 'lime' matches nothing that ran; near it: line",
    ),
    "a run that is none": (
        check_with("return runs['plane']"),
        "NoSuchAddress: 'plane' is no run; runs: execution, plain, moved, flat",
    ),
    "syntax": ("def check_it(runs:\n    pass\n", "checks.py:1: running checks.py: SyntaxError: "),
    "exit": (check_with("sys.exit(0)"), "checks.py:6: running check_it: SystemExit: 0"),
    "hard exit": (check_with("os._exit(0)"), "running checks.py: the process ended without a result, exit code 0."),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_mistake_in_a_check_is_one_message(work: LessonBuild, tmp_path: Path, name: str) -> None:
    """checks.py's own line, and what a check has to return."""
    text, message = CHECKS[name]
    with pytest.raises(LessonError) as caught:
        judged(work, tmp_path, text)
    assert message in caught.value.message()
    assert "/tmp/lessonpress-" not in caught.value.message()


def test_a_file_of_checks_asserts_something(tmp_path: Path) -> None:
    """A green tick over nothing is worse than none."""
    config = settings(tmp_path)
    tiny.write(config.lesson("echo"), recipe=tiny.RECIPE + "checks: checks.py\n", checks="import numpy\n")
    captured = canonical_json.compact(tiny.capture()).encode()
    with pytest.raises(
        LessonError, match=r"lesson\.yaml:8: checks: checks\.py has no function that begins with check_; "
    ):
        check_runner.run_checks(config, reader.read(config.lesson("echo")), captured)


def test_a_check_that_measures_nothing_fails(work: LessonBuild, tmp_path: Path) -> None:
    """NaN is within no bound."""
    (verdict,) = judged(work, tmp_path, check_with("return {'measured': float('nan'), 'bound': 1.0, 'sense': '<='}"))
    assert check.make_verdict(verdict)["passed"] is False
    assert check.make_verdict(verdict)["margin"] == "NaN"


def test_checks_need_nothing_of_ours_and_no_torch(work: LessonBuild, tmp_path: Path) -> None:
    """A check runs where torch has not been imported, may use numpy and its own siblings, and may print."""
    text = "import layers_of_check\n" + check_with("print('hello')", "assert 'torch' not in sys.modules", GOOD)
    config = tiny.repository(tmp_path)
    (config.lesson(tiny.SLUG) / "layers_of_check.py").write_text("x = 1\n")
    shutil_target = config.lesson(tiny.SLUG) / "checks.py"
    shutil_target.write_text(text)
    (verdict,), _ = check_runner.run_checks(config, reader.read(config.lesson(tiny.SLUG)), work.bytes("capture.json"))
    assert (verdict["id"], verdict["sentence"], verdict["line"]) == ("check_it", "It holds.", 5)
