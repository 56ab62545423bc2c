"""A worked example of additive attention from a textbook chapter, digit for digit through the whole chain."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lessonpress import canon, check, execute, hashing, record
from lessonpress.settings import Config
from tests import tiny

pytestmark = pytest.mark.workflow

FIGURES: dict[str, Any] = canon.read(Path(__file__).parents[1] / "data" / "worked_example.json")
MODEL = """\
import torch
from torch import nn


class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(4, 3, bias=False)
        self.key = nn.Linear(4, 3, bias=False)
        self.score = nn.Linear(3, 1, bias=False)
        self.share = nn.Softmax(dim=0)

    def forward(self, hidden, state):
        shares = self.share(self.score(torch.tanh(self.query(state) + self.key(hidden))))
        return (shares * hidden).sum(dim=0), shares
"""
RECIPE = f"""\
schema: 1
slug: attend
title: Attend
model: {{file: model.py, class: Attend}}
execution:
  inputs:
    hidden: {{shape: [3, 4], fill: ones}}
    state: {{shape: [4], fill: ones}}
experiment:
  inputs:
    hidden: {{values: {FIGURES["hidden"]}}}
    state: {{values: {FIGURES["state"]}}}
  cases:
    - id: example
      parameters:
        query.weight: {{values: {FIGURES["W_a"]}}}
        key.weight: {{values: {FIGURES["U_a"]}}}
        score.weight: {{values: [{FIGURES["v_a"]}]}}
  record:
    vectors:
      - {{id: query, tensor: query}}
      - {{id: scores, tensor: score, select: "[:, 0]"}}
      - {{id: shares, tensor: "output[1]", reshape: [3]}}
      - {{id: context, tensor: "output[0]"}}
    metrics:
      - {{id: all, value: sum, of: shares}}
      - {{id: most, value: argmax, of: shares}}
checks: checks.py
"""
CHECKS = '''\
import numpy as np


def check_shares_are_the_softmax_of_the_scores(runs):
    """The shares are the softmax of the scores."""
    run = runs["example"]
    powers = np.exp(run["score"])
    return {"measured": np.abs(run["share"] - powers / powers.sum()).max(), "bound": 1e-15, "sense": "<="}
'''


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder after hash, execute, record and check."""
    root = tmp_path_factory.mktemp("attend")
    config = Config(lessons=str(root / "lessons"), results=str(root / "results"), work=str(root / "work"))
    tiny.write(config.lesson("attend"), recipe=RECIPE, model=MODEL, checks=CHECKS)
    for verb in (hashing.hash_lesson, execute.execute, record.record, check.check):
        verb(config, "attend")
    return config.room("attend")


@pytest.mark.parametrize(
    ("ours", "theirs"), [("query", "W_a@state"), ("scores", "scores"), ("shares", "weights"), ("context", "context")]
)
def test_every_step_gives_the_chapters_numbers(room: Path, ours: str, theirs: str) -> None:
    """Projection, scores, shares and context agree with the chapter's figures, recomputed in float64, within 1e-15."""
    found = canon.read(room / "cases.json")["cases"]["example"]["arrays"][ours]
    assert found["dtype"] == "float64"
    assert np.abs(np.array(found["values"]) - np.array(FIGURES["exact"][theirs])).max() <= 1e-15


def test_the_metrics_say_the_same(room: Path) -> None:
    """The shares are a whole, and the second word has most of it."""
    metrics = canon.read(room / "cases.json")["cases"]["example"]["metrics"]
    assert metrics["all"] == pytest.approx(1, abs=1e-15)
    assert FIGURES["words"][metrics["most"]] == "love"


def test_the_check_passes_with_evidence(room: Path) -> None:
    """Softmax by hand in numpy leaves nothing but rounding."""
    (verdict,) = canon.read(room / "checks.json")
    assert verdict["passed"]
    assert 0 <= verdict["measured"] <= verdict["bound"]


def test_provenance_says_who_ran_it(room: Path) -> None:
    """The parent wrote down versions, settings and isolation; the caller's user is there, its secrets are not."""
    told = canon.read(room / "capture.json")["provenance"]
    assert told["initialisation"] == "portable-1"
    assert told["host"]["user"] == os.getuid()
    assert told["settings"]["OMP_NUM_THREADS"] == "1"
    assert "+" not in told["torch"]
    assert told["isolation"]["profile"] in ("posix-basic", "linux-seccomp", "linux-strict")
