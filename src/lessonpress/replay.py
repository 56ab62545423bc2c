"""The recorded run as a program that can be run again, and the certificate that it gives the recorded numbers.

A program is built while it is run: each recorded call becomes a step of table operations, is carried out in float64,
and what it reads and gives is compared with the record. What the table does not repeat is listed and never guessed,
and so is everything that reads from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from lessonpress import operations
from lessonpress.operations import Array, Program, Step, Unsupported
from lessonpress.worker import recorded

Run = Mapping[str, Any]
Call = Mapping[str, Any]
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}  # for the largest difference; half types get COARSE
COARSE = 2e-2
NUMBERS = 50_000  # weights and inputs that a page may carry for its slider
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


@dataclass(frozen=True)
class Certificate:
    """Whether the program of a run gives every number of its record, and the largest difference.

    A difference is |replayed − recorded| / max(1, |recorded|): absolute below one, relative above; NaN equals NaN and
    infinities of one sign are equal. `uncovered` says what could not be repeated and why, in the order of the run.
    """

    covered: bool
    max_difference: float | None
    uncovered: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The certificate under the manifest's names."""
        return {"covered": self.covered, "maxDifference": self.max_difference, "uncovered": list(self.uncovered)}


@dataclass(frozen=True)
class Replayed:
    """A run's program with its certificate."""

    program: Program
    certificate: Certificate


def of_run(
    run: Run, modules: Mapping[str, Any], array: Callable[[int], Array], *, tolerance: float | None = None
) -> Replayed:
    """Build the program of one recorded run and compare it with the record.

    `modules` is the capture's, `array(V)` gives the recorded value number V. Differences above `tolerance` (by default
    1e-12 for a float64 run, 1e-5 for float32) leave the call uncovered.
    """
    limit = TOLERANCE.get(run["dtype"], COARSE) if tolerance is None else tolerance
    builder = _Builder(run, modules, array, limit)
    for number, call in enumerate(run["calls"]):
        if call["kind"] != "module":
            builder.add(number, call)
    uncovered = tuple(builder.uncovered)
    largest = max(builder.differences, default=None)
    return Replayed(builder.program(), Certificate(not uncovered, largest, uncovered))


def of_runs(captured: Mapping[str, Any]) -> dict[str, Replayed]:
    """Every run of a capture (execution, cases, probes) with its program and certificate."""
    return {name: of_run(run, captured["modules"], _arrays(run, captured["blobs"]))
            for name, run in captured["runs"].items()}  # fmt: skip


def of_capture(captured: Mapping[str, Any]) -> dict[str, Any]:
    """One certificate for all runs of a capture: `{"covered", "maxDifference", "uncovered"}`.

    float32 runs are replayed in float64, so their difference is float32's own rounding.
    """
    told = [replayed.certificate for replayed in of_runs(captured).values()]
    differences = [one.max_difference for one in told if one.max_difference is not None]
    uncovered = tuple(dict.fromkeys(reason for one in told for reason in one.uncovered))
    return Certificate(not uncovered, max(differences, default=None), uncovered).document()


def program(captured: Mapping[str, Any]) -> dict[str, Any] | None:
    """The program of the first case (of the execution without cases) as JSON, or None when it is not covered."""
    name = _chosen(captured)
    run = captured["runs"][name]
    replayed = of_run(run, captured["modules"], _arrays(run, captured["blobs"]))
    return replayed.program.document() if replayed.certificate.covered else None


def playable(captured: Mapping[str, Any], *, limit: int = NUMBERS) -> dict[str, Any] | None:
    """All that a page needs to run the experiment itself, or None where that would not be sound.

    `{"program", "tensors": {name: ARRAY}, "cases": {id: {"inputs": {leaf: ARRAY}, "tensors": {name: ARRAY}}}}` with
    ARRAY `{"dtype", "shape", "values"}` (flat, row-major); it holds only what the program reads, and a case only those
    tensors that differ from the common ones. None when a case is uncovered, when two cases took different ways, or
    above `limit` numbers.
    """
    runs = {name: run for name, run in captured["runs"].items() if run["kind"] == "case"} or captured["runs"]
    built = {name: of_run(run, captured["modules"], _arrays(run, captured["blobs"])) for name, run in runs.items()}
    common = next(iter(built.values())).program
    if not all(one.certificate.covered and one.program == common for one in built.values()):
        return None
    cases = {name: figures(common, run, _arrays(run, captured["blobs"])) for name, run in runs.items()}
    tensors = next(iter(cases.values()))["tensors"]
    for case in cases.values():
        case["tensors"] = {name: told for name, told in case["tensors"].items() if told != tensors[name]}
    groups = [tensors, *(group for case in cases.values() for group in case.values())]
    numbers = sum(len(told["values"]) for group in groups for told in group.values())
    return {"program": common.document(), "tensors": tensors, "cases": cases} if numbers <= limit else None


