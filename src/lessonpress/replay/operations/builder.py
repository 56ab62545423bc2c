"""Builds a program from the calls of a recorded run while it carries them out and compares them with the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lessonpress.replay.operations import complex_numbers, inside, kept, precision, python_numbers
from lessonpress.replay.operations.interpreter import Argument, Program, Step, mark_number, run_step
from lessonpress.replay.operations.kinds import Array, Follows, Unsupported, kind, settle
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
_FUNCTIONS = {"Dropout": "dropout", "Dropout1d": "dropout1d", "Dropout2d": "dropout2d", "Dropout3d": "dropout3d",
              "AlphaDropout": "alpha_dropout"}  # fmt: skip
# A layer that needs to know nothing of its module but its weights, which the call names.
UNREGISTERED: Module = {"class": "", "leaf": True, "parent": None, "params": {}, "source": None, "aliases": [],
                        "training": False, "parameters": {}, "buffers": {}}  # fmt: skip
# The steps after 1 of a dtype, which rms_norm adds where it is given no other number.
SMALLEST = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}
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
    blocking: list[str] = field(default_factory=list)  # of those, what may decide how the rest runs
    fixed: set[int] = field(default_factory=set)  # calls that give the same for every input
    number: int = 0  # of the call that is repeated now
    shifted: bool = False  # a draw before may have taken another number of random numbers
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
        """What was built, without the ports of calls that are not repeated."""
        used = {slot for step in self.steps for slot in (*list_slots(list(step.args)), *(out for out, _ in step.out))}
        if not self.lost and len(used) == len(self.ports):
            return Program(tuple(self.ports), tuple(self.steps))
        numbers = {slot: number for number, slot in enumerate(sorted(used))}
        ports = tuple(port for port, slot in self.ports.items() if slot in used)
        return Program(ports, tuple(_renumber_step(step, numbers) for step in self.steps))

    def add(self, number: int, call: Call) -> None:
        """Repeat one call; what goes wrong is noted and everything that reads from it is lost too."""
        self.number = number
        if call.get("raised"):
            if kept.may_raise(call) and not kept.is_fixed(call, self.fixed):
                self._block(number, call, "the model goes on after an error, and a page cannot tell when it arises")
            return
        drawn_after = self.shifted and kept.is_draw(call)
        fixed = not drawn_after and kept.is_fixed(call, self.fixed)
        before = len(self.steps)
        try:
            if call["kind"] == "outside":
                raise Unsupported("a tensor comes from outside the recorded operations")
            if drawn_after:
                raise Unsupported("random numbers are drawn after others whose count depends on the data")
            if isinstance(call["kwargs"].get("out"), dict):
                self._repeat_into(number, call)
            else:
                self._repeat(number, call)
                if fixed and self._strays(number, call):
                    raise Unsupported("its last digits are torch's own")
        except REPLAY_ERRORS as error:
            del self.steps[before:]
            nothing = fixed and not kept.list_result_paths(call)  # that the same is decided for every input
            if not (nothing or (fixed and self._keep(number, call)) or self._open(number, call)):
                self._lose(number, call, error)
        if fixed:
            self.fixed.add(number)
        elif call.get("left"):
            self._block(number, call, "numbers leave for Python while it runs, and may decide what follows")
        self.shifted = self.shifted or (not fixed and kept.shifts_draws(call))

    def _strays(self, number: int, call: Call) -> bool:
        """Whether numbers that are the same for every input came out other than recorded: the record is right."""
        slots = [(self.ports.get(f"{number}:{path}"), leaf) for path, leaf in kept.list_result_paths(call)]
        return any(slot in self.slots and self.limits[slot] > self.limit
                   and measure_difference(self.slots[slot], settle(self.array(leaf["tensor"]))) > self.limit
                   for slot, leaf in slots if slot is not None)  # fmt: skip

    def _block(self, number: int, call: Call, why: str) -> None:
        """Note that a call may decide about the rest of the run in a way that cannot be watched."""
        self.lost[number] = call["layer"]
        self.blocking.append(kept.tell_reason(call, why))
        if self.blocking[-1] not in self.uncovered:
            self.uncovered.append(self.blocking[-1])

    def _lose(self, number: int, call: Call, error: Exception) -> None:
        """Note a call that is not repeated, and why, unless it only follows from another."""
        self.lost[number] = call["layer"]
        if not isinstance(error, Follows):
            why = str(error) if isinstance(error, Unsupported) else "it is called in a way that the table does not know"
            self.uncovered.append(kept.tell_reason(call, why))
        if why := self._blocks(call):
            self.blocking.append(kept.tell_reason(call, why))

    def _blocks(self, call: Call) -> str:
        """Why a call that is not repeated may decide about the rest of the run, or empty words."""
        results, name = kept.list_result_paths(call), kept.base_name(call)
        if (call["kind"] == "op" and not results) or name in kept.CALLING:
            return "the model decides by numbers that a page cannot compute"
        masks = [leaf for struct in call["args"][1:] for leaf in self._list_masks(struct)]
        reshapes = call.get("unseen") and self._reshapes(call)
        if name in kept.SHAPED_BY_NUMBERS or (name == "getitem" and masks) or reshapes:
            return "the shape of what it gives depends on numbers that a page cannot compute"
        if name in kept.RAISING or (name in kept.FINITE and not self._watch_finite(call)):
            return "it raises an error for some numbers, and a page cannot tell which"
        return ""

    def _list_masks(self, struct: Struct) -> list[Tree]:
        """The tensors of bools in an index."""
        return [leaf for _, leaf in _find_tensors(struct) if self.run["values"][leaf["tensor"]]["dtype"] == "bool"]

    def _reshapes(self, call: Call) -> bool:
        """Whether a call gives an array of a shape that none of its arguments has."""
        values = self.run["values"]
        shapes = [values[leaf["tensor"]]["shape"] for arg in call["args"] for _, leaf in _find_tensors(arg)]
        return any(values[leaf["tensor"]]["shape"] not in shapes for _, leaf in kept.list_result_paths(call))

    def _watch_finite(self, call: Call) -> bool:
        """Let the program stop where an argument is not finite; whether it knows all of them."""
        try:
            for arg in call["args"]:
                for _, leaf in _find_tensors(arg):
                    step = Step(-1, call["layer"], "all_finite", ({"slot": self._read(leaf)},), (), False, [True])
                    self._do(step)
        except REPLAY_ERRORS:
            return False
        return True

    def _open(self, number: int, call: Call) -> bool:
        """Repeat a call by torch's own operations inside it; whether that can be."""
        results, before = kept.list_result_paths(call), len(self.steps)
        if not results or {path for path, _ in results} - call.get("given", {}).keys():
            return False
        try:
            for at, step in enumerate(call["steps"]):
                name, args, kwargs = inside.name_step(step)
                out: Struct = {"dict": [[f"step {at}", step["out"]]]}
                self._repeat(number, {**call, "op": f"torch.{name}", "kind": "op", "args": args, "kwargs": kwargs,
                                      "out": out, "draws": []})  # fmt: skip
            for path, leaf in results:
                source, out_slot = self._source(number, call["given"][path]), self._slot(f"{number}:{path}")
                self._do(Step(number, call["layer"], "alias", ({"slot": source},), self._out([(out_slot, leaf)])))
                self.limits[out_slot], self.dtypes[out_slot] = self.limits[source], self._dtype(leaf)
                self.varying |= {out_slot} if source in self.varying else set()
                self.rough |= {out_slot} if source in self.rough else set()
                self._compare(out_slot, leaf["tensor"])
        except REPLAY_ERRORS:
            del self.steps[before:]
            return False
        return True

    def _keep(self, number: int, call: Call) -> bool:
        """Take what a call gave as it was recorded, since no input reaches it; whether that can be."""
        results = kept.list_result_paths(call)
        if not results or kept.base_name(call) in kept.VIEWS:
            return False
        writes = call["kind"] == "op" and call["op"].endswith("_")
        try:
            for path, leaf in results:
                port = kept.name_port(number, call, path)
                source = {"slot": self._source(*port.split(":", 1))}
                out = self._out([(self._slot(f"{number}:{path}"), leaf)])
                if writes:
                    target = {"slot": self._read(_require_leaf(call["args"][0]))}
                    self._do(Step(number, call["layer"], "copy", (target, source), out, True))
                else:
                    self._do(Step(number, call["layer"], "kept", (source,), out))
                self.limits[out[0][0]], self.dtypes[out[0][0]] = self.limit, self._dtype(leaf)
        except REPLAY_ERRORS:
            return False
        return True

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
        return tuple((slot, self._shape(leaf)) for slot, leaf in outputs)

    def _shape(self, leaf: Tree) -> tuple[int, ...]:
        """The shape in which a recorded value is replayed: complex numbers are pairs."""
        value = self.run["values"][leaf["tensor"]]
        return (*value["shape"], *([2] if value["dtype"].startswith("complex") else []))

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
        if call["op"] == "torch.data_":  # the tensor looks at other memory from now on
            return resolve("alias", [self._encode(call["args"][1])], {})
        if plain_name(call["op"]) in CASTS and call["kind"] == "op" and not python_numbers.leaves_tensors(call):
            return self._converted(call, [self._encode(call["args"][0])], {"copy": call["kwargs"].get("copy")})
        args = [self._encode(arg) for arg in call["args"]]
        kwargs = {k: self._encode(v) for k, v in call["kwargs"].items() if k not in WITHOUT_EFFECT}
        if call["kind"] == "layer" and not call.get("draws"):
            return self._layer(call, args, kwargs)
        name = plain_name(call["op"])
        if call.get("draws"):
            return self._drawn(call, args, kwargs)
        if python_numbers.leaves_tensors(call):
            return resolve(python_numbers.name_step(call, self.slots, args), args[:1], {})
        if (own := python_numbers.name_arithmetic(call)) is not None:
            return resolve(own, args, kwargs)
        if self._is_complex(call):
            return self._bind_complex(name, call, args, kwargs)
        if name in CASTS | SAME:
            return self._converted(call, args, kwargs)
        if name == "rms_norm" and (args[3] if len(args) > 3 else kwargs.get("eps")) is None:
            args, kwargs = args[:3], {**kwargs, "eps": SMALLEST.get(self.dtypes[list_slots(args[:1])[0]])}
        if name in ("getitem", "setitem"):
            args[1:2] = [self._index(call["args"][1])]
        return resolve(name, args, kwargs)

    def _is_complex(self, call: Call) -> bool:
        """Whether a call reads or gives complex numbers."""
        structs = [*call["args"], *call["kwargs"].values(), call["out"]]
        return any(self._dtype(leaf).startswith("complex") for struct in structs for _, leaf in _find_tensors(struct))

    def _bind_complex(self, name: str, call: Call, args: list[Argument], kwargs: dict[str, Argument]) -> Bound:
        """The row that computes with pairs what torch computes with complex numbers."""
        if name == "getitem":
            args[1:2] = [self._index(call["args"][1])]

        def is_complex(arg: Argument) -> bool:
            return isinstance(arg, dict) and "slot" in arg and self.dtypes[arg["slot"]].startswith("complex")

        def shape_of(arg: Argument) -> tuple[int, ...]:
            return self.slots[arg["slot"]].shape[: -1 if is_complex(arg) else None]

        def convert(row: str, arg: Argument) -> Argument:
            slot = self._slot(f"{self.number}:{len(self.ports)}.as pairs")
            shape = self.slots[arg["slot"]].shape
            more = (*shape, 2) if row == "complex_from" else (*shape, 1)
            rest = () if row == "complex_from" else (-1,)
            self._do(Step(self.number, call["layer"], row, (arg, *rest), ((slot, more),)))
            self.limits[slot], self.dtypes[slot] = self.limits[arg["slot"]], "complex128"
            if arg["slot"] in self.varying:
                self.varying.add(slot)
            return {"slot": slot}

        kwargs = {key: value for key, value in kwargs.items() if value is not None}
        return complex_numbers.bind_complex(name, args, kwargs, is_complex, shape_of, convert)

    def _drawn(self, call: Call, args: list[Argument], kwargs: dict[str, Argument]) -> Bound:
        """The row of an operation that is given the random numbers that it drew."""
        noise = {"slot": self._source(*kept.name_noise(self.number, call, 0).split(":", 1))}
        name = plain_name(call["op"])
        if call["kind"] == "layer":
            name, kwargs = _FUNCTIONS.get(name, name), {"p": self.modules[call["layer"]]["params"].get("p", 0.5)}
        writes = "_" if name.endswith("_") else ""
        first = args[0] if args else kwargs.pop("input")
        return resolve(f"{name.rstrip('_')}_drawn{writes}", [first, noise, *args[1:]], kwargs)

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
        module = self.modules.get(call["layer"]) or (UNREGISTERED if call["op"] == "Linear" else None)
        if module is None:
            raise Unsupported("its module is not registered, so nobody knows how it was made")
        weights = {name: {"slot": self._source(kind, full)}
                   for kind, names in (("param", module["parameters"]), ("buffer", module["buffers"]))
                   for name, full in names.items() if name not in call.get("beside", {})}  # fmt: skip
        weights |= {name: self._encode(struct) for name, struct in call.get("beside", {}).items()}
        params = {name: self._encode(value) for name, value in _wrap_params(module["params"])}
        extra = {"training": call.get("training", False), "dtype": self.run["dtype"]}
        row = TABLE.get(plain_name(call["op"]))
        params |= {name: value for name, value in extra.items() if row is not None and name in row.options}
        packed = bool(args) and isinstance(args[0], list)  # a packed sequence, in its parts
        args = [*args[0], *args[1:]] if packed else args
        bound = resolve_layer(f"Packed{call['op']}" if packed else call["op"], weights, params, args, kwargs)
        options = {name: mark_number(value) for name, value in bound.args[1].items()}
        return Bound(bound.operation, ({"dict": bound.args[0]}, {"dict": options}, *bound.args[2:]))

    def _converted(self, call: Call, args: list[Argument], kwargs: dict[str, Argument]) -> Bound:
        """A change of dtype, or of nothing that a replay knows, as the recorded dtypes tell."""
        results: list[Struct] = [leaf for _, leaf in _find_tensors(call["out"])]  # a step inside a call names it
        given, result = _require_tensor(call["args"][0]), _require_tensor(results[0] if results else None)
        before, after = self.run["values"][given]["dtype"], self.run["values"][result]["dtype"]
        for asked in (*call["args"][1:], *call["kwargs"].values()):
            if isinstance(asked, dict) and "dtype" in asked:
                kind(asked["dtype"])  # float8 … are recorded in a wider dtype, which does not say what was rounded
        if before != after and precision.is_narrow(after, self.run["dtype"]):
            return resolve("rounded", [args[0], {"dtype": after}], {})
        if before != after:
            small = precision.is_small(after) and before != "bool"
            return resolve("wrapped" if small else "cast", [args[0], {"dtype": after}], {})
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
        if "fields" in struct:
            return [self._encode(part) for _, part in struct["fields"]]
        if struct.keys() & {"ellipsis", "dtype", "float"}:
            return dict(struct)
        raise Unsupported("it is given something that is neither a tensor nor a number")

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


