"""What the page needs to compute the experiment itself: the program, its numbers, and where each figure is read."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from lessonpress.replay import operations, replay
from lessonpress.replay.statistics import STATISTICS
from lessonpress.worker import recorded

if TYPE_CHECKING:
    from lessonpress.lesson import recipe
    from lessonpress.replay.operations.interpreter import Marked, ProgramDocument
    from lessonpress.replay.replay import FlatArray
    from lessonpress.web.page.page_data import Live, LiveCase, LiveControl, LiveFigure, LiveMetric, LiveWay, PackedArray
    from lessonpress.worker.records import Recorded, Struct

_DATA = re.compile(r'<script type="application/json" id="page-data">(.*?)</script>', re.DOTALL)


def make_live_data(
    captured: Recorded, built: Mapping[str, replay.Replayed], experiment: recipe.Experiment | None
) -> Live | None:
    """The data with which a page runs the cases (the execution, without cases), or None where it cannot.

    `built` is what `replay.replay_runs` made of the capture. A figure of which a page can compute nothing is None in
    it; where it can compute none at all, so is the whole.
    """
    playable = replay.make_live_program(captured, built)
    if playable is None:
        return None
    runs, record = recorded.Runs(captured), experiment.record if experiment else None
    vague = frozenset(port for name in playable["cases"] for port in built[name].vague)
    ways = [_make_way(runs[_find_first(playable, number)], program, record, vague)
            for number, program in enumerate(playable["programs"])]  # fmt: skip
    covered = all(built[name].certificate.covered for name in playable["cases"])
    if not covered and not any(_is_computed(figure) for way in ways for figure in (*way["matrices"], *way["vectors"])):
        return None
    names = sorted({name for program in playable["programs"] for name in program["operations"]})
    first = next(iter(playable["cases"]))
    live: Live = {
        "program": ways[0]["program"],
        "matrices": ways[0]["matrices"],
        "vectors": ways[0]["vectors"],
        "modules": ways[0]["modules"],
        "families": {name: operations.TABLE[name].family for name in names if name in operations.TABLE},
        "tensors": _pack_all(playable["tensors"]),
        "cases": {name: _pack_case(case) for name, case in playable["cases"].items()},
        "metrics": [_find_metric(metric, record) for metric in record.metrics] if record else [],
        "control": _make_control(experiment.control if experiment else None, playable["cases"][first]["inputs"]),
    }
    if len(ways) > 1:
        live["ways"] = ways[1:]
    return live


def _find_first(playable: replay.LiveProgram, way: int) -> str:
    """The first case that has a program."""
    return next(name for name, case in playable["cases"].items() if case["way"] == way)


def _make_way(
    run: recorded.Run, program: ProgramDocument, record: recipe.Recording | None, vague: Collection[str]
) -> LiveWay:
    """A program with the places of the figures in it, read off a run that it belongs to; none at `vague` ports."""
    known = frozenset(program["ports"])
    ports = known.difference(vague)
    return {
        "program": program,
        "matrices": [_locate_figure(run, entry, ports) for entry in (record.matrices if record else [])],
        "vectors": [_locate_figure(run, entry, ports) for entry in (record.vectors if record else [])],
        "modules": dict(_list_module_ports(run, known)),
    }


def _is_computed(figure: LiveFigure | None) -> bool:
    """Whether a figure shows what a call gave, and no more than what the run was given."""
    return figure is not None and any(port[0].isdigit() for port in figure["ports"])


def _pack_case(case: replay.LiveCase) -> LiveCase:
    packed: LiveCase = {"inputs": _pack_all(case["inputs"]), "tensors": _pack_all(case["tensors"])}
    if case["way"]:
        packed["way"] = case["way"]
    return packed


def pack(array: FlatArray) -> PackedArray:
    """An array as `[dtype, shape, text]`: base64 of little-endian numbers, as float32 where that loses nothing.

    First come the lowest bytes of all numbers, last their highest, which compresses better. Integers and bools stand
    as a list of numbers instead of the text.
    """
    dtype, shape = array["dtype"], array["shape"]
    if "float" not in dtype:
        return dtype, shape, [int(value) for value in array["values"]]
    wide = np.array([_to_float(value) for value in array["values"]], dtype="<f8")
    with np.errstate(over="ignore"):
        narrow = wide.astype("<f4")
    exact = np.array_equal(narrow.astype("<f8"), wide, equal_nan=True)
    numbers = narrow if exact else wide
    planes = np.frombuffer(numbers.tobytes(), dtype=np.uint8).reshape(-1, numbers.itemsize).T
    return "float32" if exact else "float64", shape, base64.b64encode(planes.tobytes()).decode()


def unpack(packed: PackedArray) -> operations.Array:
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
    live: Live | None = json.loads(block[1]).get("live") if block else None
    if not live:
        return {}
    return {name: {leaf: unpack(packed) for leaf, packed in case["inputs"].items()}
            for name, case in live["cases"].items()}  # fmt: skip


def _pack_all(arrays: Mapping[str, FlatArray]) -> dict[str, PackedArray]:
    return {name: pack(array) for name, array in arrays.items()}


def _to_float(value: Marked) -> float:
    return float(value["float"]) if isinstance(value, dict) else float(value)


def _locate_figure(run: recorded.Run, entry: recipe.Recorded, known: Collection[str]) -> LiveFigure | None:
    """Which elements of which ports a recorded array consists of; None where the program lacks one of the ports."""
    parsed = recorded.parse(entry.tensor)
    named = [_name_port(struct, parsed, number) for number, struct in _list_structs(run, parsed, entry.tensor)]
    ports = [port for port in named if port is not None and port in known]
    if not ports or len(ports) < len(named):
        return None
    whole = run[entry.tensor]
    if np.iscomplexobj(whole):
        return None
    places = np.arange(whole.size, dtype=np.int64).reshape(whole.shape)
    cut = recorded.select(places, entry.select, entry.reshape)
    flat = cut.ravel()
    is_stretch = flat.size > 0 and np.array_equal(flat, np.arange(flat[0], flat[0] + flat.size))
    return {"ports": ports, "shape": list(cut.shape), "at": int(flat[0]) if is_stretch else flat.tolist()}


def _list_structs(
    run: recorded.Run, parsed: recorded.Address, address: str
) -> Iterator[tuple[int | None, Struct]]:  # fmt: skip
    """What an address names, each with the number of the call in the run that gave it (None where no call did)."""
    numbers = {id(call["out"]): number for number, call in enumerate(run.run["calls"])}
    for struct in run.structs(parsed, address):
        yield numbers.get(id(struct)), struct


def _name_port(struct: Struct, parsed: recorded.Address, number: int | None) -> str | None:
    """The replay's name for one array: that of the call where it arose, or of the input or parameter that it is."""
    kind, colon, _ = parsed.base.partition(":")
    if number is None and colon and kind in ("input", "param", "buffer"):
        return ".".join([parsed.base, *map(str, parsed.picks)])
    for pick in parsed.picks:
        struct = _pick_part(struct, pick)
    if isinstance(struct, dict) and struct.get("from"):
        return "{}:{}".format(*struct["from"][-1])
    return f"{number}:{'.'.join(map(str, parsed.picks))}" if number is not None else None


