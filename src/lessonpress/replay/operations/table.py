"""The operation table: one row an operation, and how a call of torch finds its row.

A row's Python kernel states the parameters in torch's order with torch's defaults, so its signature is what turns
positional arguments into named ones. Its JavaScript kernel has the same name and the same order and stands in the
file beside (`reductions/kernels.py`, `reductions/kernels.js`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from typing import Any, TypeAlias

import numpy as np

from lessonpress.replay.operations.kinds import Array, Unsupported, settle, sized

Value: TypeAlias = Any  # what a kernel takes: an array, a plain value, nested lists of them, or how a step holds these
Named: TypeAlias = Mapping[str, Value]  # arguments by name
Kernel = Callable[..., Any]
Rewritten = tuple[str, list[Value], dict[str, Value]]


@dataclass(frozen=True)
class Operation:
    """One row: an operation or a leaf module, its parameters in torch's order and what it does to memory."""

    name: str
    kernel: Kernel = field(repr=False)
    parameters: tuple[str, ...]
    family: str
    view: bool = False  # the result shares memory with the first argument
    writes: bool = False  # the kernel itself writes into its first argument
    layer: bool = False  # a leaf module: its kernel takes weights and constructor parameters first
    variadic: str | None = None  # the parameter that takes all positional arguments from its place on
    options: Named = field(default_factory=dict)  # a leaf module's constructor defaults


@dataclass(frozen=True)
class Bound:
    """A call with its row: the arguments stand in the row's order, defaults filled in."""

    operation: Operation
    args: tuple[Any, ...]
    inplace: bool = False


TABLE: dict[str, Operation] = {}
ALIASES: dict[str, str] = {}
REWRITES: dict[str, Callable[..., Rewritten]] = {}
BROADCASTING: set[str] = set()  # families that compute element by element, on arrays of shapes that broadcast

RANDOM = frozenset(
    [
        "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "multinomial",
        "normal", "poisson", "uniform", "exponential", "geometric", "cauchy", "log_normal", "random", "dropout1d",
        "dropout2d", "dropout3d", "feature_dropout", "alpha_dropout", "native_dropout", "rrelu", "gumbel_softmax",
        "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout",
    ]
)
_NAMES = {"axis": "dim", "keepdims": "keepdim", "self": "input"}
WITHOUT_EFFECT = frozenset(
    [
        "device", "layout", "memory_format", "requires_grad", "pin_memory", "non_blocking", "generator",
        "_stacklevel", "sparse_grad",
    ]
)


def _family_of(kernel: Kernel) -> str:
    """The folder that holds a kernel: `elementwise` for `….operations.elementwise.kernels`."""
    return kernel.__module__.split(".")[-2]


def operation(
    name: str, *, view: bool = False, writes: bool = False, variadic: str | None = None
) -> Callable[[Kernel], Kernel]:
    """Enter a function as the numpy kernel of the operation `name`."""

    def enter(kernel: Kernel) -> Kernel:
        names = tuple(inspect.signature(kernel).parameters)
        family = _family_of(kernel)
        TABLE[name] = Operation(name, kernel, names, family, view=view, writes=writes, variadic=variadic)
        return kernel

    return enter


def layer(*, view: bool = False, writes: bool = False, **options: Any) -> Callable[[Kernel], Kernel]:
    """Enter a function `Class(w, p, input, …)` as a leaf module's kernel; `options` are the constructor's defaults.

    `w` maps the module's own names to weights, `p` the constructor's parameters to their values.
    """

    def enter(kernel: Kernel) -> Kernel:
        name, names = kernel.__name__, tuple(inspect.signature(kernel).parameters)
        family = _family_of(kernel)
        TABLE[name] = Operation(name, kernel, names, family, view=view, writes=writes, layer=True, options=options)
        return kernel

    return enter


def rewrite(name: str) -> Callable[[Callable[..., Rewritten]], Callable[..., Rewritten]]:
    """Enter a function that turns one of torch's overloads of `name` into the call of a row."""

    def enter(function: Callable[..., Rewritten]) -> Callable[..., Rewritten]:
        REWRITES[name] = function
        return function

    return enter


def plain_name(name: str) -> str:
    """An operation's name without torch's namespaces and in the spelling of its row."""
    for prefix in ("torch.", "nn_functional_", "special_"):
        name = name.removeprefix(prefix)
    return ALIASES.get(name, name)


