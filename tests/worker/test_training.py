"""What a lesson's own training may yield, what is kept of it, and how each mistake is reported."""

from __future__ import annotations

import base64
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lessonpress.lesson import plan, reader
from lessonpress.worker import run, training
from lessonpress.worker.prepare import format_figures

FIT = Path(__file__).parents[1] / "lessons" / "tiny-fit"
MODEL = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.line = nn.Linear(width, 1)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.line(x)


def prepare(model{more}):
    {body}
"""
Train = Callable[..., dict[str, Any]]


@pytest.fixture
def train(tmp_path: Path) -> Iterator[Train]:
    """Run a function with a body on a small model, as a plan says; `said` collects the progress."""
    modules, finders = set(sys.modules), list(sys.meta_path)

    def training_of(body: str, more: str = "", said: list[Any] | None = None, **task: Any) -> dict[str, Any]:
        (tmp_path / "model.py").write_text(MODEL.format(more=more, body=body.replace("\n", "\n    ")))
        record = {"file": "model.py", "function": "prepare", "seed": 0, "mode": "train", "args": {}, "options": {}}
        asked = {"model": {"file": "model.py", "class": "Model"}, "prepare": {**record, **task}}
        return training.train(asked, str(tmp_path), (said if said is not None else []).append)

    yield training_of
    sys.meta_path[:] = finders
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def array(made: dict[str, Any], name: str, key: str) -> Any:
    """A kept tensor as numpy has it."""
    record = next(entry for entry in made["kept"] if entry["name"] == name)["tensors"][key]
    return np.frombuffer(base64.b64decode(made["blobs"][record["blob"]]), record["dtype"]).reshape(record["shape"])


def test_the_tiny_training_ends_where_the_normal_equations_say(tmp_path: Path) -> None:
    """Slope and intercept are those of least squares; the figures are the losses; the drawn start is the run's."""
    shutil.copytree(FIT, tmp_path / "tiny-fit")
    planned = plan.plan_runs(reader.read(tmp_path / "tiny-fit").recipe)
    said: list[dict[str, Any]] = []
    made = training.train(planned, str(tmp_path / "tiny-fit"), said.append)
    x, y = np.arange(8) / 4 - 1, np.array([0.5, -1.25, 2.0, 0.0, 1.5, -0.5, 3.0, 1.0])
    slope, intercept = np.linalg.lstsq(np.stack([x, np.ones(8)], axis=1), y, rcond=None)[0]
    assert abs(array(made, "trained", "line.weight").item() - slope) < 1e-6
    assert abs(array(made, "trained", "line.bias").item() - intercept) < 1e-6
    assert made["lines"] == 200
    assert (made["first"]["step"], made["last"]["step"]) == (1, 200)
    assert abs(made["last"]["loss"] - np.mean((slope * x + intercept - y) ** 2)) < 1e-6
    assert said[0] == made["first"]
    drawn = run.run_plan({**planned, "runs": [one for one in planned["runs"] if one["id"] == "before"]},
                      str(tmp_path / "tiny-fit"))["runs"]["before"]  # fmt: skip
    held = {name: drawn["values"][number]["blob"] for name, number in drawn["params"].items()}
    begun = training.train({**planned, "prepare": {**planned["prepare"], "options": {"steps": 10, "rate": 0.0}}},
                           str(tmp_path / "tiny-fit"), said.append)  # fmt: skip
    assert {name: record["blob"] for name, record in begun["kept"][0]["tensors"].items()} == held


def test_a_training_repeats_bit_for_bit(train: Train) -> None:
    """All generators are seeded before the model is built and again before the function begins."""
    body = "import random\nwith torch.no_grad(): model.line.weight += torch.rand(1, 2) + random.random()\nyield 'a', {}"
    first, second = train(body, seed=5), train(body, seed=5)
    assert first == second
    assert train(body, seed=6) != first


def test_what_is_kept_is_a_copy(train: Train) -> None:
    """Later steps do not change it, and buffers are kept beside parameters."""
    body = "model.register_buffer('count', torch.tensor(3))\nyield 'early', {}\nwith torch.no_grad():\n"
    body += "    model.line.weight.fill_(7)\nmodel.count += 1\nyield 'late', {'loss': 1}"
    made = train(body)
    assert not (array(made, "early", "line.weight") == 7).any()
    assert (array(made, "late", "line.weight") == 7).all()
    assert (array(made, "early", "count"), array(made, "late", "count")) == (3, 4)
    assert [entry["figures"] for entry in made["kept"]] == [{}, {"loss": 1}]


