"""The weights of every run as one safetensors file, in the dtype in which they were initialised."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from lessonpress.core import tensor_file

if TYPE_CHECKING:
    from lessonpress.worker.records import Recorded, Run, Value

def pack_weights(captured: Recorded) -> bytes:
    """The bytes of weights.safetensors: `execution/<name>`, `experiment/<name>`, and `case:<id>/<name>` where a case
    or probe holds other numbers than the first case."""
    return tensor_file.pack(dict(_name_weights(captured)), captured["blobs"])


def _name_weights(captured: Recorded) -> Iterator[tuple[str, Value]]:
    runs = captured["runs"]
    yield from ((f"execution/{name}", value) for name, value in _list_held(runs["execution"]))
    shared: dict[str, Value] = {}
    for run_id, run in runs.items():
        if run["kind"] == "execution":
            continue
        for name, value in _list_held(run):
            if name not in shared:
                shared[name] = value
                yield f"experiment/{name}", value
            elif shared[name] != value:
                yield f"case:{run_id}/{name}", value


def _list_held(run: Run) -> Iterator[tuple[str, Value]]:
    """The parameters and buffers of a run."""
    for name, number in chain(run["params"].items(), run["buffers"].items()):
        yield name, run["values"][number]
