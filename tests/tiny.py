"""A tiny lesson in a scratch repository, and a hand-made capture, for the tests of the parent's modules."""

from __future__ import annotations

import base64
import hashlib
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from lessonpress.build import check, steps
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.build.steps import Made
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import publish

SLUG = "tiny-affine"
LESSON = Path(__file__).parent / "lessons" / SLUG
# The smallest lesson that publishes.
MODEL = "from torch import nn\n\n\nclass Echo(nn.Module):\n    def forward(self, x):\n        return x + 1\n"
RECIPE = """\
schema: 1
slug: echo
title: Echo
model: {file: model.py, class: Echo}
execution:
  inputs:
    x: {shape: [2, 3], dtype: float32, fill: ones}
"""
# One that fits the hand-made runs below.
RECORDED = """\
schema: 1
slug: echo
title: Echo
model: {file: model.py, class: Echo}
execution: {seed: 1, dtype: float64, inputs: {batch: {dict: {x: {shape: [2, 3], dtype: float64, fill: arange}}}}}
experiment:
  cases: [{id: one}, {id: two}]
  record:
    matrices: [{id: sum, tensor: "output[sum]"}]
    metrics: [{id: total, value: sum, of: sum}]
checks: checks.py
mutants: [{id: broken, sentence: It is broken., replace: {file: model.py, find: + 1, with: ""}, breaks: [check_it]}]
"""
BROKEN = {"id": "broken", "failed": True, "measured": 2.0, "bound": 1.0}
CHECKS = "# A check.\n\n\n\n\n\ndef check_it(runs):\n    return runs\n"


_STANDING_IN = threading.RLock()


def write(folder: Path, **texts: str) -> Path:
    """Write a lesson folder: `recipe` is lesson.yaml, every other name a Python file. Answers the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"recipe": RECIPE, "model": MODEL, **texts}.items():
        (folder / ("lesson.yaml" if name == "recipe" else f"{name}.py")).write_text(text, encoding="utf-8")
    return folder


def repository(root: Path) -> Config:
    """A scratch repository with the tiny lesson in it."""
    shutil.copytree(LESSON, root / "lessons" / SLUG, ignore=shutil.ignore_patterns("__pycache__"))
    return at(root)


def at(root: Path, **more: Any) -> Config:
    """The settings of a repository in a folder."""
    return Config(lessons=str(root / "lessons"), results=str(root / "results"), work=str(root / "work"), **more)


def edit(path: Path, old: str, new: str) -> None:
    """Replace text that stands once in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def made(config: Config, slug: str = SLUG, last: str = "rehearse") -> LessonBuild:
    """A lesson's build with every step up to `last` done. Raises the lesson's mistakes."""
    work = steps.open_build(config, slug)
    steps.perform_all(work, last)
    return work


@contextmanager
def standing_in(**results: Made) -> Iterator[None]:
    """Let hand-made results be what some steps make; they are sealed as the steps' own would be."""
    with _STANDING_IN:  # threads that undo it in another order would leave it standing
        instead = {name: replace(steps.STEPS[name], make=lambda _, one=one: one) for name, one in results.items()}
        with mock.patch.dict(steps.STEPS, instead):
            yield


def without_worker(config: Config, captured: Any, verdicts: Sequence[Any], *, last: str = "rehearse") -> LessonBuild:
    """The build of the lesson `echo`, with hand-made runs and verdicts, all else done. Raises the lesson's mistakes."""
    checks = Made({"checks": list(verdicts)})
    rehearsed = Made({"slug": "echo"})  # there is no code that gives these numbers
    with standing_in(execute=Made(captured, {"mutants.json": b"{}"}), check=checks, rehearse=rehearsed):
        return made(config, "echo", last)


class Maker:
    """Collects a run's values as the worker tells them: dtype, shape, and the bytes under their digest."""

    def __init__(self, blobs: dict[str, str]) -> None:
        self.blobs, self.values = blobs, list[dict[str, Any]]()

    def take(self, array: Any) -> int:
        """The number of a new value."""
        array = np.asarray(array)
        data = array.tobytes()
        name = hashlib.sha256(data).hexdigest()
        self.blobs[name] = base64.b64encode(data).decode()
        self.values.append({"dtype": str(array.dtype), "shape": list(array.shape), "blob": name})
        return len(self.values) - 1


def call(layer: str, op: str, kind: str, inside: int | None, args: Sequence[Any], out: Any) -> dict[str, Any]:
    """One call of a run."""
    at = {"file": "model.py", "line": 9, "endLine": 9, "column": 5, "endColumn": 20}
    return {
        "layer": layer,
        "op": op,
        "kind": kind,
        "inside": inside,
        "at": at,
        "args": list(args),
        "kwargs": {},
        "out": out,
    }


