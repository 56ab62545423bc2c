"""Builds a program from the calls of a recorded run while it carries them out and compares them with the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lessonpress.replay.operations.interpreter import Program, Step, run_step
from lessonpress.replay.operations.kinds import Array, Unsupported, settle
from lessonpress.replay.operations.table import TABLE, WITHOUT_EFFECT, Bound, plain_name, resolve, resolve_layer
from lessonpress.worker import recorded

Run = Mapping[str, Any]
Call = Mapping[str, Any]
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}  # for the largest difference; half types get COARSE
COARSE = 2e-2
# These change a dtype, or nothing: what they do is read off the recorded dtypes.
CASTS = frozenset([
    "to", "type", "type_as", "float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool",
    "cpu",
])
SAME = frozenset(["detach", "detach_", "data", "real", "resolve_conj", "resolve_neg", "requires_grad_"])
ASKED = frozenset([
    "item", "tolist", "bool", "float", "int", "index", "is_nonzero",
])  # a number goes from a tensor to Python
MENDABLE = (Unsupported, ValueError, TypeError, IndexError, KeyError, ZeroDivisionError, OverflowError, MemoryError,
            NotImplementedError, AttributeError, np.exceptions.AxisError)  # fmt: skip


@dataclass
class Builder:
    """Builds a program call by call while it carries it out on the recorded inputs."""

    run: Run
    modules: Mapping[str, Any]
    array: Callable[[int], Array]
    limit: float
    ports: dict[str, int] = field(default_factory=dict)
    slots: dict[int, Array] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    writers: set[int] = field(default_factory=set)  # calls that wrote into what another call had made
    lost: dict[int, str] = field(default_factory=dict)  # calls that were not repeated
    uncovered: list[str] = field(default_factory=list)
    differences: list[float] = field(default_factory=list)
    given: dict[str, int] = field(default_factory=dict)
    limits: dict[int, float] = field(default_factory=dict)  # by slot: half and single precision taint what follows

    def __post_init__(self) -> None:
        self.given = list_given_values(self.run)

    def program(self) -> Program:
        """What was built."""
        return Program(tuple(self.ports), tuple(self.steps))

    def add(self, number: int, call: Call) -> None:
        """Repeat one call; what goes wrong is noted and everything that reads from it is lost too."""
        try:
            if call["kind"] == "outside":
                raise Unsupported("a tensor that comes from outside the recorded operations")
            self._repeat(number, call)
        except MENDABLE as error:
            reason = str(error) if isinstance(error, Unsupported) else f"{type(error).__name__}: {error}"
            self.lost[number] = call["layer"]
            self.uncovered.append(f"{call['layer']}: {reason}")

    def _repeat(self, number: int, call: Call) -> None:
        """Make a call's step, carry it out and compare what comes out."""
        bound = self._bound(call)
        name, args = bound.operation.name, _plain(bound.args)
        told = [(self._slot(f"{number}:{path}"), leaf) for path, leaf in _tensors(call["out"])]
        first, beside = (told[:1], told[1:]) if bound.inplace or name == "setitem" else (told, [])
        limit = max([self.limit, *(self.limits[slot] for slot in _slots(args))])
        guard = None if told else [mark_number(leaf) for _, leaf in recorded.leaves(call["out"])]
        slack = limit if guard and any(isinstance(value, float | dict) for value in guard) else 0.0
        self._do(Step(number, call["layer"], name, tuple(args), self._out(first), bound.inplace, guard, slack))
        self._look(beside, args)
        for slot, leaf in told:
            self.limits[slot] = max(limit, self._precision(leaf["tensor"]))
        if first and (bound.inplace or bound.operation.writes):
            self._taint(first[0][0])
        for slot, leaf in told:
            self._compare(slot, leaf["tensor"])

    def _look(self, beside: list[tuple[int, dict[str, Any]]], args: list[Any]) -> None:
        """A write also tells of arguments that look at the memory it went to: they come out as they are."""
        if not beside:
            return
        target = self.slots[_slots(args)[0]]
        looking = [slot for slot in _slots(args)[1:] if np.may_share_memory(self.slots[slot], target)]
        if len(looking) < len(beside):
            raise Unsupported("writes more arrays than the replay knows")
        for out, slot in zip(beside, looking, strict=False):
            step = self.steps[-1]
            self._do(Step(step.call, step.layer, "alias", ({"slot": slot},), self._out([out])))

    def _taint(self, written: int) -> None:
        """What was written with less precision is read with less through every view."""
        if self.limits[written] > self.limit:
            for slot in self._beside([written]):
                self.limits[slot] = max(self.limits[slot], self.limits[written])

    def _out(self, told: list[tuple[int, dict[str, Any]]]) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The slots and recorded shapes of what comes out."""
        return tuple((slot, tuple(self.run["values"][leaf["tensor"]]["shape"])) for slot, leaf in told)

    def _do(self, step: Step) -> None:
        """Carry out a step and keep it."""
        run_step(step, self.slots)
        self.steps.append(step)
        if step.inplace or TABLE[step.operation].writes:
            self.writers.add(step.call)

    def _precision(self, number: int) -> float:
        """What the recorded dtype of a value lets one expect: a wider tolerance below float64."""
        dtype = self.run["values"][number]["dtype"]
        return TOLERANCE.get(dtype, COARSE) if "float" in dtype and dtype != self.run["dtype"] else self.limit

    def _compare(self, slot: int, number: int) -> None:
        """Note how far a value is from the record; Unsupported above the tolerance or for another kind."""
        seen, expected = self.slots[slot], settle(self.array(number))
        off = measure_difference(seen, expected)
        if seen.dtype != expected.dtype:
            raise Unsupported(f"gives {seen.dtype}, {expected.dtype} was recorded")
        if off > self.limits[slot]:
            raise Unsupported(f"differs from the record by {off:.2g}")
        self.differences.append(off)

    def _bound(self, call: Call) -> Bound:
        """A call's row, with its arguments as a step holds them."""
        args = [self._encode(arg) for arg in call["args"]]
        kwargs = {k: self._encode(v) for k, v in call["kwargs"].items() if k not in WITHOUT_EFFECT}
        if call["kind"] == "layer":
            return self._layer(call, args, kwargs)
        name = plain_name(call["op"])
        if name.strip("_") in ASKED and not list(_tensors(call["out"])):
            return resolve("alias", args[:1], {})
        if name in CASTS | SAME:
            return self._converted(call, args, kwargs)
        if name in ("getitem", "setitem"):
            args[1:2] = [self._index(call["args"][1])]
        return resolve(name, args, kwargs)

    def _layer(self, call: Call, args: list[Any], kwargs: dict[str, Any]) -> Bound:
        """A leaf module's row with its weights and constructor parameters."""
        module = self.modules.get(call["layer"])
        if module is None:
            raise Unsupported("a module that is not registered")
        weights = {name: {"slot": self._source(family, full)}
                   for family, key in (("param", "parameters"), ("buffer", "buffers"))
                   for name, full in module[key].items()}  # fmt: skip
        params = {name: self._encode(value) for name, value in _structs(module["params"])}
        extra = {"training": bool(module["training"]), "dtype": self.run["dtype"]}
        row = TABLE.get(call["op"])
        params |= {name: value for name, value in extra.items() if row is not None and name in row.options}
        bound = resolve_layer(call["op"], weights, params, args, kwargs)
        options = {name: mark_number(value) for name, value in bound.args[1].items()}
        return Bound(bound.operation, ({"dict": bound.args[0]}, {"dict": options}, *bound.args[2:]))

    def _converted(self, call: Call, args: list[Any], kwargs: dict[str, Any]) -> Bound:
        """A change of dtype, or of nothing that a replay knows, as the recorded dtypes tell."""
        before = self.run["values"][call["args"][0]["tensor"]]["dtype"]
        after = self.run["values"][call["out"]["tensor"]]["dtype"]
        if before != after:
            return resolve("cast", [args[0], {"dtype": after}], {})
        return resolve("clone" if kwargs.get("copy") else "alias", args[:1], {})

    def _encode(self, struct: Any) -> Any:
        """A recorded argument as a step holds it."""
        if not isinstance(struct, dict):
            return mark_number(struct)
        if "tensor" in struct:
            return {"slot": self._read(struct)}
        for kind in ("tuple", "list"):
            if kind in struct:
                return [self._encode(part) for part in struct[kind]]
        if "slice" in struct:
            return {"slice": [self._encode(part) for part in struct["slice"]]}
        if struct.keys() & {"ellipsis", "dtype", "float"}:
            return dict(struct)
        raise Unsupported(f"an argument of the kind {next(iter(struct), 'nothing')}")

    def _index(self, struct: Any) -> list[Any]:
        """An index as the list of its parts; lists of numbers are arrays."""
        parts = struct["tuple"] if isinstance(struct, dict) and "tuple" in struct else [struct]
        return [_constant(part) if isinstance(part, dict) and "list" in part else self._encode(part) for part in parts]

    def _read(self, leaf: Mapping[str, Any]) -> int:
        """The slot of the array that a call read: the tensor itself, so that writes reach its other readers.

        `born` names the tensor's own maker. Where a record lacks it and the numbers came by writes through a view that
        covers the tensor, it is found by its memory and its numbers, and refused when two views would fit.
        """
        sources: Sequence[Any] = leaf.get("from", [])
        for source in sources:
            if source[0] in self.lost:
                raise Unsupported(f"reads {self.lost[source[0]]}")
        if not sources:
            raise Unsupported("reads a tensor of unknown origin")
        born = leaf.get("born") or (None if sources[0][0] in self.writers else sources[0])
        direct = [slot for source in ([born] if born else sources) for slot in self._origins(*source)]
        fitting = self._fitting(direct if born else [*direct, *self._beside(direct)], leaf["tensor"])
        if not fitting:
            raise Unsupported("reads numbers that the replay does not have")
        if not born and len({_layout(self.slots[slot]) for slot in fitting}) > 1:
            raise Unsupported("reads through one of several views, and the record does not tell which")
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

    def _origins(self, family: Any, name: str) -> list[int]:
        """The slots that a source may mean: its port, or what a call wrote into without giving it."""
        if isinstance(family, int) and self.ports.get(f"{family}:{name}") not in self.slots:
            return [slot for step in self.steps if step.call == family for slot in _slots(list(step.args))]
        return [self._source(family, name)]

    def _source(self, family: Any, name: str) -> int:
        """The slot of a source; inputs, parameters and buffers enter when they are first read."""
        port = f"{family}:{name}"
        slot = self._slot(port)
        if slot not in self.slots:
            if port not in self.given:
                raise Unsupported(f"reads {port}, which no step gives")
            self.slots[slot] = settle(self.array(self.given[port])).copy()
            self.limits[slot] = self.limit
        return slot

    def _slot(self, port: str) -> int:
        """A port's slot, a new one if it has none."""
        return self.ports.setdefault(port, len(self.ports))


