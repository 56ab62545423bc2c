"""How operations are called: torch's methods' names, and which calls are no operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

# Questions about a tensor: no numbers flow out of them into another tensor.
QUESTIONS = frozenset({
    "size", "dim", "numel", "nelement", "ndimension", "stride", "storage_offset", "data_ptr", "element_size", "__len__",
    "is_floating_point", "is_complex", "is_contiguous", "is_signed", "__repr__", "__format__", "__hash__", "get_device",
    "requires_grad_", "retain_grad", "register_hook", "untyped_storage", "storage", "is_inference", "is_pinned",
    "has_names", "is_tensor", "__dir__", "__reduce_ex__", "__iter__", "numpy", "__array__", "__dlpack__",
    "__dlpack_device__", "is_same_size", "is_set_to", "is_shared", "backward", "_is_view",
})  # fmt: skip
# These hand out the memory itself: it may change without torch knowing.
EXPOSING = frozenset({"numpy", "__array__", "__dlpack__", "data_ptr", "untyped_storage", "storage"})
# With these the numbers themselves leave for Python, which may decide by them; the last two only make text of them.
LEAVING = frozenset({"numpy", "__array__", "__dlpack__", "untyped_storage", "storage", "__repr__", "__format__"})
TEXT = frozenset({"__repr__", "__format__"})
# These write all of their first argument and read none of it.
OVERWRITING = frozenset({
    "copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "geometric_", "cauchy_",
    "log_normal_", "set_", "data_",
})  # fmt: skip
# These change their running figures without torch counting a write.
SILENT = frozenset({"batch_norm", "instance_norm", "native_batch_norm"})
# A number goes from a tensor to Python, where a branch may depend on it: recorded, though no node of the graph.
READS = frozenset({
    "item", "tolist", "__bool__", "__float__", "__int__", "__index__", "is_nonzero", "__nonzero__", "__complex__",
    "__long__", "equal", "allclose", "__contains__",
})
# Of these, floats come to Python that can be followed further (`watched_number`).
FOLLOWED = frozenset({"item", "tolist", "__float__"})  # fmt: skip
SPELLED = {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__idiv__": "div_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__ipow__": "pow_", "__iand__": "bitwise_and_",
    "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_", "__imatmul__": "matmul_", "__truediv__": "div",
    "__div__": "div", "__floordiv__": "floor_divide", "__mod__": "remainder", "__pos__": "positive",
    "__invert__": "bitwise_not", "__and__": "bitwise_and",
    "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift", "__ilshift__": "bitwise_left_shift_", "__irshift__": "bitwise_right_shift_",
}  # fmt: skip
REFLECTED = {
    "__radd__": "add", "__rsub__": "sub", "__rmul__": "mul", "__rdiv__": "div", "__rtruediv__": "div",
    "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rpow__": "pow", "__rmatmul__": "matmul",
    "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__rlshift__": "bitwise_left_shift",
    "__rrshift__": "bitwise_right_shift", "rsub": "sub",
}  # fmt: skip


def name_operation(func: Callable[..., Any]) -> tuple[str, bool]:
    """An operation's published name (a torch method's), and whether its operands stand reflected."""
    name = getattr(func, "__name__", type(func).__name__)
    if name in ("__get__", "__set__"):
        owner = getattr(getattr(func, "__self__", None), "__name__", name)
        return (owner if name == "__get__" else f"{owner}_"), False
    if name in REFLECTED:
        return REFLECTED[name], True
    if isinstance(func, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        name = name.split(".")[0].split("::")[-1]
    return SPELLED.get(name, name.strip("_") if name.startswith("__") else name), False
