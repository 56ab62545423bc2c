"""The weights of every run as one safetensors file, in the dtype in which they were drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lessonpress.core import tensor_file


def pack_weights(captured: Mapping[str, Any]) -> bytes:
    """The bytes of weights.safetensors: `execution/<name>`, `experiment/<name>`, and `case:<id>/<name>` where a case
    or probe holds other numbers than the first case."""
    return tensor_file.pack(dict(_named(captured)), captured["blobs"])


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
