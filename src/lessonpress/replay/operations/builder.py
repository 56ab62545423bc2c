"""Builds a program from the calls of a recorded run while it carries them out and compares them with the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lessonpress.replay.operations import precision, python_numbers
from lessonpress.replay.operations.interpreter import Argument, Program, Step, mark_number, run_step
from lessonpress.replay.operations.kinds import Array, Unsupported, settle
from lessonpress.replay.operations.table import TABLE, WITHOUT_EFFECT, Bound, plain_name, resolve, resolve_layer
from lessonpress.worker import recorded
from lessonpress.worker.records import Arguments, Call, Module, Run, Struct, Tree

TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3}  # for the largest difference; others get COARSE
COARSE = 2e-2
CONTRADICTED = "was computed and differs from the record"  # said of a call whose number is not the recorded one
# These change a dtype, or nothing: what they do is read off the recorded dtypes.
CASTS = frozenset([
    "to", "type", "type_as", "float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool",
    "cpu",
])
SAME = frozenset(["detach", "detach_", "data", "real", "resolve_conj", "resolve_neg", "requires_grad_"])
REPLACING = frozenset(["data_", "set_"])  # a tensor gets another memory
REPLAY_ERRORS = (Unsupported, ValueError, TypeError, IndexError, KeyError, ZeroDivisionError, OverflowError,
                 MemoryError, NotImplementedError, AttributeError, np.exceptions.AxisError)  # fmt: skip


@dataclass
class Builder:
    """Builds a program call by call while it carries it out on the recorded inputs."""

    run: Run
    modules: Mapping[str, Module]
    array: Callable[[int], Array]
    limit: float
    ports: dict[str, int] = field(default_factory=dict)
    slots: dict[int, Array] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    writers: set[int] = field(default_factory=set)  # calls that wrote into what another call had made
    lost: dict[int, str] = field(default_factory=dict)  # calls that were not repeated
    uncovered: list[str] = field(default_factory=list)
    differences: list[float] = field(default_factory=list)
    tolerances: dict[str, float] = field(default_factory=dict)  # by dtype: the largest difference that was allowed
    given: dict[str, int] = field(default_factory=dict)
    limits: dict[int, float] = field(default_factory=dict)  # by slot: half and single precision taint what follows
    dtypes: dict[int, str] = field(default_factory=dict)  # by slot, as recorded
    varying: set[int] = field(default_factory=set)  # slots that a reader's inputs reach
    rough: set[int] = field(default_factory=set)  # slots that a narrower dtype rounded in a way of its own
    vague: dict[str, str] = field(default_factory=dict)  # ports that are rough, though their own dtype is wider

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
            if isinstance(call["kwargs"].get("out"), dict):
                self._repeat_into(number, call)
            else:
                self._repeat(number, call)
        except REPLAY_ERRORS as error:
            reason = str(error) if isinstance(error, Unsupported) else f"{type(error).__name__}: {error}"
            self.lost[number] = call["layer"]
            self.uncovered.append(f"{call['layer']}: {reason}")

    def _repeat_into(self, number: int, call: Call) -> None:
        """A result that is written into a given tensor (`out=`): it arises, then it is copied."""
        result, target = call["out"], call["kwargs"]["out"]
        number_of_value = _require_tensor(result)
        arisen: Struct = {"dict": [["result", {"tensor": number_of_value}]]}
        self._repeat(number, {**call, "kwargs": {k: v for k, v in call["kwargs"].items() if k != "out"}, "out": arisen})
        read: Struct = {"tensor": number_of_value, "from": [[number, "result"]]}
        self._repeat(number, {**call, "op": "torch.copy_", "args": [target, read], "kwargs": {}})

    def _repeat(self, number: int, call: Call) -> None:
        """Make a call's step, carry it out and compare what comes out."""
        if python_numbers.gives_nothing(call):
            return
        bound = self._renormed(number, call, self._bound(call))
        name, args = bound.operation.name, _encode_arguments(self._with_numbers(number, call, bound))
        ports = [f"{number}:{path}" for path, _ in _find_tensors(call["out"])]
        outputs = [(self._slot(port), leaf) for port, (_, leaf) in zip(ports, _find_tensors(call["out"]), strict=True)]
        writes_first = bound.inplace or name == "setitem"
        first, beside = (outputs[:1], outputs[1:]) if writes_first else (outputs, [])
        read = list_slots(args)
        limit = max([self.limit, *(self.limits[slot] for slot in read)])
        if outputs:
            rounded = [self._rounds(bound, leaf) for _, leaf in first]
            raw = [(self._slot(f"{number}:{path}") if to and not writes_first else slot, leaf)
                   for (slot, leaf), to, path in zip(first, rounded, _name_unrounded(call), strict=False)]  # fmt: skip
            self._do(Step(number, call["layer"], name, tuple(args), self._out(raw), bound.inplace))
            for (slot, leaf), (made, _), to in zip(first, raw, rounded, strict=True):
                if to:
                    self._do(precision.make_step(self.steps[-1], made, to, self._out([(slot, leaf)]), writes_first))
                elif name in precision.GROWING and self._dtype(leaf) == "int64" and self.varying.intersection(read):
                    self._do(Step(number, call["layer"], "cast", ({"slot": slot}, {"dtype": "int64"}), ()))
        else:
            guard = python_numbers.list_guarded(call)
            slack = limit if any(isinstance(value, float | dict) for value in guard) else 0.0
            self._do(Step(number, call["layer"], name, tuple(args), (), bound.inplace, guard, slack))
        self._look(beside, args)
        for slot, leaf in outputs:
            self.dtypes[slot] = self._dtype(leaf)
            exact = precision.is_exact(bound, args, [self.dtypes[each] for each in read], self._dtype(leaf))
            self.limits[slot] = limit if exact else max(limit, self._precision(leaf["tensor"]))
        if first and (bound.inplace or bound.operation.writes):
            self._taint(first[0][0])
        self._spread(bound, args, dict(zip(ports, (slot for slot, _ in outputs), strict=True)))
        for slot, leaf in outputs:
            self._compare(slot, leaf["tensor"])

    def _renormed(self, number: int, call: Call, bound: Bound) -> Bound:
        """An embedding with `max_norm` first shortens the rows that it is asked for, in the table itself."""
        if bound.operation.name == "Embedding":
            weights, options, ids = bound.args
            table, given = weights["dict"]["weight"], options["dict"]
            renorm, rest = given["max_norm"], (weights, {"dict": {**given, "max_norm": None}}, ids)
            kind = given["norm_type"]
        elif bound.operation.name == "embedding":
            ids, table, padding, renorm, kind, *others = bound.args
            rest = (ids, table, padding, None, kind, *others)
        else:
            return bound
        if renorm is None:
            return bound
        step = resolve("embedding_renorm", [table, ids, renorm, kind], {})
        self._do(Step(number, call["layer"], step.operation.name, tuple(_encode_arguments(step.args)), ()))
        if any(slot in self.varying for slot in list_slots(ids)):
            self.varying |= {table["slot"], *self._beside([table["slot"]])}
        return Bound(bound.operation, tuple(rest), bound.inplace)

    def _dtype(self, leaf: Tree) -> str:
        return self.run["values"][leaf["tensor"]]["dtype"]

    def _rounds(self, bound: Bound, leaf: Tree) -> str | None:
        """The dtype to which a result is to be rounded or wrapped, None where the kernel's own kind does for it."""
        dtype = self._dtype(leaf)
        narrow = precision.is_narrow(dtype, self.run["dtype"]) or precision.is_small(dtype)
        return dtype if narrow and not precision.moves(bound) else None

    def _spread(self, bound: Bound, args: list[Argument], made: Mapping[str, int]) -> None:
        """Note which results a reader's inputs reach, and which of them torch may have rounded otherwise."""
        read, dtypes = list_slots(args), {port: self.dtypes[slot] for port, slot in made.items()}
        narrow = {port: precision.is_narrow(dtype, self.run["dtype"]) for port, dtype in dtypes.items()}
        reached = {*made.values()}
        if bound.inplace or bound.operation.writes:
            reached |= {*self._beside(list(reached))}
        if any(slot in self.varying for slot in read):
            self.varying |= reached
            given = [self.dtypes[slot] for slot in read]
            exact = all(precision.is_exact(bound, args, given, dtypes[port]) for port in made if narrow[port])
            if not exact or any(slot in self.rough for slot in read):
                self.rough |= reached
        for port, slot in made.items():
            if slot in self.rough and "float" in dtypes[port] and not narrow[port]:
                self.vague[port] = dtypes[port]

    def _look(self, beside: list[tuple[int, Tree]], args: list[Argument]) -> None:
        """A write also gives those of its arguments that share the memory it went to: they come out as they are."""
        if not beside:
            return
        target = self.slots[list_slots(args)[0]]
        looking = [slot for slot in list_slots(args)[1:] if np.may_share_memory(self.slots[slot], target)]
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

    def _out(self, outputs: list[tuple[int, Tree]]) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The slots and recorded shapes of what comes out."""
        return tuple((slot, tuple(self.run["values"][leaf["tensor"]]["shape"])) for slot, leaf in outputs)

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

    def _bound(self, call: Call) -> Bound:
        """A call's row, with its arguments as a step holds them."""
        if plain_name(call["op"]) in REPLACING:  # what the first tensor was before is read no more
            return resolve("alias", [self._encode(arg) for arg in call["args"][1:]], {})
        args = [self._encode(arg) for arg in call["args"]]
        kwargs = {k: self._encode(v) for k, v in call["kwargs"].items() if k not in WITHOUT_EFFECT}
        if call["kind"] == "layer":
            return self._layer(call, args, kwargs)
        name = plain_name(call["op"])
        if python_numbers.leaves_tensors(call):
            return resolve(python_numbers.name_step(call, self.slots, args), args[:1], {})
        if (own := python_numbers.name_arithmetic(call)) is not None:
            return resolve(own, args, kwargs)
        if name in CASTS | SAME:
            return self._converted(call, args, kwargs)
        if name in ("getitem", "setitem"):
            args[1:2] = [self._index(call["args"][1])]
        return resolve(name, args, kwargs)

    def _with_numbers(self, number: int, call: Call, bound: Bound) -> list[Argument]:
        """A row's arguments; a Python number that the row cannot take from an array must stay what it was."""

        def placed(arg: Argument, name: str) -> Argument:
            if isinstance(arg, list):
                return [placed(part, name) for part in arg]
            if not isinstance(arg, dict) or "number" not in arg:
                return arg
            given, plain = {"slot": arg["slot"]}, arg["number"]
            if not python_numbers.takes_number(bound.operation, name):
                slack = self.limits[arg["slot"]]
                self._do(Step(number, call["layer"], "alias", (given,), (), False, [plain], slack))
                return plain
            return given

        return [placed(arg, name) for arg, name in zip(bound.args, bound.operation.parameters, strict=True)]

    def _layer(self, call: Call, args: list[Argument], kwargs: dict[str, Argument]) -> Bound:
        """A leaf module's row with its weights and constructor parameters."""
        module = self.modules.get(call["layer"])
        if module is None:
            raise Unsupported("a module that is not registered")
        weights = {name: {"slot": self._source(kind, full)}
                   for kind, names in (("param", module["parameters"]), ("buffer", module["buffers"]))
                   for name, full in names.items() if name not in call.get("beside", {})}  # fmt: skip
        weights |= {name: self._encode(struct) for name, struct in call.get("beside", {}).items()}
        params = {name: self._encode(value) for name, value in _wrap_params(module["params"])}
        extra = {"training": bool(module["training"]), "dtype": self.run["dtype"]}
        row = TABLE.get(plain_name(call["op"]))
        params |= {name: value for name, value in extra.items() if row is not None and name in row.options}
        bound = resolve_layer(call["op"], weights, params, args, kwargs)
        options = {name: mark_number(value) for name, value in bound.args[1].items()}
        return Bound(bound.operation, ({"dict": bound.args[0]}, {"dict": options}, *bound.args[2:]))

    def _converted(self, call: Call, args: list[Argument], kwargs: dict[str, Argument]) -> Bound:
        """A change of dtype, or of nothing that a replay knows, as the recorded dtypes tell."""
        given, result = _require_tensor(call["args"][0]), _require_tensor(call["out"])
        before, after = self.run["values"][given]["dtype"], self.run["values"][result]["dtype"]
        if before != after and precision.is_narrow(after, self.run["dtype"]):
            return resolve("rounded", [args[0], {"dtype": after}], {})
        if before != after:
            return resolve("cast", [args[0], {"dtype": after}], {})
        return resolve("clone" if kwargs.get("copy") else "alias", args[:1], {})

    def _encode(self, struct: Struct) -> Argument:
        """A recorded argument as a step holds it."""
        if not isinstance(struct, dict):
            return mark_number(struct)
        if "number" in struct:
            return {"slot": self._read(struct), "number": mark_number(float(self.array(struct["tensor"])))}
        if "tensor" in struct:
            return {"slot": self._read(struct)}
        if "tuple" in struct or "list" in struct:
            return [self._encode(part) for part in struct["tuple" if "tuple" in struct else "list"]]
        if "slice" in struct:
            return {"slice": [self._encode(part) for part in struct["slice"]]}
        if struct.keys() & {"ellipsis", "dtype", "float"}:
            return dict(struct)
        raise Unsupported(f"an argument of the kind {next(iter(struct), 'nothing')}")

    def _index(self, struct: Struct) -> list[Argument]:
        """An index as the list of its parts; lists of numbers are arrays."""
        parts = struct["tuple"] if isinstance(struct, dict) and "tuple" in struct else [struct]
        return [_make_constant(part["list"]) if isinstance(part, dict) and "list" in part else self._encode(part)
                for part in parts]  # fmt: skip

    def _read(self, leaf: Tree) -> int:
        """The slot of the array that a call read: the tensor itself, so that writes reach its other readers.

        `born` names the call that made the tensor. Where a record lacks it and the numbers came by writes through a
        view that covers the tensor, its memory and its numbers identify it; refused when two views would fit.
        """
        sources = leaf.get("from", [])
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