def resolve(name: str, args: Sequence[Value], kwargs: Named) -> Bound:
    """Find the row of a call and put its arguments in the row's order.

    A name that ends in `_` is the plain operation whose result is then written into the first argument.
    Raises Unsupported when the table has no such row, the operation is random, or an argument is unknown.
    """
    name = plain_name(name)
    inplace = name.endswith("_") and not name.endswith("__")
    base = plain_name(name.removesuffix("_")) if inplace else name
    if base in RANDOM:
        raise Unsupported(f"{base} draws random numbers in a way that its result does not show")
    given, named = list(args), _tidy_arguments(kwargs)
    if base in REWRITES:
        base, given, named = REWRITES[base](given, named)
    row = TABLE.get(base)
    if row is None:
        raise Unsupported(f"pages do not know the operation {base}")
    return Bound(row, _bind_arguments(row, given, named), inplace and not row.view and not row.writes)


def _tidy_arguments(kwargs: Named) -> dict[str, Value]:
    """Named arguments in the table's spelling, without those that do not change a value."""
    kept = {_NAMES.get(k, k): v for k, v in kwargs.items() if k not in WITHOUT_EFFECT}
    if kept.get("out") is None:
        kept.pop("out", None)
    return kept


def _bind_arguments(row: Operation, args: list[Value], kwargs: dict[str, Value]) -> tuple[Value, ...]:
    """All arguments in the row's order; Unsupported when the kernel's signature does not take them."""
    if row.variadic is not None:
        at = row.parameters.index(row.variadic)
        rest = args[at:]
        if len(rest) > 1 or (rest and not isinstance(rest[0], list | tuple)):
            args = [*args[:at], rest]
    try:
        bound = _read_signature(row.kernel).bind(*args, **kwargs)
    except TypeError as error:
        raise Unsupported(f"pages do not know this way of calling {row.name}") from error
    bound.apply_defaults()
    return tuple(bound.arguments.values())


@cache
def _read_signature(kernel: Callable[..., Any]) -> inspect.Signature:
    """What a kernel takes; kept, because every call of every run needs it."""
    return inspect.signature(kernel)


@cache
def _list_names(kernel: Callable[..., Any]) -> tuple[str, ...]:
    """For each parameter of a kernel its name where it can only be given by name, else nothing."""
    parameters = _read_signature(kernel).parameters.values()
    return tuple(each.name if each.kind is inspect.Parameter.KEYWORD_ONLY else "" for each in parameters)


def perform(bound: Bound, args: Sequence[Any]) -> Any:
    """Run a row's numpy kernel on ready values: arrays, plain values, nested tuples of them.

    Results are float64, int64 or bool arrays (or nested lists of them); view operations share memory with their
    argument, in-place ones return the argument itself.
    """
    if bound.operation.family in BROADCASTING:
        _require_affordable(args)
    with np.errstate(all="ignore"):
        result = _settle_all(_call_kernel(bound.operation, args))
        if bound.inplace:
            np.copyto(args[0], result, casting="unsafe")
            return args[0]
    return result


def _require_affordable(args: Sequence[Any]) -> None:
    """Refuse (Unsupported) arrays that broadcast to something too large; arrays that do not are their kernel's."""
    shapes = [x.shape for x in args if isinstance(x, np.ndarray)]
    longest = [max(sizes) for sizes in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1)]
    sized(longest)


def _call_kernel(row: Operation, args: Sequence[Any]) -> Any:
    """Call a kernel by parameter name, so that keyword-only parameters may be among them."""
    given = list(zip(_list_names(row.kernel), args, strict=True))
    named = {name: value for name, value in given if name}
    return row.kernel(*(value for name, value in given if not name), **named)


def _settle_all(result: Any) -> Any:
    """A kernel's result with every number an array of one of the three kinds; None stays None."""
    if isinstance(result, list | tuple):
        return [_settle_all(part) for part in result]
    return None if result is None else settle(result)


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Find a row and run it at once: `call("add", x, y, alpha=2)`."""
    bound = resolve(name, args, kwargs)
    return perform(bound, bound.args)


def call_layer(name: str, weights: Mapping[str, Array], params: Named, *args: Value, **kwargs: Value) -> Any:
    """Run a leaf module's row: its weights by the module's own names, its constructor's parameters, its inputs."""
    bound = resolve_layer(name, weights, params, args, kwargs)
    return perform(bound, bound.args)


def resolve_layer(
    name: str, weights: Named, params: Named, args: Sequence[Value], kwargs: Named
) -> Bound:
    """Find a leaf module's row; `params` need only hold what differs from torch's defaults.

    Raises Unsupported when the table has no such leaf module or does not know one of its arguments.
    """
    if name in RANDOM:
        raise Unsupported(f"{name} draws random numbers in a way that its result does not show")
    row = TABLE.get(ALIASES.get(name, name))
    if row is None or not row.layer:
        raise Unsupported(f"pages do not know the layer {name}")
    return Bound(row, _bind_arguments(row, [dict(weights), {**row.options, **params}, *args], dict(kwargs)))