def _renumber_step(step: Step, numbers: Mapping[int, int]) -> Step:
    """A step with other numbers of slots."""
    args = tuple(_renumber(arg, numbers) for arg in step.args)
    return replace(step, args=args, out=tuple((numbers[slot], shape) for slot, shape in step.out))


def _renumber(arg: Argument, numbers: Mapping[int, int]) -> Argument:
    if isinstance(arg, list | tuple):
        return [_renumber(part, numbers) for part in arg]
    if not isinstance(arg, dict) or "list" in arg:
        return arg
    if "slot" in arg:
        return {"slot": numbers[arg["slot"]]}
    return {key: {name: _renumber(part, numbers) for name, part in value.items()} if key == "dict"
            else _renumber(value, numbers) for key, value in arg.items()}  # fmt: skip


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
    buffers = {f"buffer:{name}": number for name, number in run["buffers"].items()}
    return {**inputs, **parameters, **buffers, **kept.list_kept_values(run["calls"])}


def _find_tensors(struct: Struct, path: str = "") -> Iterator[tuple[str, Tree]]:
    """The tensor leaves of a structure with their dotted paths, in order."""
    leaves: list[tuple[str, Struct]] = recorded.leaves(struct)
    for below, leaf in leaves:
        if isinstance(leaf, dict) and "tensor" in leaf:
            yield ".".join(part for part in (path, below) if part), leaf


def _require_leaf(struct: Struct) -> Tree:
    """The tensor that an argument is."""
    if not isinstance(struct, dict) or "tensor" not in struct:
        raise Unsupported("something that is not a tensor is written")
    return struct


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