def _describe_layout(array: Array) -> tuple[Any, ...]:
    """Which elements of memory an array looks at, in which order."""
    return array.__array_interface__["data"][0], array.shape, array.strides


def list_slots(args: Argument) -> list[int]:
    """The slots that a step's arguments name, in order."""
    if isinstance(args, list | tuple):
        return [slot for arg in args for slot in list_slots(arg)]
    if not isinstance(args, dict):
        return []
    if "slot" in args:
        return [args["slot"]]
    return [slot for part in (*args.get("dict", {}).values(), args.get("slice")) for slot in list_slots(part)]


def _name_unrounded(call: Call) -> Iterator[str]:
    """For each result the path of what it was before it was rounded."""
    for path, _ in _find_tensors(call["out"]):
        yield f"{path}.before rounding".removeprefix(".")


def _wrap_params(params: Arguments) -> Iterator[tuple[str, Struct]]:
    """Constructor parameters as structures: their lists are bare JSON lists."""
    for name, value in params.items():
        yield name, {"list": value} if isinstance(value, list) else value


def _encode_arguments(args: Sequence[Argument]) -> list[Argument]:
    """Defaults that a signature filled in, as a step holds them."""
    return [list(arg) if isinstance(arg, tuple) else mark_number(arg) for arg in args]


