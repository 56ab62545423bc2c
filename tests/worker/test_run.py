"""Whole runs: seeds, modes, dtypes, overrides, how inputs are passed, and repeatability."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from watching import Watched, bits

from lessonpress.worker import run

Lesson = Callable[..., Watched]
HEAD = "import random\nimport numpy as np\nimport torch\nfrom torch import nn\n\n\n"
LINEAR = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self, size=3, scale=1.0):
        super().__init__()
        self.scale = scale
        self.part = nn.Linear(size, 2)

    def forward(self, x):
        return self.part(x) * self.scale
"""
)
ONES = [["x", {"shape": [1, 3], "dtype": "float32", "fill": "ones"}]]
DICE = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = random.random()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x) + torch.rand(3) + float(np.random.rand()) + random.random() + self.start
"""
)


def weights_of(seen: Watched) -> dict[str, Any]:
    """The recorded parameters."""
    return {name: seen.value(f"param:{name}") for name in seen.captured["runs"]["execution"]["params"]}


def test_the_recorded_output_follows_from_the_recorded_weights(lesson: Lesson) -> None:
    """The linear layer's output is x W^T + b, in numpy."""
    seen = lesson(LINEAR, ONES, args={"scale": 2.0})
    held = weights_of(seen)
    assert np.allclose(seen.value("output"), 2 * (np.ones((1, 3)) @ held["part.weight"].T + held["part.bias"]))


def test_everything_is_seeded_before_building_and_again_before_the_call(lesson: Lesson) -> None:
    """Three generators and dropout repeat; the call's draws are those of a fresh seed."""
    first, second = (lesson(DICE, ONES, seed=7, mode="train").value("output") for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, lesson(DICE, ONES, seed=8, mode="train").value("output"))
    seen = lesson(DICE, ONES, seed=7)
    run.seed(7)
    start = random.random()
    run.seed(7)
    expected = torch.ones(1, 3) + torch.rand(3) + float(np.random.rand()) + random.random() + start
    assert np.array_equal(seen.value("output"), expected.numpy())


def test_train_and_eval_mode_reach_the_model(lesson: Lesson) -> None:
    """Dropout drops in train mode only."""
    text = LINEAR.replace("nn.Linear(size, 2)", "nn.Dropout(0.5)")
    assert lesson(text, ONES).value("output").tolist() == [[1, 1, 1]]
    assert set(np.unique(lesson(text, ONES, mode="train").value("output"))) <= {0, 2}


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_parameters_are_drawn_in_float32_then_cast(lesson: Lesson, dtype: str) -> None:
    """The recorded parameters are as drawn, the run has the run's dtype."""
    plain, cast = lesson(LINEAR, ONES), lesson(LINEAR, ONES, dtype=dtype)
    assert (
        all(np.array_equal(value, weights_of(plain)[name]) for name, value in weights_of(cast).items())
        or dtype == "float64"
    )
    values = cast.captured["runs"]["execution"]["values"]
    assert {values[call["out"]["tensor"]]["dtype"] for call in cast.calls} == {dtype}
    assert np.allclose(cast.value("output"), plain.value("output"), atol=1e-1)


def test_overridden_parameters_are_what_the_run_uses(lesson: Lesson) -> None:
    """A fill takes the parameter's shape; an unknown name is refused with the names there are."""
    seen = lesson(LINEAR, ONES, parameters={"part.weight": {"fill": 1}, "part.bias": {"values": [0.5, -0.5]}})
    assert seen.value("output").tolist() == [[3.5, 2.5]]
    with pytest.raises(run.Failed) as raised:
        lesson(LINEAR, ONES, parameters={"part.wait": {"fill": 1}})
    assert "part.weight" in raised.value.record["expected"]


def test_runs_do_not_leak_into_each_other(lesson: Lesson) -> None:
    """A case after another one is what it is alone, also when the model keeps state."""
    text = (
        HEAD
        + """class Model(nn.Module):
    kept = 0

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x):
        return self.norm(x) + self.norm.running_mean
"""
    )
    given = [["x", {"values": [[1.0, 2.0], [3.0, 5.0]], "dtype": "float32"}]]
    again = {"id": "again", "kind": "case", "seed": 0, "dtype": "float32", "mode": "train", "args": {},
             "parameters": {}, "inputs": given}  # fmt: skip
    seen = lesson(text, given, mode="train", more=[again])
    outputs = [run_["values"][run_["output"]["tensor"]]["blob"] for run_ in seen.captured["runs"].values()]
    assert outputs[0] == outputs[1]


def test_weights_that_are_handed_in_replace_what_the_seed_draws(lesson: Lesson) -> None:
    """Stored weights enter by `execution/<name>`."""
    lesson(LINEAR, ONES)
    folder = next(str(finder.folders[-1]) for finder in reversed(sys.meta_path) if type(finder).__name__ == "Finder")
    plan = {"model": {"file": "model.py", "class": "Model"},
            "runs": [{"id": "execution", "kind": "execution", "seed": 0, "dtype": "float32", "mode": "eval", "args": {},
                      "parameters": {}, "inputs": ONES}]}  # fmt: skip
    stored = {"execution/part.weight": torch.ones(2, 3), "execution/part.bias": torch.zeros(2)}
    captured = run.run_plan(plan, folder, stored)
    assert Watched(captured, None).value("output").tolist() == [[3, 3]]