def _chosen(captured: Mapping[str, Any]) -> str:
    """The run that stands for the lesson: its first case, else its execution."""
    cases = [name for name, run in captured["runs"].items() if run["kind"] == "case"]
    return cases[0] if cases else "execution"


def _arrays(run: Run, blobs: Mapping[str, str]) -> Callable[[int], Array]:
    """A function that gives a run's recorded value by number."""

    @cache
    def array(number: int) -> Array:
        return recorded.array(run["values"][number], blobs)

    return array


def figures(program: Program, run: Run, array: Callable[[int], Array]) -> dict[str, dict[str, Any]]:
    """What a program reads of a run: `{"inputs", "tensors"}`, each `{name: {"dtype", "shape", "values"}}`."""
    out: dict[str, dict[str, Any]] = {"inputs": {}, "tensors": {}}
    numbers = _given(run)
    for port in program.ports:
        family, _, name = port.partition(":")
        if port in numbers:
            value = operations.settle(array(numbers[port]))
            told = [_json(v) for v in value.ravel().tolist()]
            group = out["inputs" if family == "input" else "tensors"]
            group[name] = {"dtype": str(value.dtype), "shape": list(value.shape), "values": told}
    return out


def _given(run: Run) -> dict[str, int]:
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


def difference(seen: Array, expected: Array) -> float:
    """The largest |seen − expected| / max(1, |expected|); NaN equals NaN, equal infinities are equal.

    Infinity when shapes differ, or where only one of the two is NaN or infinite.
    """
    if seen.shape != expected.shape:
        return float("inf")
    a, b = seen.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b) / np.maximum(1.0, np.abs(b)))
    return float(np.nan_to_num(off, nan=np.inf, posinf=np.inf).max(initial=0.0))


def _json(value: Any) -> Any:
    """A plain value as a step holds it: whole floats and no-numbers are marked, for JavaScript tells 2.0 not from 2."""
    if isinstance(value, float) and (value.is_integer() or not np.isfinite(value)):
        return {"float": repr(value).replace("inf", "Infinity").replace("nan", "NaN")}
    return value


