"""Torch's own operations (`aten`) by the rows of the table: what a call that cannot be looked into did inside."""

from __future__ import annotations

from lessonpress.worker.records import InsideStep, Struct

NAMES = {
    "_softmax": "softmax", "_log_softmax": "log_softmax", "_unsafe_view": "reshape", "view": "reshape",
    "_reshape_alias": "reshape", "detach": "alias", "lift_fresh": "alias", "squeeze_": "squeeze",
    "unsqueeze_": "unsqueeze", "unsafe_split": "split", "linalg_vector_norm": "norm", "_to_copy": "to",
}  # fmt: skip
REDUCTIONS: tuple[Struct, ...] = ("none", "mean", "sum")
OPTIONS = frozenset(["layout", "device", "pin_memory", "memory_format", "dtype", "non_blocking"])
END = 1 << 62  # from here on an end of a slice means the end


def name_step(step: InsideStep) -> tuple[str, list[Struct], dict[str, Struct]]:
    """The name by which the table knows a step, and its arguments in torch's public order."""
    name, args, kwargs = step["op"], list(step["args"]), dict(step["kwargs"])
    kwargs = {key: value for key, value in kwargs.items() if key not in OPTIONS or isinstance(value, bool)}
    if name in ("_softmax", "_log_softmax"):
        args = args[:2]
    if name in ("mse_loss", "mse_loss_backward"):
        at = 2 if name == "mse_loss" else 3
        args, kwargs = args[:at], {"reduction": REDUCTIONS[_whole(args[at]) if len(args) > at else 1]}
    if name == "slice":
        given: list[Struct] = [*args[1:], *[0, None, None, 1][len(args) - 1 :]]
        dim, start, end, step_by = given
        end = None if isinstance(end, int) and end >= END else end
        whole: Struct = {"slice": [None, None, None]}
        return "getitem", [args[0], {"tuple": [*[whole] * _whole(dim), {"slice": [start, end, step_by]}]}], {}
    if name == "index":
        parts: list[Struct] = args[1]["list"] if isinstance(args[1], dict) else []
        return "getitem", [args[0], {"tuple": [{"slice": [None, None, None]} if part is None else part
                                               for part in parts]}], {}  # fmt: skip
    if name == "_cdist_forward":
        return "cdist", args[:3], {}
    if name == "scalar_tensor" and "float" in str(step["kwargs"].get("dtype")):
        args = [float(value) if isinstance(value, int) else value for value in args[:1]]
    if name == "new_empty_strided":
        return "new_empty", args[:2], {}
    if name in ("view", "_unsafe_view", "expand", "_reshape_alias"):
        args = args[:2]
    return NAMES.get(name, name), args, {key: value for key, value in kwargs.items() if key not in OPTIONS}


def _whole(value: Struct) -> int:
    return value if isinstance(value, int) else 0
