"""What the page needs to compute the experiment itself: the program, its numbers, and where each figure is read."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lessonpress.replay import operations, replay
from lessonpress.replay.replay import FlatArray
from lessonpress.replay.statistics import STATISTICS
from lessonpress.worker import recorded
from lessonpress.worker.records import Recorded

if TYPE_CHECKING:
    from lessonpress.web.page.page_data import Live, LiveControl, LiveFigure, LiveMetric, PackedArray

_DATA = re.compile(r'<script type="application/json" id="page-data">(.*?)</script>', re.DOTALL)


def make_live_data(
    captured: Recorded, built: Mapping[str, replay.Replayed], experiment: Mapping[str, Any] | None
) -> Live | None:
    """The data with which a page runs the cases (the execution, without cases), or None where it cannot.

    `built` is what `replay.replay_runs` made of the capture, `experiment` the recipe's, as plain data. The answer holds
    `program`, `families` of its operations, `tensors` and `cases` with packed arrays (`pack`), and for each recorded
    matrix, vector and metric where it is read: `{"ports", "shape", "at"}`, or None for what only the record has.
    """
    playable = replay.make_live_program(captured, built)
    if playable is None:
        return None
    first = next(iter(playable["cases"]))
    run = recorded.Runs(captured)[first]
    program = playable["program"]
    record = (experiment or {}).get("record") or {}
    ports = frozenset(program["ports"])
    return {
        "program": program,
        "families": {name: operations.TABLE[name].family for name in program["operations"]},
        "tensors": _pack_all(playable["tensors"]),
        "cases": {name: {"inputs": _pack_all(groups["inputs"]), "tensors": _pack_all(groups["tensors"])}
                  for name, groups in playable["cases"].items()},
        "matrices": [_locate_figure(run, entry, ports) for entry in record.get("matrices") or []],
        "vectors": [_locate_figure(run, entry, ports) for entry in record.get("vectors") or []],
        "metrics": [_find_metric(entry, record) for entry in record.get("metrics") or []],
        "modules": dict(_modules(run.run, program["ports"])),
        "control": _make_control((experiment or {}).get("control"), playable["cases"][first]["inputs"]),
    }  # fmt: skip


def pack(recorded_array: FlatArray) -> PackedArray:
    """An array as `[dtype, shape, text]`: base64 of little-endian numbers, as float32 where that loses nothing.

    First come the lowest bytes of all numbers, last their highest, which compresses better. Integers and bools stand
    as a list of numbers instead of the text.
    """
    dtype, shape = recorded_array["dtype"], recorded_array["shape"]
    if "float" not in dtype:
        return (dtype, shape, [int(value) for value in recorded_array["values"]])
    wide = np.array([_number(value) for value in recorded_array["values"]], dtype="<f8")
    with np.errstate(over="ignore"):
        narrow = wide.astype("<f4")
    exact = np.array_equal(narrow.astype("<f8"), wide, equal_nan=True)
    numbers = narrow if exact else wide
    planes = np.frombuffer(numbers.tobytes(), dtype=np.uint8).reshape(-1, numbers.itemsize).T
    return ("float32" if exact else "float64", shape, base64.b64encode(planes.tobytes()).decode())


def unpack(packed: Sequence[Any]) -> operations.Array:
    """The array that `pack` packed, in the dtype in which it was packed."""
    dtype, shape, numbers = packed
    if not isinstance(numbers, str):
        return np.array(numbers, dtype=dtype).reshape(shape)
    size = np.dtype(dtype).itemsize
    planes = np.frombuffer(base64.b64decode(numbers), dtype=np.uint8).reshape(size, -1)
    kind = np.dtype(dtype).newbyteorder("<")
    return np.frombuffer(planes.T.tobytes(), dtype=kind).reshape(shape)


def read_inputs(html: str) -> dict[str, dict[str, operations.Array]]:
    """The inputs with which a finished page computes, by case and leaf; empty where it shows recorded values only."""
    block = _DATA.search(html)
    alive = (json.loads(block[1]) if block else {}).get("live") or {"cases": {}}
    return {case: {leaf: unpack(packed) for leaf, packed in groups["inputs"].items()}
            for case, groups in alive["cases"].items()}  # fmt: skip


def _pack_all(group: Mapping[str, FlatArray]) -> dict[str, PackedArray]:
    return {name: pack(array) for name, array in group.items()}


def _number(value: Any) -> float:
    return float(value["float"]) if isinstance(value, dict) else float(value)


def _locate_figure(run: recorded.Run, entry: Mapping[str, Any], known: frozenset[str]) -> LiveFigure | None:
    """Which elements of which ports a recorded array consists of."""
    address = str(entry["tensor"])
    parsed = recorded.parse(address)
    named = [_port(run, struct, parsed, number) for number, struct in _structs(run, parsed, address)]
    ports = [port for port in named if port is not None and port in known]
    if not ports or len(ports) < len(named):
        return None
    whole = run[address]
    places = np.arange(whole.size, dtype=np.int64).reshape(whole.shape)
    cut = recorded.select(places, entry.get("select"), entry.get("reshape"))
    flat = cut.ravel()
    run_on = flat.size > 0 and np.array_equal(flat, np.arange(flat[0], flat[0] + flat.size))
    return {"ports": ports, "shape": list(cut.shape), "at": int(flat[0]) if run_on else flat.tolist()}


def _structs(run: recorded.Run, parsed: recorded.Address, address: str) -> Iterator[tuple[int | None, Any]]:
    """What an address names, each with the number of its call in the run (None for what is no call's output)."""
    structs = run.structs(parsed, address)
    numbers = {id(call["out"]): number for number, call in enumerate(run.run["calls"])}
    for struct in structs:
        yield numbers.get(id(struct)), struct


def _port(run: recorded.Run, struct: Any, parsed: recorded.Address, number: int | None) -> str | None:
    """The replay's name for one array: that of the call where it arose, or of the input or parameter that it is."""
    family, colon, _ = parsed.base.partition(":")
    if number is None and colon and family in ("input", "param", "buffer"):
        return ".".join([parsed.base, *map(str, parsed.picks)])
    for pick in parsed.picks:
        struct = _inside(struct, pick)
    if isinstance(struct, dict) and struct.get("from"):
        return "{}:{}".format(*struct["from"][-1])
    return f"{number}:{'.'.join(map(str, parsed.picks))}" if number is not None else None


def _inside(struct: Any, pick: str | int) -> Any:
    if isinstance(struct, dict):
        items = struct.get("tuple", struct.get("list"))
        if isinstance(items, list) and isinstance(pick, int):
            return items[pick]
        entries: list[Any] = struct.get("dict") or struct.get("fields") or []
        return next((value for key, value in entries if str(key) == str(pick)), None)
    return None


def _modules(run: Mapping[str, Any], ports: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """For each container, and for the output, the ports of the arrays that it gave when it was last called."""
    known = set(ports)
    named = [(call["layer"], call["out"]) for call in run["calls"] if call["kind"] == "module" and call["layer"]]
    for layer, out in [*named, ("output", run["output"])]:
        sources = [leaf["from"][-1] for _, leaf in recorded.leaves(out) if isinstance(leaf, dict) and leaf.get("from")]
        given = [port for port in ("{}:{}".format(*source) for source in sources) if port in known]
        if given:
            yield layer, given


def _find_metric(entry: Mapping[str, Any], record: Mapping[str, Any]) -> LiveMetric | None:
    """A statistic of a recorded array, by the array's kind and place; None for a function of checks.py."""
    kinds: tuple[Literal["matrices", "vectors"], ...] = ("matrices", "vectors")
    for kind in kinds:
        for at, array in enumerate(record.get(kind) or []):
            if array["id"] == entry["of"] and entry["value"] in STATISTICS:
                return {"statistic": entry["value"], "figure": (kind, at)}
    return None


def _make_control(control: Mapping[str, Any] | None, inputs: Mapping[str, Any]) -> LiveControl | None:
    """The arrays that a reader may move first, and how far."""
    if not control:
        return None
    name = str(control["input"])
    paths = [path for path in inputs if path == name or path.startswith(f"{name}.")]
    return {"inputs": paths, "label": control.get("label") or name, "range": control.get("range")} if paths else None
