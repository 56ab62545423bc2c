"""A program of table operations and how it is run: the Python half of interpreter.js.

Values live in numbered slots. View operations leave arrays that share memory in their slots and in-place operations
write into that memory, so every later reader sees the writes, as in torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypeAlias, TypedDict

import numpy as np

from lessonpress.replay.operations.kinds import Array, Unsupported, settle
from lessonpress.replay.operations.table import TABLE, Bound, perform

# What a step holds of a recorded argument: plain JSON in which a mapping says its kind by its key (`slot`, `float`,
# `dtype`, `slice`, `list` with its `kind`, `dict`, `ellipsis`); `decode` reads it, and so does interpreter.js.
Argument: TypeAlias = Any
Marked: TypeAlias = Any  # a plain value; a number that JavaScript could not tell from an integer is {"float": text}
GIVEN = frozenset(["input", "param", "buffer", "draw", "kept"])  # the kinds of ports that a run is given
BEYOND = 2**53  # from here on a JavaScript number skips integers


class StepDocument(TypedDict):
    """A step as JSON; `out` pairs slots with shapes."""

    layer: str
    op: str
    args: list[Argument]
    out: list[tuple[int, list[int]]]
    inplace: NotRequired[bool]
    guard: NotRequired[list[Marked]]
    within: NotRequired[float]


class ProgramDocument(TypedDict):
    """A program as JSON for interpreter.js, with the names of the kernels that it needs."""

    ports: list[str]
    operations: list[str]
    steps: list[StepDocument]


@dataclass(frozen=True)
class Step:
    """One operation of a program; `args` are JSON in which `{"slot": n}` stands for an array."""

    call: int  # the number of the recorded call
    layer: str  # the call's id in the graph
    operation: str  # a row of the table
    args: tuple[Argument, ...]
    out: tuple[tuple[int, tuple[int, ...]], ...]  # slot and shape of each array that comes out
    inplace: bool = False
    guard: Sequence[Marked] | None = None  # plain values that left the tensors for Python: they must stay as they were
    within: float = 0.0  # how far a guarded number may be off

    def document(self) -> StepDocument:
        """The step as JSON for interpreter.js."""
        document: StepDocument = {"layer": self.layer, "op": self.operation, "args": list(self.args),
                                  "out": [(slot, list(shape)) for slot, shape in self.out]}  # fmt: skip
        if self.inplace:
            document["inplace"] = True
        if self.guard is not None:
            document["guard"], document["within"] = list(self.guard), self.within
        return document


@dataclass(frozen=True)
class Program:
    """What a run did, step by step, so that it can be done again with other inputs.

    `ports` names every slot: `input:state`, `param:head.weight`, `buffer:mask`, and `7:` or `7:1.0` for the outputs
    of the recorded call number 7.
    """

    ports: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def operations(self) -> tuple[str, ...]:
        """The kernels that the program needs: rows of the table, and `guard`, which holds a step to plain values."""
        guards = {"guard"} if any(step.guard is not None for step in self.steps) else set[str]()
        return tuple(sorted({step.operation for step in self.steps} | guards))

    def document(self) -> ProgramDocument:
        """The program as JSON for interpreter.js, with the kernels that it needs."""
        return {
            "ports": list(self.ports),
            "operations": list(self.operations),
            "steps": [step.document() for step in self.steps],
        }


def mark_number(value: object) -> Marked:
    """A plain value as a step holds it: floats that are whole or not finite are marked, as JavaScript has one 2."""
    if isinstance(value, float) and (value.is_integer() or not np.isfinite(value)):
        return {"float": repr(value).replace("inf", "Infinity").replace("nan", "NaN")}
    return value


def decode(arg: Argument, slots: Mapping[int, Array]) -> Any:
    """An argument of a step as its kernel takes it."""
    if isinstance(arg, list):
        return [decode(part, slots) for part in arg]
    if not isinstance(arg, dict):
        return arg
    if "slot" in arg:
        return slots[arg["slot"]]
    if "float" in arg:
        return float(arg["float"])
    if "dtype" in arg:
        return arg["dtype"]
    if "slice" in arg:
        return slice(*(decode(part, slots) for part in arg["slice"]))
    if "list" in arg:
        return np.asarray(arg["list"], dtype=np.bool_ if arg["kind"] == "bool" else np.int64)
    if "dict" in arg:
        return {key: decode(part, slots) for key, part in arg["dict"].items()}
    return Ellipsis


def leaves(result: Any) -> list[Array]:
    """The arrays in a kernel's nested result, in order."""
    if result is None:
        return []
    return [leaf for part in result for leaf in leaves(part)] if isinstance(result, list) else [result]


def run_step(step: Step, slots: dict[int, Array]) -> None:
    """Run one step on the arrays in `slots` and put what comes out there.

    Raises Unsupported where the kernel does, where a shape is another than the recorded one, and where a value by
    which the model decided has changed.
    """
    args = decode(list(step.args), slots)
    results = leaves(perform(Bound(TABLE[step.operation], tuple(args), step.inplace), args))
    if step.guard is not None:
        _require_guard(step, step.guard, results)
    if step.out and len(results) != len(step.out):
        raise Unsupported(f"gives {len(results)} arrays, {len(step.out)} were recorded")
    for (slot, shape), array in zip(step.out, results, strict=False):
        if array.shape != shape:
            raise Unsupported(f"gives shape {list(array.shape)}, {list(shape)} was recorded")
        unwritten = step.operation in ("empty", "empty_like", "new_empty")
        if array.dtype.kind == "i" and not unwritten and array.size and np.abs(array).max() > BEYOND:
            raise Unsupported("an integer beyond 2**53")
        slots[slot] = array


def _require_guard(step: Step, guard: Sequence[Marked], results: list[Array]) -> None:
    """Unsupported when a value that the model read out is another than the recorded one."""
    held = np.asarray([decode(part, {}) for part in guard], dtype=np.float64)
    seen = np.concatenate([x.reshape(-1) for x in results]).astype(np.float64) if results else held[:0]
    if seen.shape != held.shape or not np.allclose(seen, held, rtol=step.within, atol=step.within, equal_nan=True):
        raise Unsupported("what Python reads here is another than the recorded one")


def run_program(program: Program, inputs: Mapping[str, Array], tensors: Mapping[str, Array]) -> dict[str, Array]:
    """Do a recorded run again with other numbers.

    `inputs` holds arrays by the path of the input's leaf (`state`, `batch.image`), `tensors` parameters and buffers by
    name. Gives a copy of every port's value when it arose, all float64, int64 or bool.
    Raises Unsupported when the program does not hold for these inputs, KeyError for an input that is missing.
    """
    slots: dict[int, Array] = {}
    values: dict[str, Array] = {}
    for slot, port in enumerate(program.ports):
        kind, _, name = port.partition(":")
        if kind in GIVEN:
            slots[slot] = settle((inputs if kind == "input" else tensors)[name]).copy()
            values[port] = slots[slot].copy()
    for step in program.steps:
        run_step(step, slots)
        values |= {program.ports[slot]: slots[slot].copy() for slot, _ in step.out}
    return values
