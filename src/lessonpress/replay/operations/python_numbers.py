"""Numbers that went from a tensor to Python: as data that comes back into tensors, or to decide something.

The worker records both (`worker/watched_number.py`): a call whose result holds arrays of no axes gives numbers that are
data, a call whose result is plain values says that Python went on with just these, so they must stay (a *guard*).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lessonpress.replay.operations.interpreter import Marked, mark_number
from lessonpress.replay.operations.kinds import Array, Unsupported
from lessonpress.replay.operations.table import Operation, plain_name
from lessonpress.worker import recorded
from lessonpress.worker.records import Call, Struct

LEAVING = frozenset([
    "item", "tolist", "bool", "float", "int", "long", "index", "is_nonzero", "nonzero",
    "numpy", "array", "dlpack", "storage", "untyped_storage", "repr", "format",
])  # fmt: skip
WHOLE = frozenset(["int", "long", "index"])  # of a float, what is before the point
# Where a kernel takes an array in the place of a number: any operand, and the values of these.
OPERANDS = frozenset(["input", "other", "exponent", "end", "weight", "min", "max"])
VALUES = frozenset([
    ("fill", "value"), ("masked_fill", "value"), ("setitem", "value"), ("full", "fill_value"),
    ("full_like", "fill_value"), ("new_full", "fill_value"), ("tensor", "data"), ("new_tensor", "data"),
])  # fmt: skip


def gives_nothing(call: Call) -> bool:
    """Whether nothing came of a call: a Python number that nothing used, or a layer that only looks at its inputs."""
    if call["kind"] == "layer":
        return not any(_is_tensor(leaf) for _, leaf in recorded.leaves(call["out"]))
    return call["kind"] == "op" and call["out"] is None and not call["args"]


def leaves_tensors(call: Call) -> bool:
    """Whether a call hands a tensor's numbers to Python."""
    name = plain_name(call["op"]).strip("_")
    leaves = [leaf for _, leaf in recorded.leaves(call["out"])]
    gives_data = any(_is_number(leaf) for leaf in leaves) and name in ("item", "tolist", "float")
    gives_plain = name in LEAVING and not any(_is_tensor(leaf) for leaf in leaves)
    return call["kind"] == "op" and (gives_data or gives_plain)


def name_step(call: Call, slots: Mapping[int, Array], args: Sequence[object]) -> str:
    """The row that gives what Python got; raises Unsupported for more numbers than can be held to what they were."""
    leaves = [leaf for _, leaf in recorded.leaves(call["out"])]
    if any(_is_tensor(leaf) for leaf in leaves):
        return "tolist"
    if any(isinstance(leaf, dict) and "opaque" in leaf for leaf in leaves):
        raise Unsupported("hands more numbers to NumPy than a page can watch")
    given = args[0]
    floating = isinstance(given, dict) and slots[given["slot"]].dtype.kind == "f"
    return "trunc" if floating and plain_name(call["op"]).strip("_") in WHOLE else "alias"


def list_guarded(call: Call) -> list[Marked]:
    """The plain values with which Python went on."""
    return [mark_number(leaf) for _, leaf in recorded.leaves(call["out"])]


def name_arithmetic(call: Call) -> str | None:
    """The row of arithmetic that Python did and torch does otherwise: it raises where torch gives infinity."""
    name = plain_name(call["op"])
    if call["kind"] != "op" or name not in ("div", "pow") or not any(_is_number(arg) for arg in call["args"]):
        return None
    python = all(_is_number(arg) or isinstance(arg, int | float) for arg in call["args"]) and not call["kwargs"]
    return f"number_{name}" if python else None


def takes_number(row: Operation, parameter: str) -> bool:
    """Whether a row takes an array of no axes where torch was given a Python number."""
    return (row.family == "elementwise" and parameter in OPERANDS) or (row.name, parameter) in VALUES


def _is_number(struct: Struct) -> bool:
    return isinstance(struct, dict) and "number" in struct


def _is_tensor(struct: Struct) -> bool:
    return isinstance(struct, dict) and "tensor" in struct