@pytest.mark.parametrize(("mode", "share"), [("train", 0), ("eval", 1)])
def test_the_model_is_in_the_mode_that_is_asked_for(train: Train, mode: str, share: int) -> None:
    """Dropout drops while training, unless the recipe says otherwise."""
    body = "yield 'a', {'kept': float((model.drop(torch.ones(64)) == 1).all())}"
    assert train(body, mode=mode)["kept"][0]["figures"] == {"kept": share}


def test_the_function_is_handed_its_options(train: Train) -> None:
    """`args` of `prepare` are the function's own; the model's build the model."""
    made = train("yield 'a', {'rate': rate, 'width': model.line.in_features}", more=", rate", options={"rate": 0.25},
                 args={"width": 5})  # fmt: skip
    assert made["kept"][0]["figures"] == {"rate": 0.25, "width": 5}


def test_figures_may_be_tensors_and_numpy_numbers(train: Train) -> None:
    """What has one element is a number."""
    made = train("import numpy\nyield 'a', {'a': torch.tensor([0.5]), 'b': numpy.float32(2), 'c': 3}")
    assert made["kept"][0]["figures"] == {"a": 0.5, "b": 2.0, "c": 3}


WRONG = {
    "nothing kept": ("yield {'step': 1}", "nothing was kept"),
    "no generator": ("return 3", "prepare returned int"),
    "another thing": ("yield 3", "3 was yielded"),
    "a name alone": ("yield 'a'", "'a' was yielded"),
    "a name twice": ("yield 'a', {}\nyield 'a', {}", "'a' were kept before"),
    "a reserved name": ("yield 'drawn', {}", "called 'drawn'"),
    "a bad name": ("yield '../a', {}", r"called '\.\./a'"),
    "no number": ("yield {'loss': 'low'}", "loss is 'low'"),
    "a truth": ("yield {'good': True}", "good is True"),
    "many numbers": ("yield {'loss': torch.ones(2)}", r"loss is tensor"),
    "not a number": ("yield {'loss': torch.tensor(float('nan'))}", "loss is nan"),
    "infinite": ("yield 'a', {'loss': float('inf')}", "loss is inf"),
    "a figure's name": ("yield {'a\\x1b[2J': 1}", "a figure called"),
    "many figures": ("yield {f'a{i}': i for i in range(99)}", "figures"),
    "nan weights": ("with torch.no_grad(): model.line.weight.fill_(float('nan'))\nyield 'a', {}",
                    "line.weight is not finite"),
    "many lines": ("while True: yield {'step': 1}", "more than 100000 lines"),
    "many models": ("for i in range(99): yield f'a{i}', {}", "more than 50 times"),
    "a shapeless layer": ("model.late = nn.LazyLinear(1)\nyield 'a', {}", "late.weight cannot be kept"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_kept_is_refused(train: Train, name: str) -> None:
    """Each with what was seen, what is expected, and the line at which the function stood."""
    body, message = WRONG[name]
    with pytest.raises(run.Failed, match=message) as raised:
        train(body)
    record = raised.value.record
    assert record["expected"]
    assert (record["place"] or {}).get("file") == (None if name == "no generator" else "model.py")
    assert record["stage"] == "prepare"


def test_an_exception_of_the_lessons_is_reported_with_its_line(train: Train) -> None:
    """As that of a run: what, where, and the line's own text."""
    with pytest.raises(run.Failed) as raised:
        train("yield {}\nmodel.line.wait.zero_()")
    assert (raised.value.record["type"], raised.value.record["code"]) == ("AttributeError", "model.line.wait.zero_()")


def test_a_function_that_is_not_there_is_reported_with_those_that_are(train: Train) -> None:
    """A misspelt name ends in the list of names."""
    with pytest.raises(run.Failed, match="has no function prepair") as raised:
        train("yield 'a', {}", function="prepair")
    assert raised.value.record["expected"] == "functions found: prepare"


@pytest.mark.parametrize(("figures", "words"), [
    ({"step": 10, "of": 300, "loss": 0.413249}, "step 10 of 300, loss 0.4132"), ({"loss": 2}, "loss 2"),
    ({"step": 7}, "step 7"), ({}, ""),
])  # fmt: skip
def test_progress_is_reported_in_words(figures: dict[str, Any], words: str) -> None:
    """`step` and `of` are known words, every other figure follows with four digits."""
    assert format_figures(figures) == words
