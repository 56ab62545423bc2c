"""Measure how long tracing takes, beside TorchLens and torchview on the same models, and that it grows linearly.

Run as `python benchmarks/bench_trace.py [--runs 5] [--check]`. The other two tools are in benchmarks/requirements.txt;
without them the script says what is missing and prints our own figures. Each tool runs in a process of its own (one of
them wraps all of torch permanently) and the rounds are interleaved, so that a machine that slows down slows every row
alike; only the ratios mean anything on another machine.

What counts as tracing: for us the watched call, the copies of all recorded tensors and the projected graph; for
TorchLens one forward pass logged with its activations; for torchview the graph of one forward pass at full depth.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from lessonpress.graph import graph
from lessonpress.worker import modules, run
from lessonpress.worker.places import Places
from lessonpress.worker.trace import Tracer
from lessonpress.worker.values import Values

# Published aims: how many times as fast as the other tool, by model.
AIMS = {("attention", "TorchLens"): 10.0, ("1,000 layers", "TorchLens"): 10.0, ("1,000 layers", "torchview"): 2.0}
LINEAR = 15.0  # ten times the layers may take this many times as long (caches cost a little, a square would take 100)
Tool = Callable[[nn.Module, tuple[Tensor, ...]], Any]


class Scorer(nn.Module):
    """One query against all keys: an additive score each, then weights, then their mixture."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(size, size, bias=False), nn.Linear(2 * size, size, bias=False)
        self.energy = nn.Linear(size, 1, bias=False)
        self.normalise = nn.Softmax(dim=-1)

    def forward(self, query: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Context [1, 2 × size] and weights [1, length] for a query [1, size] and keys [1, length, 2 × size]."""
        mixed = torch.tanh(self.query(query).unsqueeze(1) + self.key(keys))
        weights = self.normalise(self.energy(mixed).squeeze(-1))
        return torch.bmm(weights.unsqueeze(1), keys).squeeze(1), weights


class Attention(nn.Module):
    """One decoding step over a sentence read in both directions."""

    def __init__(self, words: int = 16, size: int = 8) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(words, size), nn.Embedding(words, size)
        self.read = nn.GRU(size, size, batch_first=True, bidirectional=True)
        self.score = Scorer(size)
        self.step = nn.GRUCell(3 * size, size)
        self.word = nn.Linear(size, words)

    def forward(self, ids: Tensor, state: Tensor, last: Tensor) -> Tensor:
        """Logits [1, words] for ids [1, length], a state [1, size] and the last word [1]."""
        keys, _ = self.read(self.source(ids))
        context, _ = self.score(state, keys)
        return self.word(self.step(torch.cat([self.target(last), context], dim=-1), state))


def stack(depth: int) -> nn.Module:
    """`depth` linear layers in a row."""
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(depth))).eval()


def ours(model: nn.Module, given: tuple[Tensor, ...]) -> None:
    """Trace with the project's tracer, and project the graph."""
    values, mapped = Values(run.LIMIT), modules.ModelMap(model)
    held = {kind: {name: values.take(tensor) for name, tensor in mapped.tensors(kind)}
            for kind in ("_parameters", "_buffers")}  # fmt: skip
    tracer = Tracer(mapped, Places("."), values)
    for i, tensor in enumerate(given):
        tracer.flow.record_result(tensor, ["input", str(i)])
    pairs = [[str(i), tracer.read(tensor, None)] for i, tensor in enumerate(given)]
    tracer.run(given, {})
    blobs: dict[str, str] = {}
    execution = {"inputs": pairs, "output": tracer.calls[0]["out"], "calls": tracer.calls,
                 "params": held["_parameters"],
                 "buffers": held["_buffers"], "values": values.describe(blobs)}  # fmt: skip
    graph.build_graph({"runs": {"execution": execution}, "modules": mapped.describe({}), "blobs": blobs})


def torchlens() -> Tool:
    """TorchLens: one forward pass with all activations."""
    package = importlib.import_module("torchlens")
    return lambda model, given: package.trace(model, list(given))


def torchview() -> Tool:
    """torchview: the graph of one forward pass, all the way down."""
    package = importlib.import_module("torchview")
    return lambda model, given: package.draw_graph(model, input_data=given, depth=99, mode="eval")


TOOLS: dict[str, Callable[[], Tool]] = {"lessonpress": lambda: ours, "TorchLens": torchlens, "torchview": torchview}


@dataclass(frozen=True)
class Model:
    """A model with its inputs, how often it is traced in a round, and whether by all tools."""

    name: str
    model: nn.Module
    given: tuple[Tensor, ...]
    repeats: int
    compared: bool = True


def models() -> list[Model]:
    """The three models, newly initialised."""
    torch.manual_seed(0)
    sentence = (torch.arange(5)[None], torch.randn(1, 8), torch.ones(1, dtype=torch.int64))
    row = (torch.randn(2, 8),)
    return [Model("attention", Attention().eval(), sentence, 20), Model("1,000 layers", stack(1_000), row, 2),
            Model("10,000 layers", stack(10_000), row, 1, compared=False)]  # fmt: skip


def seconds(tool: Tool, one: Model) -> float:
    """Wall-clock seconds of one trace."""
    gc.collect()
    started = time.perf_counter()
    tool(one.model, one.given)
    return time.perf_counter() - started


def alone(name: str) -> None:
    """Measure one tool in this process, which has seen no other, and print its seconds by model as JSON."""
    tool = TOOLS[name]()
    run.settle()
    known = [one for one in models() if one.compared or name == "lessonpress"]
    seconds(tool, known[0])
    print(json.dumps({one.name: [seconds(tool, one) for _ in range(one.repeats)] for one in known}))


def measure(rounds: int) -> dict[tuple[str, str], list[float]]:
    """Seconds by (model, tool): every tool in a fresh process in every round. What is not installed is named."""
    out: dict[tuple[str, str], list[float]] = {}
    tools = list(TOOLS)
    for _ in range(rounds):
        for name in list(tools):
            command = [sys.executable, __file__, "--alone", name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                why = done.stderr.strip().splitlines()[-1:]
                print(f"{name} is left out: {''.join(why)} (see benchmarks/requirements.txt)")
                tools.remove(name)
                continue
            for model, spent in json.loads(done.stdout.splitlines()[-1]).items():
                out.setdefault((model, name), []).extend(spent)
    return out


def report(measured: dict[tuple[str, str], list[float]]) -> bool:
    """Print the table and the aims; whether every measured aim is met."""
    median = {key: statistics.median(values) for key, values in measured.items()}
    print("| model | tool | median | range | times ours |\n|---|---|---|---|---|")
    for (model, tool), values in measured.items():
        ratio = median[model, tool] / median[model, "lessonpress"]
        spread = f"{min(values) * 1e3:,.1f}–{max(values) * 1e3:,.1f}"
        print(f"| {model} | {tool} | {median[model, tool] * 1e3:,.1f} ms | {spread} | {ratio:.1f} |")
    met = True
    for (model, tool), aim in AIMS.items():
        if (model, tool) in median:
            ratio = median[model, tool] / median[model, "lessonpress"]
            met &= ratio >= aim
            print(f"{'met' if ratio >= aim else 'MISSED'}: {model}, {ratio:.1f} × as fast as {tool} (aim {aim:g} ×)")
    growth = median["10,000 layers", "lessonpress"] / median["1,000 layers", "lessonpress"]
    straight = growth <= LINEAR
    print(f"{'met' if straight else 'MISSED'}: ten times the layers take {growth:.1f} × as long (aim ≤ {LINEAR:g} ×)")
    return met and straight


def main(argv: Sequence[str]) -> int:
    """Measure, report, and with --check answer 1 when an aim is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="rounds that count (default: 5)")
    parser.add_argument("--alone", choices=TOOLS, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help="exit with 1 when an aim is missed")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    if options.alone:
        alone(options.alone)
        return 0
    met = report(measure(options.runs))
    return 1 if options.check and not met else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