def run(kind: str, shift: float, blobs: dict[str, str]) -> dict[str, Any]:
    """A run of `pair(line(x), shift)`, `line` called twice, with its numbers made by numpy."""
    made = Maker(blobs)
    x, weight = np.arange(6.0).reshape(2, 3), np.eye(3) * 2
    numbers = {
        "x": made.take(x),
        "w": made.take(weight.astype(np.float32)),
        "first": made.take(x @ weight),
        "second": made.take(x @ weight @ weight),
        "sum": made.take(x @ weight @ weight + shift),
        "count": made.take(np.array([7, 8])),
    }

    def read(name: str, source: list[Any]) -> dict[str, Any]:
        return {"tensor": numbers[name], "from": [source]}

    line = [
        call("part.line", "Linear", "layer", 0, [read("x", ["input", "batch.x"])], {"tensor": numbers["first"]}),
        call("part.line", "Linear", "layer", 0, [read("first", [1, ""])], {"tensor": numbers["second"]}),
        call(
            "add@Pair#0",
            "torch.add",
            "op",
            0,
            [read("second", [2, ""]), shift],
            {"tuple": [{"tensor": numbers["sum"]}, {"list": [{"tensor": numbers["count"]}, 3]}]},
        ),
    ]
    given = {"dict": [["x", {"tensor": numbers["x"], "from": [["input", "batch.x"]]}]]}
    out = {"record": "Result", "fields": [["sum", read("sum", [3, "0"])], ["count", read("count", [3, "1.0"])]]}
    return {
        "kind": kind,
        "seed": 1,
        "dtype": "float64",
        "mode": "eval",
        "inputs": [["batch", given]],
        "output": out,
        "calls": [call("", "Module", "module", None, [given], out), *line],
        "params": {"part.line.weight": numbers["w"]},
        "buffers": {},
        "values": made.values,
    }


def _module(kind: str, parent: str | None, *, leaf: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "class": kind,
        "leaf": leaf,
        "parent": parent,
        "params": {},
        "source": None,
        "aliases": [],
        "training": False,
        "parameters": {},
        "buffers": {},
        **more,
    }


def capture() -> dict[str, Any]:
    """A whole capture with an execution, two cases and a probe."""
    blobs: dict[str, str] = {}
    shifts = {"execution": ("execution", 0.0), "one": ("case", 1.0), "two": ("case", 2.0), "off": ("probe", -9.0)}
    runs = {name: run(kind, shift, blobs) for name, (kind, shift) in shifts.items()}
    line = _module("Linear", "part", leaf=True, aliases=["same.line"], parameters={"weight": "part.line.weight"})
    modules = {"": _module("Pair", None), "part": _module("Part", ""), "part.line": line}
    provenance = {
        "capturedAt": "2026-01-02T03:04:05+00:00",
        "productRevision": None,
        "python": "3.11.9",
        "torch": "2.13.0",
        "initialisation": "portable-1",
        "settings": {"TZ": "UTC"},
        "cpu": {"machine": "x86_64", "capability": "DEFAULT"},
        "host": {"system": "Linux", "kernel": "6.1", "user": 1000},
        "isolation": {
            "profile": "linux-strict", "landlock": 7, "seccomp": "0" * 64, "privileges": "none", "uid": 1000,
            "probe": {"write": "denied"}, "namespaces": [], "kernel": "6.1", "limits": {"wall_seconds": 60},
            "missing": {}, "ended": "answered",
        },
    }
    return {"schema": 1, "slug": "pair", "runs": runs, "modules": modules, "blobs": blobs, "provenance": provenance}


def rendered(
    config: Config, title: str, *, at: str = "2026-01-01T00:00:00+00:00", measured: float = 0.5
) -> LessonBuild:
    """A build of the hand-made runs, rendered under a title into the work folder without a worker."""
    done = Path(_rendered(title, at, measured).name)
    shutil.rmtree(config.work_dir("echo"), ignore_errors=True)
    shutil.copytree(done / "work" / "echo", config.work_dir("echo"))
    shutil.copytree(done / "lessons" / "echo", config.lesson("echo"), dirs_exist_ok=True)
    return steps.open_build(config, "echo")


def revision(work: LessonBuild) -> str:
    """The id of what was rendered."""
    return str(work.body("rendered.json")["revision"])


def published(config: Config, title: str, *, note: str | None = None, **parts: Any) -> str:
    """Render a revision as `rendered` does and publish it; answers its id."""
    work = rendered(config, title, **parts)
    assert not publish.publish(work, note=note).mistakes
    return revision(work)


@cache
def _rendered(title: str, at: str, measured: float) -> tempfile.TemporaryDirectory[str]:
    """A folder in which a revision has been rendered once for all tests."""
    held = tempfile.TemporaryDirectory(prefix="lessonpress-test-")
    config = Config(lessons=f"{held.name}/lessons", results=f"{held.name}/results", work=f"{held.name}/work")
    write(config.lesson("echo"), recipe=RECORDED.replace("title: Echo", f"title: {title}"), checks=CHECKS)
    captured = capture()
    captured["provenance"]["capturedAt"] = at
    without_worker(config, captured, [verdict(measured)])
    return held


def words(mistakes: Iterable[LessonError]) -> list[str]:
    """What mistakes say, each as one text."""
    return [mistake.message() for mistake in mistakes]


def verdict(measured: float = 0.5, *, sentence: str = "It adds up.", mutants: Sequence[Any] = (BROKEN,)) -> Any:
    """What was measured by the one check of `CHECKS`."""
    evidence = {"id": "check_it", "sentence": sentence, "measured": measured, "bound": 1.0, "sense": "<=", "line": 7}
    return {**check.make_verdict(evidence), "mutants": list(mutants)}


def plan() -> dict[str, Any]:
    """The plan of which `capture` is the answer."""
    keys = ("kind", "seed", "dtype", "mode")
    runs = [
        {"id": name, **{key: run[key] for key in keys}, "inputs": [["batch", {}]]}
        for name, run in capture()["runs"].items()
    ]
    return {"runs": runs}