def _layout(array: Array) -> tuple[Any, ...]:
    """Which elements of memory an array looks at, in which order."""
    return array.__array_interface__["data"][0], array.shape, array.strides


def _slots(args: Any) -> list[int]:
    """The slots that a step's arguments name, in order."""
    if isinstance(args, list):
        return [slot for arg in args for slot in _slots(arg)]
    if not isinstance(args, dict):
        return []
    if "slot" in args:
        return [args["slot"]]
    return [slot for part in (*args.get("dict", {}).values(), args.get("slice")) for slot in _slots(part)]


def _structs(params: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Constructor parameters as structures: their lists are bare JSON lists."""
    for name, value in params.items():
        yield name, {"list": value} if isinstance(value, list) else value


def _plain(args: Sequence[Any]) -> list[Any]:
    """Defaults that a signature filled in, as a step holds them."""
    return [list(arg) if isinstance(arg, tuple) else mark_number(arg) for arg in args]


def _constant(part: Mapping[str, Any]) -> dict[str, Any]:
    """A list inside an index: an array of integers or bools."""

    def bare(struct: Any) -> Any:
        if isinstance(struct, dict):
            if "list" not in struct:
                raise Unsupported("an index that mixes numbers and tensors")
            return [bare(item) for item in struct["list"]]
        return struct

    values = bare(part)
    return {"list": values, "kind": "bool" if np.asarray(values).dtype == np.bool_ else "int64"}


def list_given_values(run: Run) -> dict[str, int]:
    """The value numbers of all inputs, parameters and buffers by port."""
    out = {f"input:{path}": leaf["tensor"] for name, struct in run["inputs"] for path, leaf in _tensors(struct, name)}
    for family, key in (("param", "params"), ("buffer", "buffers")):
        out |= {f"{family}:{name}": number for name, number in run[key].items()}
    return out


def _tensors(struct: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The tensor leaves of a structure with their dotted paths, in order."""
    for below, leaf in recorded.leaves(struct):
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


def mark_number(value: Any) -> Any:
    """A plain value as a step holds it: whole floats and no-numbers are marked, for JavaScript tells 2.0 not from 2."""
    if isinstance(value, float) and (value.is_integer() or not np.isfinite(value)):
        return {"float": repr(value).replace("inf", "Infinity").replace("nan", "NaN")}
    return value
