"""Watching one call of a tiny model, and running a lesson folder that a test writes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lessonpress import graph
from lessonpress.worker import inputs, modules, recorded, run
from lessonpress.worker.places import Places
from lessonpress.worker.trace import Tracer
from lessonpress.worker.values import Values


@pytest.fixture(scope="session", autouse=True)
def _settled() -> None:
    """The settings of a worker process."""
    run.settle()


@dataclass(frozen=True)
class Watched:
    """One watched call: the capture that it gives, what the call returned, and how to ask both."""

    captured: Mapping[str, Any]
    returned: Any

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The recorded calls without the model's own."""
        return list(self.captured["runs"]["execution"]["calls"][1:])

    @property
    def names(self) -> list[str]:
        """The layers of all calls but the model's own, in order."""
        return [call["layer"] for call in self.calls]

    @property
    def ops(self) -> list[str]:
        """The operations in order, without `torch.`."""
        return [call["op"].removeprefix("torch.") for call in self.calls if call["kind"] == "op"]

    @property
    def graph(self) -> dict[str, Any]:
        """The projected graph."""
        return graph.of(self.captured)

    @property
    def layers(self) -> dict[str, dict[str, Any]]:
        """The graph's layers by id."""
        return {layer["id"]: layer for layer in self.graph["layers"]}

    @property
    def edges(self) -> set[str]:
        """The connections as `source[port]#call -> target.port#call` (ports and calls where there are any)."""
        return {f"{_end(c, 'source')} -> {_end(c, 'target')}" for c in self.graph["connections"]}

    def into(self, target: str) -> list[str]:
        """The sources of everything that flows into a layer, with ports and call numbers."""
        return [_end(c, "source") for c in self.graph["connections"] if c["target"] == target]

    def value(self, address: str) -> Any:
        """A recorded value by address."""
        return recorded.Runs(self.captured)["execution"][address]


def _end(connection: Mapping[str, Any], end: str) -> str:
    port, call = connection.get(f"{end}Port"), connection.get(f"{end}Call")
    shown = "" if port is None or end == "target" and connection["target"] not in ("output",) else f"[{port}]"
    return connection[end] + shown + ("" if call is None else f"#{call}")


def call(model: nn.Module, named: Mapping[str, Any], *, order: bool = True, folder: Path | None = None) -> Watched:
    """Watch `model(*named)` (in order, or by name) and tell it as a capture."""
    values, places = Values(run.LIMIT), Places(str(folder or "/nowhere"))
    mapped = modules.ModelMap(model)
    drawn = {n: values.take(t) for k in ("_parameters", "_buffers") for n, t in mapped.tensors(k)
             if not isinstance(t, nn.parameter.UninitializedTensorMixin)}  # fmt: skip
    values.memo.clear()
    tracer = Tracer(mapped, places, values)
    for name, value in named.items():
        for path, leaf in inputs.leaves(value, name):
            if isinstance(leaf, Tensor):
                tracer.flow.born(leaf, ["input", path])
    told = [[name, tracer.read(value, None)] for name, value in named.items()]
    returned = tracer.run(*((named.values(), {}) if order else ((), named)))
    late = modules.ModelMap(model)
    drawn |= tracer.drawn
    held = {k: {n: drawn[n] if n in drawn else values.take(t) for n, t in late.tensors(k)} for k in ("_parameters", "_buffers")}
    blobs: dict[str, str] = {}
    execution = {
        "kind": "execution", "seed": 0, "dtype": "float32", "mode": "eval", "inputs": told, "output": tracer.calls[0]["out"],
        "calls": tracer.calls, "params": held["_parameters"], "buffers": held["_buffers"], "values": values.told(blobs),
    }  # fmt: skip
    captured = {"runs": {"execution": execution}, "modules": late.told({}), "blobs": blobs}
    return Watched(json.loads(json.dumps(captured, allow_nan=False)), returned)


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
        told = run.whole({"model": {"file": plan.get("file", "model.py"), "class": plan.get("kind_of", "Model")},
                          "runs": [one, *plan.get("more", [])]}, str(tmp_path))  # fmt: skip
        return Watched(json.loads(json.dumps(told, allow_nan=False)), None)

    yield running
    sys.meta_path[:] = finders_before
    for name in set(sys.modules) - modules_before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def bits(value: Any) -> Any:
    """Anything with tensors inside, as bytes that can be compared."""
    if isinstance(value, Tensor):
        plain = value.detach().to_dense() if value.layout is not torch.strided else value.detach()
        return str(plain.dtype), tuple(plain.shape), bytes(plain.contiguous().reshape(-1).view(torch.uint8).tolist())
    if isinstance(value, Mapping):
        return {key: bits(item) for key, item in value.items()}
    return [bits(item) for item in value] if isinstance(value, list | tuple) else value
