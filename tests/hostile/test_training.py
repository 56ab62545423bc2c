"""Training that attacks or never ends: each ends in one clear message, and nothing is stored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lessonpress import sandbox
from lessonpress.authoring import train
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config, Isolation, Limits
from tests import tiny

pytestmark = pytest.mark.hostile

RECIPE = """\
schema: 1
slug: echo
title: Echo
model: {file: model.py, class: Echo}
prepare: {seed: 0}
execution:
  inputs:
    x: {shape: [2, 3], dtype: float32, fill: ones}
"""
MODEL = """\
import os, socket, sys, time
import torch
from torch import nn


class Echo(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(3, 3)

    def forward(self, x):
        return self.line(x)


def prepare(model):
    %s
    yield "trained", {}
"""
DENIED = "a lesson may read its own folder and the Python installation; it may not"
ATTACKS = {
    "loops for ever": ("while True: pass", "it passed the time limit of 4 s (config.yaml: limits.prepare_seconds)"),
    "sleeps for ever": ("time.sleep(1e6)", "it passed the time limit of 4 s (config.yaml: limits.prepare_seconds)"),
    "tells for ever": ("while True: yield {'step': 1}", "model.py:16: more than 100000 lines of progress"),
    "diverges": ("yield {'loss': float('nan')}", "model.py:16: the figure loss is nan; a finite number"),
    "keeps a name twice": ("yield 'trained', {}", "model.py:17: weights called 'trained' were kept before"),
    "keeps what is no number": ("model.line.weight.data.fill_(float('inf'))", "model.py:17: line.weight is not finite"),
    "writes a file": ("open('/tmp/left-behind', 'w')", DENIED),
    "writes beside its source": ("open(__file__ + '.new', 'w')", DENIED),
    "writes its own weights": ("open(os.path.dirname(__file__) + '/prepared.safetensors', 'w')", DENIED),
    "forks": ("os.fork()", DENIED),
    "connects": ("socket.create_connection(('127.0.0.1', 9))", DENIED),
    "grows": ("model.big = nn.Parameter(torch.rand(9, 1000, 1000))", "it passed the answer limit of 16 MiB"),
    "grows without end": ("model.big = torch.zeros(1 << 34)", "the memory limit is 2048 MiB"),
    "ends the process": ("os._exit(0)", "the process ended without a result, exit code 0"),
    "tells terminals what to do": ("yield {'\\x1b[2J': 1}", "a figure called '\\x1b[2J'"),
    "forges its answer": (
        "for n in range(3, 99):\n        try: os.write(n, b'{\"ok\": 1}\\n')\n        except OSError: 1",
        "something other than the worker wrote on the answer channel",
    ),
    "raises": ("raise ValueError('no luck')", "preparing the weights of Echo: ValueError: no luck"),
    "cannot be compiled": ("yield (", "importing the file of Echo: SyntaxError"),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    """Let torch be loaded once for many attacks; where limits are others, a server is started anew."""
    with sandbox.keep_servers():
        yield


@pytest.mark.parametrize("name", ATTACKS)
def test_it_ends_in_one_message_and_stores_nothing(tmp_path: Path, name: str) -> None:
    """Confined as a run is, within a time limit of its own."""
    body, message = ATTACKS[name]
    folder = tiny.write(tmp_path / "lessons" / "echo", recipe=RECIPE, model=MODEL % body)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    config = Config(
        lessons=str(folder.parent), work=str(tmp_path / "work"), results=str(tmp_path / "results"),
        limits=Limits(prepare_seconds=4 if "4 s" in message else 60, answer_mib=16, memory_mib=2048),
        isolation=Isolation(minimum="posix-basic"),
    )  # fmt: skip
    with pytest.raises(LessonError) as caught:
        train.train_lesson(config, "echo")
    message_text = caught.value.message()
    assert message in message_text, message_text
    assert message_text.startswith(os.path.relpath(folder))
    assert "Traceback" not in message_text
    assert "\x1b" not in message_text
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not Path("/tmp/left-behind").exists()