@pytest.mark.parametrize(("signature", "args", "kwargs"), [
    ("self, a, b", 0, "a b"), ("self, first, b", 1, "b"), ("self, *all", 2, ""), ("self, *, a, b", 0, "a b"),
    ("self, a, **rest", 0, "a b"), ("self, a, /, b", 1, "b"),
])  # fmt: skip
def test_inputs_are_passed_by_name_where_the_signature_allows_it(signature: str, args: int, kwargs: str) -> None:
    """Else in order: what stands before the last positional one is positional too."""
    scope: dict[str, Any] = {"nn": nn}
    exec(f"class Model(nn.Module):\n    def forward({signature}): return 1\n", scope)
    positional, named = run.bind_inputs(scope["Model"](), [("a", 1), ("b", 2)])
    assert (len(positional), " ".join(named)) == (args, kwargs)


def test_lazy_and_train_mode_buffers_are_recorded_as_they_began(lesson: Lesson) -> None:
    """What a run changes does not enter its recorded parameters and buffers."""
    text = (
        HEAD
        + "class Model(nn.Sequential):\n    def __init__(self):\n"
        + "        super().__init__(nn.LazyBatchNorm1d(), nn.BatchNorm1d(2))\n"
    )
    given = [["input", {"values": [[1.0, 2.0], [3.0, 5.0]], "dtype": "float32"}]]
    seen = lesson(text, given, mode="train")
    for name in ("0.running_mean", "1.running_mean"):
        assert not seen.value(f"buffer:{name}").any()


def test_settings_are_those_of_a_worker() -> None:
    """One thread, deterministic algorithms, no fused attention, nothing compiled."""
    run.settle()
    assert torch.get_num_threads() == 1
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.backends.mha.get_fastpath_enabled()
    part = nn.Linear(1, 1)
    assert torch.compile(part) is part
    assert bits(torch.compile(mode="default")(torch.sin)(torch.ones(1))) == bits(torch.sin(torch.ones(1)))


def test_a_lesson_that_wants_plain_floats_gets_them(lesson: Lesson) -> None:
    """`json` refuses what only behaves as a float: the run is repeated, and the number is noted as a decision."""
    text = f"import json\n{HEAD}class Model(nn.Module):\n    def forward(self, x):\n        total = x.sum().item()\n"
    seen = lesson(text + "        return x * json.loads(json.dumps(total))\n", ONES)
    [call] = [call for call in seen.calls if call["op"] == "torch.item"]
    assert call["out"] == 3.0


PIECES = {
    "traced": "torch.jit.trace(nn.Sequential(nn.Linear(3, 3), nn.Tanh()), torch.zeros(1, 3))",
    "scripted": "torch.jit.script(nn.Linear(3, 3))",
    "exported": "torch.export.export(nn.Linear(3, 3), (torch.zeros(1, 3),)).module()",
}


@pytest.mark.filterwarnings("ignore:.*is deprecated")
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("mode", ["eval", "train"])
def test_pieces_made_by_torch_run_in_float64(lesson: Lesson, piece: str, mode: str) -> None:
    """Their weights are cast with all others, and are recorded; an exported piece has no modes."""
    text = f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += f"        self.piece = {PIECES[piece]}\n\n    def forward(self, x):\n        return self.piece(x)\n"
    seen = lesson(text, ONES, dtype="float64", mode=mode)
    weights = [name for name in seen.captured["runs"]["execution"]["params"] if name.endswith("weight")]
    [weight] = [seen.value(f"param:{name}") for name in weights]
    bias = seen.value(f"param:{weights[0].removesuffix('weight')}bias")
    right = weight.astype(np.float64).sum(1) + bias
    assert np.allclose(seen.value("output")[0], np.tanh(right) if piece == "traced" else right, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*is deprecated")
def test_traced_constants_of_another_dtype_are_a_mistake_of_the_lessons(lesson: Lesson) -> None:
    """In its own words and at its own line, without the stack of those who called it."""
    text = f"{HEAD}def turn(x):\n    return x @ torch.eye(3)\n\n\nclass Model(nn.Module):\n    def __init__(self):\n"
    text += "        super().__init__()\n        self.turn = torch.jit.trace(turn, torch.zeros(1, 3))\n\n"
    with pytest.raises(run.Failed) as raised:
        lesson(text + "    def forward(self, x):\n        return self.turn(x)\n", ONES, dtype="float64")
    error = raised.value.record
    assert "worker" not in error["message"]
    assert "same dtype" in error["message"]
    assert "trace it with inputs of the run's dtype" in error["expected"]
    assert error["code"] == "return self.turn(x)"


def test_a_model_may_call_itself(lesson: Lesson) -> None:
    """`output` is always what the run gave."""
    text = f"{HEAD}class Model(nn.Module):\n    def forward(self, x, depth=2):\n"
    seen = lesson(text + "        return self(x * 2, depth - 1) if depth else x + 1\n", ONES)
    assert seen.value("output").tolist() == [[5.0, 5.0, 5.0]]
    assert seen.into("output") == ["add@Model#0"]