def _pick_part(struct: Struct, pick: str | int) -> Struct:
    if not isinstance(struct, dict):
        return None
    items = struct.get("tuple", struct.get("list"))
    if items is not None and isinstance(pick, int):
        return items[pick]
    pairs = struct.get("dict") or struct.get("fields") or []
    return next((value for key, value in pairs if str(key) == str(pick)), None)


def _list_module_ports(run: recorded.Run, known: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """For each container, and for the output, the ports of the arrays that it gave when it was last called."""
    modules = [call for call in run.run["calls"] if call.get("kind") == "module"]
    calls = [(call["layer"], call["out"]) for call in modules if call["layer"]]
    for layer, out in [*calls, ("output", run.run["output"])]:
        sources = [leaf["from"][-1] for _, leaf in recorded.leaves(out) if isinstance(leaf, dict) and leaf.get("from")]
        ports = [port for port in ("{}:{}".format(*source) for source in sources) if port in known]
        if ports:
            yield layer, ports


def _find_metric(metric: recipe.Metric, record: recipe.Recording) -> LiveMetric | None:
    """A statistic of a recorded array, by the array's kind and place; None for a function of checks.py."""
    kinds: tuple[tuple[Literal["matrices", "vectors"], Sequence[recipe.Recorded]], ...]
    kinds = (("matrices", record.matrices), ("vectors", record.vectors))
    for kind, entries in kinds:
        for at, entry in enumerate(entries):
            if entry.id == metric.of and metric.value in STATISTICS:
                return {"statistic": metric.value, "figure": (kind, at)}
    return None


def _make_control(control: recipe.Control | None, inputs: Collection[str]) -> LiveControl | None:
    """The arrays that a reader may move first, and how far."""
    if not control:
        return None
    name = control.input
    paths = [path for path in inputs if path == name or path.startswith(f"{name}.")]
    return {"inputs": paths, "label": control.label or name, "range": control.range} if paths else None
