"""The weights of every run as one safetensors file, in the dtype in which they were drawn."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

import safetensors


def file(captured: Mapping[str, Any]) -> bytes:
    """The bytes of weights.safetensors: `execution/<name>`, `experiment/<name>`, and `case:<id>/<name>` where a case
    or probe holds other numbers than the first case."""
    tensors = {key: _entry(value, captured["blobs"]) for key, value in _named(captured)}
    return bytes(safetensors.serialize(tensors, None))


def _named(captured: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    runs = captured["runs"]
    yield from ((f"execution/{name}", value) for name, value in _held(runs["execution"]))
    shared: dict[str, Mapping[str, Any]] = {}
    for run_id, run in runs.items():
        if run["kind"] == "execution":
            continue
        for name, value in _held(run):
            if name not in shared:
                shared[name] = value
                yield f"experiment/{name}", value
            elif shared[name] != value:
                yield f"case:{run_id}/{name}", value


def _held(run: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for kind in ("params", "buffers"):
        for name, number in run[kind].items():
            yield name, run["values"][number]


def _entry(value: Mapping[str, Any], blobs: Mapping[str, str]) -> dict[str, Any]:
    return {"dtype": value["dtype"], "shape": value["shape"], "data": base64.b64decode(blobs[value["blob"]])}
