"""What torch rounds: results in float32 or half precision inside a run of wider numbers; and what it wraps around.

Both interpreters compute in float64. Where a run has results of a narrower dtype, each is rounded to it, as torch does.
Of some operations that gives torch's very bits (`is_exact`); others torch computes in a way of its own, and the last
digit of a rounded result may be another one. Such numbers are *rough*, and so is all that is computed from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lessonpress.replay.operations.interpreter import Step
from lessonpress.replay.operations.kinds import RANGES, round_to
from lessonpress.replay.operations.table import Bound

HALF = frozenset(["float16", "bfloat16"])
# One correctly rounded step each, or none: the float64 result, rounded once more, is the narrow one.
EXACT = frozenset([
    "add", "sub", "mul", "div", "neg", "abs", "sqrt", "square", "maximum", "minimum", "fmax", "fmin", "clamp", "relu",
    "where", "masked_fill", "sign", "floor", "ceil", "trunc", "round",
])  # fmt: skip
# These round what they write, and compute nothing.
WRITING = frozenset([
    "cast", "rounded", "copy", "fill", "zero", "full", "zeros", "ones", "full_like", "zeros_like", "ones_like",
    "new_full", "new_zeros", "new_ones", "tensor", "new_tensor", "setitem",
])  # fmt: skip
# Of these, whole numbers may grow beyond what a double holds exactly.
GROWING = frozenset([
    "add", "sub", "mul", "pow", "square", "sum", "cumsum", "prod", "cumprod", "matmul", "mm", "bmm", "dot",
    "bitwise_left_shift", "addcmul",
])  # fmt: skip
MOVES = frozenset([
    "alias", "clone", "contiguous", "rounded", "wrapped", "cast", "amax", "amin", "max", "min", "sort", "topk",
    "tolist",
])  # fmt: skip


def is_narrow(dtype: str, run: str) -> bool:
    """Whether results of a dtype are to be rounded in a run: halves always, float32 where the run is float64."""
    return dtype in HALF or (dtype == "float32" and run == "float64")


def moves(bound: Bound) -> bool:
    """Whether an operation only moves numbers, which are rounded already."""
    row = bound.operation
    if bound.inplace or row.writes:
        return False
    return row.view or row.name in MOVES or (row.family in ("shapes", "indexing") and row.name != "pad")


def is_exact(bound: Bound, args: Sequence[Any], given: Sequence[str], dtype: str) -> bool:
    """Whether the float64 result of a step, rounded to `dtype`, has torch's very bits; `given` are its arrays' dtypes.

    It has where the operation is one rounding of the exact result, and its operands fit into the narrow dtype: torch
    computes halves in float32, which is wide enough for that, and rounds a number of Python's to the dtype first.
    """
    if moves(bound):
        return True
    name, named = bound.operation.name, dict(zip(bound.operation.parameters, args, strict=True))
    options = named.get("alpha", 1) != 1 or named.get("rounding_mode") is not None or named.get("decimals", 0) != 0
    if name not in EXACT | WRITING or options:
        return False
    if name in WRITING:
        return True
    fits = {dtype, "bool", *(HALF if dtype == "float32" else ())}
    plain = _list_plain(list(args))
    return all(each in fits for each in given) and all(float(round_to(value, dtype)) == value for value in plain)


def _list_plain(args: Any) -> list[Any]:
    """The numbers among a step's arguments."""
    if isinstance(args, list | tuple):
        return [plain for arg in args for plain in _list_plain(arg)]
    if isinstance(args, dict):
        return [float(args["float"])] if "float" in args else []
    return [args] if isinstance(args, int | float) else []


def is_small(dtype: str) -> bool:
    """Whether whole numbers of a dtype wrap around within what both interpreters hold exactly."""
    return dtype in RANGES and dtype != "int64"


def make_step(step: Step, slot: int, dtype: str, out: tuple[tuple[int, tuple[int, ...]], ...], inplace: bool) -> Step:
    """The step that rounds what `step` has put into a slot, or wraps it around."""
    name = "wrapped" if is_small(dtype) else "rounded"
    return Step(step.call, step.layer, name, ({"slot": slot}, {"dtype": dtype}), out, inplace)
