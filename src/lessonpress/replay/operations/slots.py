"""The arrays of a program that is being built: where they came from, how exact they are, and what reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lessonpress.replay.operations import kept, precision
from lessonpress.replay.operations.interpreter import Argument, Step, run_step
from lessonpress.replay.operations.kinds import Array, Follows, Unsupported, settle
from lessonpress.replay.operations.table import TABLE
from lessonpress.worker import recorded
from lessonpress.worker.records import Module, Run, Struct, Tree

TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3}  # for the largest difference; others get COARSE
COARSE = 2e-2
CONTRADICTED = "was computed and differs from the record"  # said of a call whose number is not the recorded one


@dataclass
class Slots:
    """Holds an array for each port that was met, carries steps out on them, and compares them with the record."""

    run: Run
    modules: Mapping[str, Module]
    array: Callable[[int], Array]
    limit: float
    ports: dict[str, int] = field(default_factory=dict)
    slots: dict[int, Array] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    writers: set[int] = field(default_factory=set)  # calls that wrote into what another call had made
    lost: dict[int, str] = field(default_factory=dict)  # calls that were not repeated
    differences: list[float] = field(default_factory=list)
    tolerances: dict[str, float] = field(default_factory=dict)  # by dtype: the largest difference that was allowed
    given: dict[str, int] = field(default_factory=dict)
    limits: dict[int, float] = field(default_factory=dict)  # by slot: half and single precision taint what follows
    dtypes: dict[int, str] = field(default_factory=dict)  # by slot, as recorded
    varying: set[int] = field(default_factory=set)  # slots that a reader's inputs reach

    def __post_init__(self) -> None:
        self.given = list_given_values(self.run)

    def _dtype(self, leaf: Tree) -> str:
        return self.run["values"][leaf["tensor"]]["dtype"]

    def _shape(self, leaf: Tree) -> tuple[int, ...]:
        """The shape in which a recorded value is replayed: complex numbers are pairs."""
        value = self.run["values"][leaf["tensor"]]
        return (*value["shape"], *([2] if value["dtype"].startswith("complex") else []))

    def _out(self, outputs: list[tuple[int, Tree]]) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The slots and recorded shapes of what comes out."""
        return tuple((slot, self._shape(leaf)) for slot, leaf in outputs)

    def _do(self, step: Step) -> None:
        """Carry out a step and keep it."""
        run_step(step, self.slots)
        self.steps.append(step)
        if step.inplace or TABLE[step.operation].writes:
            self.writers.add(step.call)

    def _precision(self, number: int) -> float:
        """The tolerance for a value by its recorded dtype: wider below float64."""
        dtype = self.run["values"][number]["dtype"]
        return TOLERANCE.get(dtype, COARSE) if "float" in dtype and dtype != self.run["dtype"] else self.limit

    def _compare(self, slot: int, number: int) -> None:
        """Note how far a value is from the record; Unsupported above the tolerance or for another kind."""
        seen, expected = self.slots[slot], settle(self.array(number))
        off = measure_difference(seen, expected)
        if seen.dtype != expected.dtype:
            raise Unsupported(f"gives {seen.dtype}, {expected.dtype} was recorded")
        if off > self.limits[slot]:
            raise Unsupported(f"{CONTRADICTED} by {off:.2g}")
        if expected.dtype.kind == "f":
            dtype = self.run["values"][number]["dtype"]
            self.tolerances[dtype] = max(self.limits[slot], self.tolerances.get(dtype, 0.0))
        self.differences.append(off)

    def _read(self, leaf: Tree) -> int:
        """The slot of the array that a call read: the tensor itself, so that writes reach its other readers.

        `born` names the call that made the tensor. Where a record lacks it and the numbers came by writes through a
        view that covers the tensor, its memory and its numbers identify it; refused when two views would fit.
        """
        sources = leaf.get("from", [])
        for source in sources:
            if source[0] in self.lost:
                raise Follows(f"reads {self.lost[source[0]]}")
        if not sources:
            raise Unsupported("reads a tensor of unknown origin")
        born = leaf.get("born") or (None if sources[0][0] in self.writers else sources[0])
        direct = [slot for source in ([born] if born else sources) for slot in self._origins(*source)]
        fitting = self._fitting(direct if born else [*direct, *self._beside(direct)], leaf["tensor"])
        if not fitting:
            raise Unsupported("reads numbers that the replay does not have")
        if not born and len({_describe_layout(self.slots[slot]) for slot in fitting}) > 1:
            raise Unsupported("reads through one of several views, and the record does not say which")
        return fitting[0]

    def _beside(self, direct: list[int]) -> Iterator[int]:
        """Other slots in the memory of some: a write through one view is read through another."""
        near = [self.slots[slot] for slot in direct if slot in self.slots]
        for slot, array in self.slots.items():
            if slot not in direct and any(np.may_share_memory(array, other) for other in near):
                yield slot

    def _fitting(self, slots: list[int], number: int) -> list[int]:
        """Those slots whose arrays hold a recorded value's numbers now; the first one's difference is noted."""
        expected = settle(self.array(number))
        off = {slot: measure_difference(self.slots[slot], expected) for slot in slots if slot in self.slots}
        fitting = [slot for slot in off if off[slot] <= self.limits[slot]]
        self.differences.extend(off[slot] for slot in fitting[:1])
        return fitting

    def _origins(self, source: int | str, name: str) -> list[int]:
        """The slots that a source may mean: its port, or what a call wrote into without giving it."""
        if isinstance(source, int) and self.ports.get(f"{source}:{name}") not in self.slots:
            return [slot for step in self.steps if step.call == source for slot in list_slots(list(step.args))]
        return [self._source(source, name)]

    def _source(self, source: int | str, name: str) -> int:
        """The slot of a source; inputs, parameters and buffers enter when they are first read."""
        port = f"{source}:{name}"
        slot = self._slot(port)
        if slot not in self.slots:
            if port not in self.given:
                raise Unsupported(f"reads {port}, which no step gives")
            self.slots[slot] = settle(self.array(self.given[port])).copy()
            self.limits[slot] = self.limit
            self.dtypes[slot] = self.run["values"][self.given[port]]["dtype"]
            if source == "input":
                self._enter(slot, port)
        return slot

    def _enter(self, slot: int, port: str) -> None:
        """What a reader puts into an input is what torch would make of it: rounded to its dtype, or in its range."""
        self.varying.add(slot)
        dtype = self.run["values"][self.given[port]]["dtype"]
        step = Step(-1, port, "cast", ({"slot": slot}, {"dtype": dtype}), ())
        if precision.is_narrow(dtype, self.run["dtype"]):
            self._do(precision.make_step(step, slot, dtype, (), True))
        elif precision.is_small(dtype):
            self._do(step)

    def _slot(self, port: str) -> int:
        """A port's slot, a new one if it has none."""
        return self.ports.setdefault(port, len(self.ports))


