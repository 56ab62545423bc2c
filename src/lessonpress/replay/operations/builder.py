"""Builds a program from the calls of a recorded run while it carries them out and compares them with the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from lessonpress.replay.operations import inside, kept, precision, python_numbers
from lessonpress.replay.operations.call_rows import CallRows, encode_arguments, require_tensor
from lessonpress.replay.operations.interpreter import Argument, Program, Step
from lessonpress.replay.operations.kinds import Follows, Unsupported, settle
from lessonpress.replay.operations.slots import find_tensors, list_slots, measure_difference
from lessonpress.replay.operations.table import Bound
from lessonpress.worker.records import Call, Struct, Tree

REPLAY_ERRORS = (Unsupported, ValueError, TypeError, IndexError, KeyError, ZeroDivisionError, OverflowError,
                 MemoryError, NotImplementedError, AttributeError, np.exceptions.AxisError)  # fmt: skip


@dataclass
class Builder(CallRows):
    """Builds a program call by call while it carries it out on the recorded inputs."""

    uncovered: list[str] = field(default_factory=list)
    blocking: list[str] = field(default_factory=list)  # of those, what may decide how the rest runs
    fixed: set[int] = field(default_factory=set)  # calls that give the same for every input
    shifted: bool = False  # a draw before may have taken another number of random numbers
    rough: set[int] = field(default_factory=set)  # slots that a narrower dtype rounded in a way of its own
    vague: dict[str, str] = field(default_factory=dict)  # ports that are rough, though their own dtype is wider

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
            why = str(error) if isinstance(error, Unsupported) else "it is called in a way that pages do not know"
            if kept.base_name(call) in kept.GRADIENTS:
                why = "the gradient needs what torch computes inside, and a page cannot repeat all of that"
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
        return [leaf for _, leaf in find_tensors(struct) if self.run["values"][leaf["tensor"]]["dtype"] == "bool"]

    def _reshapes(self, call: Call) -> bool:
        """Whether a call gives an array of a shape that none of its arguments has."""
        values = self.run["values"]
        shapes = [values[leaf["tensor"]]["shape"] for arg in call["args"] for _, leaf in find_tensors(arg)]
        return any(values[leaf["tensor"]]["shape"] not in shapes for _, leaf in kept.list_result_paths(call))

    def _watch_finite(self, call: Call) -> bool:
        """Let the program stop where an argument is not finite; whether it knows all of them."""
        try:
            for arg in call["args"]:
                for _, leaf in find_tensors(arg):
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
        number_of_value = require_tensor(result)
        arisen: Struct = {"dict": [["result", {"tensor": number_of_value}]]}
        self._repeat(number, {**call, "kwargs": {k: v for k, v in call["kwargs"].items() if k != "out"}, "out": arisen})
        read: Struct = {"tensor": number_of_value, "from": [[number, "result"]]}
        self._repeat(number, {**call, "op": "torch.copy_", "args": [target, read], "kwargs": {}})

    def _repeat(self, number: int, call: Call) -> None:
        """Make a call's step, carry it out and compare what comes out."""
        if python_numbers.gives_nothing(call):
            return
        bound = self._renormed(number, call, self._bound(call))
        name, args = bound.operation.name, encode_arguments(self._with_numbers(number, call, bound))
        ports = [f"{number}:{path}" for path, _ in find_tensors(call["out"])]
        outputs = [(self._slot(port), leaf) for port, (_, leaf) in zip(ports, find_tensors(call["out"]), strict=True)]
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


def _name_unrounded(call: Call) -> Iterator[str]:
    """For each result the path of what it was before it was rounded."""
    for path, _ in find_tensors(call["out"]):
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


def _require_leaf(struct: Struct) -> Tree:
    """The tensor that an argument is."""
    if not isinstance(struct, dict) or "tensor" not in struct:
        raise Unsupported("something that is not a tensor is written")
    return struct
