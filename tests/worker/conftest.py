"""Fixtures of the worker's tests: the worker's settings, a watched call, a lesson folder that a test writes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from torch import nn
from watching import Watched, call

from lessonpress import sandbox
from lessonpress.worker import run


@pytest.fixture(scope="session", autouse=True)
def _settled() -> None:
    """The settings of a worker process."""
    run.settle()


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    """Let what a module's tests run in this process load torch once, as a run of many lessons does."""
    with sandbox.keep_servers():
        yield


@pytest.fixture
def watch() -> Callable[..., Watched]:
    """Watch a model's call on the inputs `x0`, `x1` … (or on named ones)."""

    def watching(model: nn.Module, *given: Any, **named: Any) -> Watched:
        positional = {f"x{i}" if len(given) > 1 else "x": value for i, value in enumerate(given)}
        return call(model, positional or named, order=bool(given) or not named)

    return watching


@pytest.fixture
def lesson(tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    """Write files into a folder, run the class `Model` of one of them as a plan says, and forget what was imported."""
    modules_before, finders_before = set(sys.modules), list(sys.meta_path)

    def running(files: Mapping[str, str] | str, given: Any = None, **plan: Any) -> Watched:
        texts = {"model.py": files} if isinstance(files, str) else files
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        one = {"id": "execution", "kind": "execution", "seed": 0, "dtype": "float32", "mode": "eval", "args": {},
               "parameters": {}, "inputs": [] if given is None else given}  # fmt: skip
        one |= {key: value for key, value in plan.items() if key in one}
        captured = run.run_plan({"model": {"file": plan.get("file", "model.py"), "class": plan.get("kind_of", "Model")},
                          "runs": [one, *plan.get("more", [])]}, str(tmp_path))  # fmt: skip
        return Watched(json.loads(json.dumps(captured, allow_nan=False)), None)

    yield running
    sys.meta_path[:] = finders_before
    for name in set(sys.modules) - modules_before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]
