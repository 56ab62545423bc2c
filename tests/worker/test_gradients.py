"""Gradients that a recipe asks for: autograd's own, of any value of the run, and the page can follow them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from watching import Watched

from lessonpress.replay import replay
from lessonpress.worker import recorded, run

MODEL = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.idle = nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(2, 2)

    def forward(self, x, ids):
        hidden = torch.tanh(self.first(x))
        return self.second(hidden), hidden + ids
"""
INPUTS = [["x", {"shape": [2, 3], "dtype": "float32", "fill": "randn"}],
          ["ids", {"values": [1, 2, 3, 4], "dtype": "int64"}]]  # fmt: skip
WANTED = ["input:x", "param:first.weight", "first", "param:idle.bias"]


def gradients(lesson: Callable[..., Watched], of: str, select: str | None, wanted: list[str]) -> Watched:
    """Run the model, and take gradients."""
    one = {"id": "case", "kind": "case", "seed": 3, "dtype": "float64", "mode": "eval", "args": {}, "parameters": {},
           "inputs": INPUTS, "weights": None,
           "gradients": {"of": of, "select": select, "with_respect_to": wanted}}  # fmt: skip
    return lesson(MODEL, INPUTS, more=[one])


def by_hand(of: Callable[[Any, Any], Any], numbers: Watched) -> list[Any]:
    """The same gradients, by autograd on the recorded weights, without anything of ours."""
    captured = recorded.Runs(numbers.captured)["case"]
    first, second = nn.Linear(3, 4).double(), nn.Linear(4, 2).double()
    for layer, name in ((first, "first"), (second, "second")):
        for part, tensor in layer.named_parameters():
            tensor.data = torch.tensor(captured[f"param:{name}.{part}"].astype(np.float64))
    x = torch.tensor(captured["input:x"].copy(), requires_grad=True)
    linear = first(x)
    hidden = torch.tanh(linear)
    value = of(second(hidden), hidden)
    return [*torch.autograd.grad(value, (x, first.weight, linear)), torch.zeros(2, dtype=torch.float64)]


@pytest.mark.parametrize(
    ("of", "select", "value"),
    [
        ("output[0]", "[0, 1]", lambda out, hidden: out[0, 1]),
        ("output[0]", None, lambda out, hidden: out.sum()),
        ("tanh@Model#0", "[:, 2]", lambda out, hidden: hidden[:, 2].sum()),
        ("second", "[1:2, 0]", lambda out, hidden: out[1, 0]),
    ],
)
def test_they_are_autograds_and_the_page_follows_them(
    lesson: Callable[..., Watched], of: str, select: str | None, value: Callable[[Any, Any], Any]
) -> None:
    """With respect to an input, a parameter, a layer's result, and what does not lead there: that is zero."""
    made = gradients(lesson, of, select, WANTED)
    numbers = recorded.Runs(made.captured)["case"]
    for at, expected in enumerate(by_hand(value, made)):
        np.testing.assert_allclose(numbers[f"grad@gradients#0[{at}]"], expected.detach(), rtol=1e-14, atol=1e-15)
    certificate = replay.replay_runs(made.captured)["case"].certificate
    assert certificate.uncovered == ()
    assert certificate.max_difference is not None
    assert certificate.max_difference < 1e-13


@pytest.mark.parametrize(
    ("of", "select", "wanted", "message"),
    [
        ("output[2]", None, ["input:x"], "has nothing at [2]"),
        ("output[0]", "[5, 0]", ["input:x"], "output[0] has shape [2, 2]: "),
        ("output[0]", "[f(1)]", ["input:x"], "is no basic indexing"),
        ("output[0]", None, ["input:ids"], "input:ids holds int64"),
        ("output[0]", None, ["frist"], "'frist' matches nothing that ran"),
        ("input:ids", None, ["input:x"], "nothing that has a gradient leads to input:ids"),
    ],
)
def test_what_has_no_gradient_is_said(
    lesson: Callable[..., Watched], of: str, select: str | None, wanted: list[str], message: str
) -> None:
    """In words, by its address."""
    with pytest.raises(run.Failed) as caught:
        gradients(lesson, of, select, wanted)
    assert message in caught.value.record["message"]
    assert caught.value.record["stage"] == "gradients"
