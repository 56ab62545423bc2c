"""Watches one call of a tiny model and answers questions about what was recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lessonpress.graph import graph
from lessonpress.worker import inputs, modules, recorded, run
from lessonpress.worker.places import Places
from lessonpress.worker.trace import Tracer
from lessonpress.worker.values import Values


class Does(nn.Module):
    """A module whose forward is a function of itself and its inputs; further modules become its children."""

    def __init__(self, function: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Whatever the function does."""
        return self.function(self, *args, **kwargs)


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
        """The layers of all calls that are nodes or frames, in order."""
        return [call["layer"] for call in self.calls if graph.is_node(call)]

    @property
    def ops(self) -> list[str]:
        """The operations that are nodes in order, without `torch.`."""
        nodes = [call for call in self.calls if call["kind"] == "op" and graph.is_node(call)]
        return [call["op"].removeprefix("torch.") for call in nodes]

    @property
    def graph(self) -> dict[str, Any]:
        """The projected graph."""
        return graph.build_graph(self.captured)

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
    shown = "" if port is None or (end == "target" and connection["target"] != "output") else f"[{port}]"
    return connection[end] + shown + ("" if call is None else f"#{call}")


def call(model: nn.Module, named: Mapping[str, Any], *, order: bool = True, folder: Path | None = None) -> Watched:
    """Watch `model(*named)` (in order, or by name) and return it as a capture."""
    values, places = Values(run.LIMIT), Places(str(folder or "/nowhere"))
    mapped = modules.ModelMap(model)
    initial = {n: values.take(t) for k in ("_parameters", "_buffers") for n, t in mapped.tensors(k)
               if not isinstance(t, nn.parameter.UninitializedTensorMixin)}  # fmt: skip
    values.memo.clear()
    tracer = Tracer(mapped, places, values)
    for name, value in named.items():
        for path, leaf in inputs.leaves(value, name):
            if isinstance(leaf, Tensor):
                tracer.flow.record_result(leaf, ["input", path])
    pairs = [[name, tracer.read(value, None)] for name, value in named.items()]
    returned = tracer.run(*((named.values(), {}) if order else ((), named)))
    late = modules.ModelMap(model)
    initial |= tracer.initial
    held = {k: {n: initial[n] if n in initial else values.take(t) for n, t in late.tensors(k)}
            for k in ("_parameters", "_buffers")}  # fmt: skip
    blobs: dict[str, str] = {}
    execution = {
        "kind": "execution", "seed": 0, "dtype": "float32", "mode": "eval", "inputs": pairs,
        "output": tracer.calls[0]["out"], "calls": tracer.calls, "params": held["_parameters"],
        "buffers": held["_buffers"], "values": values.describe(blobs),
    }  # fmt: skip
    captured = {"runs": {"execution": execution}, "modules": late.describe({}), "blobs": blobs}
    return Watched(json.loads(json.dumps(captured, allow_nan=False)), returned)


def bits(value: Any) -> Any:
    """Anything with tensors inside, as bytes that can be compared."""
    if isinstance(value, Tensor):
        plain = value.detach().to_dense() if value.layout is not torch.strided else value.detach()
        return str(plain.dtype), tuple(plain.shape), bytes(plain.contiguous().reshape(-1).view(torch.uint8).tolist())
    if isinstance(value, Mapping):
        return {key: bits(item) for key, item in value.items()}
    return [bits(item) for item in value] if isinstance(value, list | tuple) else value