def _make_constant(items: list[Struct]) -> Argument:
    """A list inside an index: an array of integers or bools."""

    def unwrap(struct: Struct) -> object:
        if isinstance(struct, dict):
            if "list" not in struct:
                raise Unsupported("an index that mixes numbers and tensors")
            return [unwrap(item) for item in struct["list"]]
        return struct

    values = [unwrap(item) for item in items]
    return {"list": values, "kind": "bool" if np.asarray(values).dtype == np.bool_ else "int64"}


def list_given_values(run: Run) -> dict[str, int]:
    """The value numbers of all inputs, parameters and buffers by port."""
    inputs = {f"input:{path}": leaf["tensor"]
              for name, struct in run["inputs"] for path, leaf in _find_tensors(struct, name)}  # fmt: skip
    parameters = {f"param:{name}": number for name, number in run["params"].items()}
    return {**inputs, **parameters, **{f"buffer:{name}": number for name, number in run["buffers"].items()}}


def _find_tensors(struct: Struct, path: str = "") -> Iterator[tuple[str, Tree]]:
    """The tensor leaves of a structure with their dotted paths, in order."""
    leaves: list[tuple[str, Struct]] = recorded.leaves(struct)
    for below, leaf in leaves:
        if isinstance(leaf, dict) and "tensor" in leaf:
            yield ".".join(part for part in (path, below) if part), leaf


def _require_tensor(struct: Struct) -> int:
    """The number of a tensor's value; Unsupported for anything else."""
    if not isinstance(struct, dict) or "tensor" not in struct:
        raise Unsupported("a change of dtype of something that is not a tensor")
    return struct["tensor"]


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