def list_slots(args: Argument) -> list[int]:
    """The slots that a step's arguments name, in order."""
    if isinstance(args, list | tuple):
        return [slot for arg in args for slot in list_slots(arg)]
    if not isinstance(args, dict):
        return []
    if "slot" in args:
        return [args["slot"]]
    return [slot for part in (*args.get("dict", {}).values(), args.get("slice")) for slot in list_slots(part)]


def list_given_values(run: Run) -> dict[str, int]:
    """The value numbers of all inputs, parameters and buffers by port."""
    inputs = {f"input:{path}": leaf["tensor"]
              for name, struct in run["inputs"] for path, leaf in find_tensors(struct, name)}  # fmt: skip
    parameters = {f"param:{name}": number for name, number in run["params"].items()}
    buffers = {f"buffer:{name}": number for name, number in run["buffers"].items()}
    return {**inputs, **parameters, **buffers, **kept.list_kept_values(run["calls"])}


def find_tensors(struct: Struct, path: str = "") -> Iterator[tuple[str, Tree]]:
    """The tensor leaves of a structure with their dotted paths, in order."""
    leaves: list[tuple[str, Struct]] = recorded.leaves(struct)
    for below, leaf in leaves:
        if isinstance(leaf, dict) and "tensor" in leaf:
            yield ".".join(part for part in (path, below) if part), leaf


def measure_difference(seen: Array, expected: Array) -> float:
    """The largest |seen − expected| / max(1, |expected|); NaN equals NaN, equal infinities are equal.

    Infinity when shapes differ, or where only one of the two is NaN or infinite.
    """
    if seen.shape != expected.shape:
        return float("inf")
    if np.array_equal(seen, expected):
        return 0.0
    a, b = seen.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b) / np.maximum(1.0, np.abs(b)))
    return float(np.nan_to_num(off, nan=np.inf, posinf=np.inf).max(initial=0.0))


def _describe_layout(array: Array) -> tuple[Any, ...]:
    """Which elements of memory an array looks at, in which order."""
    return array.__array_interface__["data"][0], array.shape, array.strides
