"""Small lessons that each do one thing which could make a page show a number that PyTorch does not give.

A page of each is asked for inputs that nobody recorded (tests/browser/test_truth_in_browser.py). It may refuse them or
say that it shows recorded values only; it may not be wrong. `follows` says how much of it must be live: "all" that it
follows every move, "near" that it follows small ones (larger ones may change what the model decides), "nothing" that
it rightly refuses, or keeps the record, whatever is moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import tiny

HEAD = """\
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


"""
X = {"x": {"shape": [2, 3], "dtype": "float32"}}
IDS = {"ids": {"shape": [4], "dtype": "int64"}}


@dataclass(frozen=True)
class TruthLesson:
    """A model's source, its inputs, what it records, and how much of its page follows."""

    forward: str
    parts: str = "self.line = nn.Linear(3, 3)"
    inputs: dict[str, dict[str, Any]] = field(default_factory=lambda: X)
    follows: str = "all"
    output: str = "output"

    @property
    def model(self) -> str:
        """The whole of model.py."""
        body = "".join(f"        {line}\n" for line in self.forward.splitlines())
        parts = "".join(f"        {line}\n" for line in self.parts.splitlines())
        start = f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{parts}\n"
        return f"{HEAD}{start}    def forward(self, {', '.join(self.inputs)}):\n{body}"

    def write(self, folder: Path) -> Path:
        """The lesson's folder, with one case whose inputs the page moves."""
        inputs = "".join(f"    {name}: {{shape: {spec['shape']}, dtype: {spec['dtype']}, fill: {fill(spec)}}}\n"
                         for name, spec in self.inputs.items())  # fmt: skip
        recipe = f"""\
schema: 1
slug: {folder.name}
title: One thing
model: {{file: model.py, class: Net}}
execution:
  inputs:
{inputs}experiment:
  seed: 3
  cases: [{{id: one, label: One}}]
  control: {{input: {next(iter(self.inputs))}, range: [-3, 3]}}
  record:
    matrices: [{{id: out, label: Out, tensor: "{self.output}", reshape: [1, -1]}}]
    metrics:
      - {{id: top, label: Top, of: out, value: argmax}}
      - {{id: bottom, label: Bottom, of: out, value: argmin}}
      - {{id: size, label: Size, of: out, value: norm}}
"""
        return tiny.write(folder, recipe=recipe, model=self.model)


def fill(spec: dict[str, Any]) -> str:
    """What an input is filled with."""
    return "arange" if "int" in spec["dtype"] else "ramp, start: -0.8, step: 0.37"


def of_line(body: str, follows: str = "all") -> TruthLesson:
    """A lesson that goes on with `h`, a linear layer of the input x."""
    return TruthLesson(f"h = self.line(x)\n{body}", follows=follows)


def near(body: str) -> TruthLesson:
    """One that decides something, so that large moves may be refused."""
    return of_line(body, "near")


def nothing(body: str) -> TruthLesson:
    """One that no page can follow."""
    return of_line(body, "nothing")


def of_ids(body: str, parts: str = "pass") -> TruthLesson:
    """A lesson of four ids."""
    return TruthLesson(body, parts, IDS)


THROUGH_PYTHON = {
    "item-fills": of_line("return torch.full_like(h, h[0, 0].item()) + h"),
    "list-becomes-tensor": of_line("return torch.tensor([[v * 2 - 1 for v in row] for row in h.tolist()]).double()"),
    "float-scales": of_line("scale = float(h.abs().sum())\nreturn h / (1 + scale) ** 2"),
    "python-divides": of_line("s = x[0, 0].item()\nreturn h * (1 / s)"),
    "branch-on-item": near("return h * 2 if h.sum().item() > 0 else h * 3"),
    "largest-of-list": near("out = h.clone()\nout[1] = max(h[0].tolist())\nreturn out"),
    "whole-part": near("return h * int(10.5 + 0.1 * x.sum())"),
    "place-by-item": near("k = int(h[0].argmax())\nreturn h[:, k : k + 1] * 2"),
    "math-module": nothing("import math\nreturn h * math.tanh(h[0, 0].item())"),
    "text-decides": nothing("return h * float(f'{float(h[0, 0]):.6f}')"),
    "only-printed": of_line("print(f'{h.sum():.3f}', h)\nreturn h * 2"),
    "numpy-scales": nothing("return h * float(np.abs(h.detach().numpy()).max())"),
    "array-scales": nothing("return h + float(np.mean(np.asarray(h.detach())))"),
    "numpy-sees-a-later-write": nothing("h = (h * 0).detach()\nseen = h.numpy()\nh += x\nreturn x * float(seen.max())"),
    "shape-decides": near("return h * len(h[h > 0])"),
    "contains": near("return h * 2 if 1 in h.sign() else h * 3"),
}
PRECISION = {
    "rounding-error-of-bfloat16": of_line("return x.bfloat16().to(x.dtype) - x"),
    "rounding-error-of-half": of_line("return (h.half() * 2 + 0.5).to(x.dtype) - h"),
    "rounding-error-of-float32": of_line("return (x.float() * 3).to(x.dtype) - x * 3"),
    "softmax-of-bfloat16": nothing("return h.bfloat16().softmax(-1).to(x.dtype) - h.softmax(-1)"),
    "bfloat16-written": of_line("h = torch.zeros(2, 3, dtype=torch.bfloat16)\nh[:] = x\nreturn h.to(x.dtype)"),
    "half-input": TruthLesson("return x * 0.5 + x", inputs={"x": {"shape": [2, 3], "dtype": "float16"}}),
    "autocast-leaves-float64": of_line(
        "with torch.autocast('cpu', dtype=torch.bfloat16):\n    h = self.line(x)\nreturn h * 1e3"
    ),
    "autocast": nothing(
        "with torch.autocast('cpu', dtype=torch.bfloat16):\n    h = F.linear(x.float(), torch.ones(3, 3))\n"
        "return h.to(x.dtype) * 1e3"
    ),
    "constants-in-float32": of_line("return h * torch.exp(torch.arange(3, dtype=torch.float32) * -0.5)"),
}
WHOLE = {
    "embedding": of_ids("return self.table(ids)", "self.table = nn.Embedding(5, 2)"),
    "index": of_ids("return self.weight[ids]", "self.weight = nn.Parameter(torch.rand(5, 2))"),
    "gather": of_ids("return self.weight.gather(0, ids[:, None])", "self.weight = nn.Parameter(torch.rand(5, 1))"),
    "one-hot": of_ids("return F.one_hot(ids, 5) * 1.5"),
    "arithmetic": of_ids("return ids * 3 - ids // 2"),
    "small-whole": TruthLesson("return (ids + ids) * 2", "pass", {"ids": {"shape": [4], "dtype": "int8"}}),
    "cross-entropy": of_ids(
        "return F.cross_entropy(self.weight, ids, reduction='none')", "self.weight = nn.Parameter(torch.rand(4, 5))"
    ),
}
NO_NUMBERS = {
    "log-of-negative": of_line("return (h * 3).log()"),
    "divided-by-zero": of_line("return x / x.clamp(min=0)"),
    "probabilities": of_line("return F.binary_cross_entropy(x * 0.2 + 0.5, x.sigmoid(), reduction='none')"),
}
ALL = {**THROUGH_PYTHON, **PRECISION, **WHOLE, **NO_NUMBERS}