@dataclass
class _Builder:
    """Builds a program call by call while it carries it out on the recorded inputs."""

    run: Run
    modules: Mapping[str, Any]
    array: Callable[[int], Array]
    limit: float
    ports: dict[str, int] = field(default_factory=dict)
    slots: dict[int, Array] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    lost: dict[int, str] = field(default_factory=dict)  # calls that were not repeated
    uncovered: list[str] = field(default_factory=list)
    differences: list[float] = field(default_factory=list)
    given: dict[str, int] = field(default_factory=dict)
    limits: dict[int, float] = field(default_factory=dict)  # by slot: half and single precision taint what follows

    def __post_init__(self) -> None:
        self.given = _given(self.run)

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
        guard = None if told else [_json(leaf) for _, leaf in recorded.leaves(call["out"])]
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
        operations.execute(step, self.slots)
        self.steps.append(step)

    def _precision(self, number: int) -> float:
        """What the recorded dtype of a value lets one expect: a wider tolerance below float64."""
        dtype = self.run["values"][number]["dtype"]
        return TOLERANCE.get(dtype, COARSE) if "float" in dtype and dtype != self.run["dtype"] else self.limit

    def _compare(self, slot: int, number: int) -> None:
        """Note how far a value is from the record; Unsupported above the tolerance or for another kind."""
        seen, expected = self.slots[slot], operations.settle(self.array(number))
        off = difference(seen, expected)
        if seen.dtype != expected.dtype:
            raise Unsupported(f"gives {seen.dtype}, {expected.dtype} was recorded")
        if off > self.limits[slot]:
            raise Unsupported(f"differs from the record by {off:.2g}")
        self.differences.append(off)

    def _bound(self, call: Call) -> operations.Bound:
        """A call's row, with its arguments as a step holds them."""
        args = [self._encode(arg) for arg in call["args"]]
        kwargs = {k: self._encode(v) for k, v in call["kwargs"].items() if k not in operations.WITHOUT_EFFECT}
        if call["kind"] == "layer":
            return self._layer(call, args, kwargs)
        name = operations.plain_name(call["op"])
        if name.strip("_") in ASKED and not list(_tensors(call["out"])):
            return operations.resolve("alias", args[:1], {})
        if name in CASTS | SAME:
            return self._converted(call, args, kwargs)
        if name in ("getitem", "setitem"):
            args[1:2] = [self._index(call["args"][1])]
        return operations.resolve(name, args, kwargs)

    def _layer(self, call: Call, args: list[Any], kwargs: dict[str, Any]) -> operations.Bound:
        """A leaf module's row with its weights and constructor parameters."""
        module = self.modules.get(call["layer"])
        if module is None:
            raise Unsupported("a module that is not registered")
        weights = {name: {"slot": self._source(family, full)}
                   for family, key in (("param", "parameters"), ("buffer", "buffers"))
                   for name, full in module[key].items()}  # fmt: skip
        params = {name: self._encode(value) for name, value in _structs(module["params"])}
        extra = {"training": bool(module["training"]), "dtype": self.run["dtype"]}
        row = operations.TABLE.get(call["op"])
        params |= {name: value for name, value in extra.items() if row is not None and name in row.options}
        bound = operations.resolve_layer(call["op"], weights, params, args, kwargs)
        options = {name: _json(value) for name, value in bound.args[1].items()}
        return operations.Bound(bound.operation, ({"dict": bound.args[0]}, {"dict": options}, *bound.args[2:]))

    def _converted(self, call: Call, args: list[Any], kwargs: dict[str, Any]) -> operations.Bound:
        """A change of dtype, or of nothing that a replay knows, as the recorded dtypes tell."""
        before = self.run["values"][call["args"][0]["tensor"]]["dtype"]
        after = self.run["values"][call["out"]["tensor"]]["dtype"]
        if before != after:
            return operations.resolve("cast", [args[0], {"dtype": after}], {})
        return operations.resolve("clone" if kwargs.get("copy") else "alias", args[:1], {})

    def _encode(self, struct: Any) -> Any:
        """A recorded argument as a step holds it."""
        if not isinstance(struct, dict):
            return _json(struct)
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
        """The slot of the array that a call read: the tensor itself, so that writes reach its other readers."""
        sources: Sequence[Any] = leaf.get("from", [])
        for source in sources:
            if source[0] in self.lost:
                raise Unsupported(f"reads {self.lost[source[0]]}")
        if not sources:
            raise Unsupported("reads a tensor of unknown origin")
        direct = [slot for source in sources for slot in self._origins(*source)]
        expected = operations.settle(self.array(leaf["tensor"]))
        for slot in [*direct, *self._beside(direct)]:
            off = difference(self.slots[slot], expected)
            if off <= self.limits[slot]:
                self.differences.append(off)
                return slot
        raise Unsupported("reads numbers that the replay does not have")

    def _beside(self, direct: list[int]) -> Iterator[int]:
        """Other slots in the memory of some: a write through one view is read through another."""
        for slot, array in self.slots.items():
            if slot not in direct and any(np.may_share_memory(array, self.slots[other]) for other in direct):
                yield slot

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
            self.slots[slot] = operations.settle(self.array(self.given[port])).copy()
            self.limits[slot] = self.limit
        return slot

    def _slot(self, port: str) -> int:
        """A port's slot, a new one if it has none."""
        return self.ports.setdefault(port, len(self.ports))


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
    return [list(arg) if isinstance(arg, tuple) else _json(arg) for arg in args]


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
