"""Calls of torch for every row of the operation table, each with torch itself as the oracle."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn import functional


def floats(*shape: int, seed: int = 1, scale: float = 1.5) -> torch.Tensor:
    """Float64 numbers of both signs; `seed` tells one array from another."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64) * scale


def whole(*shape: int, seed: int = 1, low: int = -5, high: int = 6) -> torch.Tensor:
    """Integers between `low` and `high` (excluded)."""
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def truths(*shape: int, seed: int = 1) -> torch.Tensor:
    """Booleans."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) > 0.5


X, Y, Z = floats(2, 3, 4), floats(2, 3, 4, seed=2), floats(4, seed=3)
POSITIVE = X.abs() + 0.1
UNIT = torch.tanh(X)
N, M, NATURAL = whole(2, 3, 4), whole(2, 3, 4, seed=2), whole(2, 3, 4, seed=4, low=1, high=5)
B, C = truths(2, 3, 4), truths(2, 3, 4, seed=2)
ODD = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, 1.5, -2.5, 1e-300, 7.25], dtype=torch.float64)
SQUARE, LINE, IDS = floats(4, 4), floats(7), whole(2, 5, low=0, high=6)
GRID = torch.arange(60, dtype=torch.float64).reshape(3, 4, 5)
NO_WHOLE = slice(None)


@dataclass(frozen=True)
class Case:
    """One call: an operation's name, its arguments and what torch makes of them."""

    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    oracle: Callable[..., Any] | None = None

    def expected(self) -> Any:
        """What torch gives, by the function or method of that name."""
        args, kwargs = copied(self.args), copied(self.kwargs)
        if self.oracle is not None:
            return self.oracle(*args, **kwargs)
        for place in (functional, torch, torch.Tensor, torch.special, operator):
            if hasattr(place, self.op):
                return getattr(place, self.op)(*args, **kwargs)
        raise LookupError(self.op)


def copied(value: Any) -> Any:
    """A deep copy of arguments, so that in-place operations do not reach the originals."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: copied(part) for key, part in value.items()}
    return type(value)(copied(part) for part in value) if isinstance(value, list | tuple) else value


def case(op: str, *args: Any, oracle: Callable[..., Any] | None = None, **kwargs: Any) -> Case:
    """A case in one line."""
    return Case(op, args, kwargs, oracle)


def method(name: str) -> Callable[..., Any]:
    """The method of a tensor as an oracle."""
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def set_item(x: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
    """`x[index] = value` as an oracle."""
    x[index] = value
    return x


REAL = [
    "exp",
    "exp2",
    "expm1",
    "sin",
    "cos",
    "tan",
    "asinh",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "erf",
    "erfc",
    "sigmoid",
    "deg2rad",
    "rad2deg",
    "square",
]
ROUND = [
    "abs",
    "neg",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "frac",
    "round",
    "positive",
    "relu",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
]

ELEMENTWISE = [
    *[case(op, X) for op in REAL + ROUND],
    *[case(op, N) for op in REAL if op != "square"],
    *[
        case(op, N)
        for op in [
            "abs",
            "neg",
            "sign",
            "floor",
            "ceil",
            "trunc",
            "square",
            "positive",
            "relu",
            "bitwise_not",
            "logical_not",
        ]
    ],
    *[case(op, ODD) for op in ROUND if op != "relu"],
    *[case(op, ODD) for op in ["exp", "erf", "erfc", "sigmoid", "tanh", "log1p", "sqrt", "relu"]],
    *[case(op, POSITIVE) for op in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"]],
    *[case(op, UNIT) for op in ["asin", "acos", "atanh"]],
    case("acosh", POSITIVE + 1),
    case("erf", floats(200, scale=3)),
    case("erfc", floats(200, scale=3)),
    case("round", X * 100, decimals=1),
    case("exp", B),
    case("bitwise_not", B),
    case("logical_not", B),
    *[case(op, X, Y) for op in BINARY],
    *[case(op, X, Z) for op in BINARY],
    *[case(op, N, M) for op in BINARY if op != "hypot"],
    *[case(op, N, 2) for op in BINARY if op not in ["maximum", "minimum", "fmax", "fmin", "atan2", "hypot"]],
    *[case(op, N, 2.0) for op in ["add", "sub", "mul", "div", "eq", "lt"]],
    *[case(op, ODD[:, None], ODD) for op in ["eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum", "add", "mul"]],
    case("add", X, Y, alpha=2.5),
    case("sub", N, M, alpha=3),
    case("add", B, C),
    case("mul", B, C),
    case("add", B, 1),
    case("rsub", X, 1.0),
    case("sub", 10, X, oracle=operator.sub),
    case("div", 1, X, oracle=operator.truediv),
    case("div", X, Y, rounding_mode="floor"),
    case("div", X, Y, rounding_mode="trunc"),
    case("div", N, NATURAL, rounding_mode="trunc"),
    case("div", N, NATURAL, rounding_mode="floor"),
    *[
        case(op, *pair)
        for op in ("floor_divide", "remainder", "fmod")
        for pair in [(X, Y), (N, NATURAL), (N, -3), (X, 0.7)]
    ],
    case("pow", POSITIVE, Y),
    case("pow", N, 3),
    case("pow", X, 2),
    case("pow", 2, X),
    case("pow", NATURAL, NATURAL),
    case("pow", X, 2.0),
    case("pow", N, 2.0),
    case("pow", POSITIVE, -0.5),
    case("pow", NATURAL, 30),
    case("float_power", POSITIVE, 2),
    case("xlogy", X, POSITIVE),
    *[case(op, *pair) for op in ("logical_and", "logical_or", "logical_xor") for pair in [(B, C), (N, M)]],
    *[case(op, *pair) for op in ("bitwise_and", "bitwise_or", "bitwise_xor") for pair in [(B, C), (N, M), (N, 6)]],
    case("bitwise_left_shift", NATURAL, 3),
    case("bitwise_right_shift", N, 1),
    case("clamp", X, -1.0, 1.0),
    case("clamp", X, min=0.2),
    case("clamp", N, max=2),
    case("clamp", X, Y, Y + 1),
    case("clamp", ODD, -1.0, 1.0),
    case("clamp_min", X, 0.1),
    case("clamp_max", X, 0.1),
    case("clip", N, -1, 1),
    case("lerp", X, Y, 0.3),
    case("lerp", X, Y, UNIT),
    case("addcmul", X, Y, Z, value=0.5),
    case("addcdiv", X, Y, POSITIVE, value=2),
    case("where", B, X, Y),
    case("where", B, X, 0.0),
    case("where", B, N, 0),
    case("where", B, N, 1.5),
    case("where", B, 1.0, 0.0),
    case("masked_fill", X, B, -math.inf),
    case("masked_fill", X, truths(4), 0.0),
    case("masked_fill", N, B, 7),
    case("nan_to_num", ODD, 1.0, 2.0, -3.0),
    case("clone", X),
    case("contiguous", X.mT, oracle=method("contiguous")),
    case("allclose", X, X + 1e-9),
    case("allclose", X, Y),
    case("equal", X, X),
    case("equal", X, Y),
    case("normalize", X, dim=-1),
    case("normalize", X, p=1.0, dim=1),
    case("cast", X * 3, "int64", oracle=lambda x, d: x.long()),
    case("cast", X, "bool", oracle=lambda x, d: x.bool()),
    case("cast", N, "float32", oracle=lambda x, d: x.double()),
    case("cast", B, "int64", oracle=lambda x, d: x.long()),
    case("cast", N, "int8", oracle=lambda x, d: x.long()),
    case("alias", X, oracle=lambda x: x),
    case("rsqrt", NATURAL),
    case("special_expit", X, oracle=torch.sigmoid),
]

ACTIVATIONS = [
    *[
        case(op, X * 3)
        for op in ["relu6", "leaky_relu", "elu", "celu", "selu", "gelu", "logsigmoid", "silu", "softplus", "mish"]
    ],
    *[case(op, X * 3) for op in ["softsign", "tanhshrink", "hardtanh", "hardsigmoid", "hardswish", "glu"]],
    *[
        case(op, ODD)
        for op in ["relu6", "leaky_relu", "elu", "celu", "selu", "softplus", "softsign", "hardtanh", "logsigmoid"]
    ],
    case("leaky_relu", X, 0.2),
    case("elu", X, 0.5),
    case("celu", X, 2.0),
    case("gelu", X, approximate="tanh"),
    case("softplus", X * 20, 2.0, 10.0),
    case("threshold", X, 0.3, -2.0),
    case("glu", X, 0),
    case("relu", N),
    case("prelu", X, torch.tensor([0.25], dtype=torch.float64)),
    case("prelu", X, floats(3)),
    *[case(op, X, dim) for op in ("softmax", "log_softmax", "softmin") for dim in (0, 1, -1)],
    case("softmax", X.masked_fill(B, -math.inf), -1),
    case("softmax", X * 400, -1),
    case("log_softmax", X * 400, 1),
    case("dropout", X, 0.5, False),
    case("dropout", X, p=0.0, training=True),
    case("relu", X, inplace=True),
    case("swish", X, oracle=functional.silu),
]

DIMS = [{}, {"dim": 0}, {"dim": -1}, {"dim": 1, "keepdim": True}]
SEVERAL = [*DIMS, {"dim": (0, 2)}, {"dim": [1, -1], "keepdim": True}]

REDUCTIONS = [
    *[case(op, x, **dims) for op in ("sum", "nansum") for x in (X, N) for dims in SEVERAL],
    *[case(op, X, **dims) for op in ("mean", "amax", "amin", "var", "std", "norm") for dims in SEVERAL],
    *[case(op, x, **dims) for op in ("prod", "argmax", "argmin", "max", "min") for x in (X, N) for dims in DIMS],
    *[case(op, x, **dims) for op in ("any", "all") for x in (X, B, N) for dims in DIMS],
    *[case("cumsum", x, dim) for x in (X, N, B) for dim in (0, 1, -1)],
    case("cumprod", X, 1),
    case("sum", B),
    case("sum", B, 1),
    case("sum", N, dtype=torch.float64),
    case("mean", N, dtype=torch.float64),
    case("sum", X, 1, True),
    case("sum", X, (0, 1)),
    case("sum", X, []),
    case("sum", floats(0)),
    case("mean", floats(0)),
    case("prod", floats(0, 3), 0),
    case("sum", torch.tensor(2.5, dtype=torch.float64), 0),
    case("max", X, Y),
    case("min", N, M),
    case("max", X, 2, True),
    case("argmax", ODD),
    case("argmin", ODD),
    case("amax", ODD),
    case("amin", ODD[1:]),
    case("max", torch.ones(3, 4), 1),
    case("argmax", torch.ones(5)),
    case("var", X, False),
    case("std", X, unbiased=False),
    case("var", X, 1, False),
    case("std", X, 1, True, True),
    case("var", X, 1, correction=0),
    case("std", X, dim=(0, 1), correction=2),
    case("std", LINE),
    case("norm", X, 1, 1),
    case("norm", X, math.inf, -1),
    case("norm", X, -math.inf, -1),
    case("norm", X, 0, -1),
    case("norm", X, 3.0, 1, True),
    case("norm", X, "fro"),
    case("linalg_vector_norm", X, 2, dim=-1, oracle=torch.linalg.vector_norm),
    case("linalg_norm", LINE, oracle=torch.linalg.norm),
    case("cosine_similarity", X, Y),
    case("cosine_similarity", X, Y, dim=-1),
    case("count_nonzero", N),
    case("count_nonzero", N, 1),
    case("logsumexp", X * 300, 1),
    case("logsumexp", X, (0, 1), True),
    case("logsumexp", torch.full((2, 2), -math.inf), 1),
    *[case(op, x, **kw) for op in ("sort", "argsort") for x in (X, N) for kw in ({"stable": True},)],
    *[case("sort", x, dim=1, descending=True, stable=True) for x in (X, N, B)],
    case("argsort", ODD, stable=True),
    case("argsort", ODD, descending=True, stable=True),
    case("topk", X, 2),
    case("topk", X, 2, 1),
    case("topk", X, 3, largest=False),
    case("topk", LINE, 4),
    *[case("mse_loss", X, Y, reduction=r) for r in ("mean", "sum", "none")],
    case("l1_loss", X, Y),
    case("binary_cross_entropy_with_logits", X, UNIT.abs()),
    *[case("cross_entropy", floats(5, 4), whole(5, low=0, high=4), reduction=r) for r in ("mean", "sum", "none")],
    case("cross_entropy", floats(2, 4, 3), whole(2, 3, low=0, high=4)),
    case("cross_entropy", floats(5, 4), torch.tensor([1, -100, 2, 0, -100])),
    case("cross_entropy", Z, torch.tensor(2)),
    case("nll_loss", floats(5, 4), whole(5, low=0, high=4)),
]

SHAPES = [
    *[case(op, X, *shape, oracle=method(op)) for op in ("view", "reshape") for shape in [(6, 4), (-1,), ((2, -1),)]],
    case("reshape", X.permute(2, 0, 1), (4, 6)),
    case("reshape", torch.tensor(3.0), (1, 1)),
    case("reshape", X[:, :2], (4, 4)),
    case("view", GRID[:, 1:3], 3, 2, 5, 1, oracle=method("view")),
    case("view_as", X, floats(6, 4), oracle=method("view_as")),
    case("reshape_as", X, floats(4, 6), oracle=method("reshape_as")),
    case("ravel", X),
    case("flatten", X),
    case("flatten", X, 1),
    case("flatten", X, 0, 1),
    case("flatten", torch.tensor(1.0)),
    case("unflatten", X, 2, (2, -1)),
    case("unflatten", X, -1, [2, 2]),
    *[case(op, X, 0, -1) for op in ("transpose", "swapaxes")],
    case("permute", X, (2, 0, 1)),
    case("permute", X, 0, -1, 1, oracle=method("permute")),
    case("movedim", X, 0, -1),
    case("movedim", X, (0, 1), (2, 0)),
    case("t", SQUARE),
    case("t", LINE),
    case("T", SQUARE, oracle=lambda x: x.T),
    case("mT", X, oracle=lambda x: x.mT),
    case("squeeze", floats(1, 3, 1)),
    case("squeeze", floats(1, 3, 1), 0),
    case("squeeze", floats(1, 3, 1), 1),
    case("squeeze", floats(1, 3, 1), (0, 2)),
    *[case("unsqueeze", X, dim) for dim in (0, 1, -1, 3)],
    case("expand", Z, 3, 4, oracle=method("expand")),
    case("expand", floats(2, 1, 4), (5, -1, 3, -1), oracle=method("expand")),
    case("broadcast_to", Z, (2, 4)),
    case("expand_as", Z, X, oracle=method("expand_as")),
    case("repeat", X, 1, 2, 3, oracle=method("repeat")),
    case("repeat", Z, (2, 3), oracle=method("repeat")),
    case("tile", X, (2,)),
    case("tile", Z, (2, 3)),
    case("repeat_interleave", X, 2, 1),
    case("repeat_interleave", Z, 3),
    case("repeat_interleave", Z, torch.tensor([1, 0, 2, 3])),
    case("repeat_interleave", X, torch.tensor([2, 1, 0]), dim=1),
    case("flip", X, (0, 2)),
    case("flip", X, [1]),
    case("fliplr", SQUARE),
    case("flipud", SQUARE),
    case("roll", X, 1),
    case("roll", X, -1, 2),
    case("roll", X, (1, -2), (0, 1)),
    *[case("cat", [X, Y], dim) for dim in (0, 1, -1)],
    case("cat", (X, N), 1),
    case("cat", [X[:, :1], Y], dim=1),
    case("cat", [floats(0), Z]),
    case("concat", [X, Y], 2),
    *[case("stack", [X, Y, X], dim) for dim in (0, 2, -1)],
    case("hstack", [LINE, Z]),
    case("hstack", [SQUARE, SQUARE]),
    case("vstack", [Z, SQUARE]),
    case("split", X, 2, -1),
    case("split", X, 3, 2),
    case("split", X, [1, 2], 1),
    case("chunk", X, 3, 2),
    case("chunk", X, 2),
    case("unbind", X),
    case("unbind", X, -1),
    case("unfold", GRID, 1, 3, 1, oracle=method("unfold")),
    case("unfold", LINE, 0, 2, 2, oracle=method("unfold")),
    case("diagonal", SQUARE),
    case("diagonal", X, 1, 1, 2),
    case("diagonal", X, -1, 0, 2),
    case("diag", SQUARE),
    case("diag", Z, 1),
    case("diag", SQUARE, -2),
    *[case(op, x, d) for op in ("tril", "triu") for x in (X, N, B[0]) for d in (-1, 0, 2)],
    case("pad", X, (1, 2)),
    case("pad", X, (1, 0, 0, 2), value=7.0),
    case("pad", X, (-1, 1)),
    case("pad", N, (0, 1, 2, 0, 1, 1)),
    case("meshgrid", Z, LINE, indexing="ij"),
    case("meshgrid", [Z, LINE], indexing="xy"),
]

INDEX = [
    0,
    -1,
    slice(1, None),
    slice(None, None, 2),
    (0, 1),
    (slice(None), 2),
    (Ellipsis, 0),
    (Ellipsis, slice(1, 3)),
    None,
    (slice(None), None, 1),
    (Ellipsis, None),
    (slice(None), slice(0, 9, 3), -2),
    slice(-2, -1),
    slice(2, 1),
    (),
    True,
    False,
    torch.tensor(1),
    torch.tensor([0, 2, 2]),
    torch.tensor([[0, 1], [2, 0]]),
    (torch.tensor([0, 1]), torch.tensor([2, 3])),
    (slice(None), torch.tensor([1, 0])),
    (torch.tensor([0, 1]), slice(None), torch.tensor([1, 2])),
    (0, slice(None), torch.tensor([1, 2])),
    (Ellipsis, torch.tensor([1, -1])),
    (torch.tensor([0, 1]), 2),
    (slice(None), torch.tensor([0, 1]), slice(1, 3)),
    (torch.tensor([[0], [1]]), torch.tensor([[0, 1]])),
    (None, torch.tensor([0, 1])),
    truths(3),
    (slice(None), truths(4)),
    truths(3, 4),
    (0, truths(4, 5)),
    truths(3, 4, 5),
    ([0, 2],),
    (slice(None), [1, 3, 0]),
    slice(torch.tensor(0), torch.tensor(2)),
    (torch.tensor(2), slice(None)),
]

INDEXING = [
    *[case("getitem", GRID, index) for index in INDEX],
    *[case("setitem", GRID, index, -1.5, oracle=set_item) for index in INDEX if index is not False],
    case("setitem", GRID, (slice(None), 1), floats(5), oracle=set_item),
    case("setitem", N, 0, 2.7, oracle=set_item),
    case("setitem", GRID, (slice(None), torch.tensor([3, 0])), floats(2, 5), oracle=set_item),
    case("setitem", GRID, 0, floats(1, 4, 5), oracle=set_item),
    case("setitem", GRID.clone(), truths(3, 4), floats(5), oracle=set_item),
    case("select", X, 1, 2),
    case("select", X, -1, -1),
    case("narrow", X, 2, 1, 2),
    case("narrow", X, 1, -2, 1),
    case("index_select", X, 2, torch.tensor([3, 0, 0])),
    case("take", X, torch.tensor([[0, 5], [23, 1]])),
    case("masked_select", X, B),
    case("masked_select", X, truths(4)),
    case("nonzero", B),
    case("nonzero", N, as_tuple=True),
    case("gather", X, 1, whole(2, 2, 4, low=0, high=3)),
    case("gather", X, -1, whole(1, 3, 2, low=0, high=4)),
    case("take_along_dim", X, whole(2, 3, 2, low=0, high=4), -1),
    case("take_along_dim", X, torch.tensor([3, 20])),
    case("scatter", X, 2, torch.stack([torch.tensor([3, 0])] * 3).expand(2, 3, 2), Y),
    case(
        "scatter",
        X,
        1,
        torch.zeros(2, 1, 4, dtype=torch.int64),
        value=9.0,
        oracle=lambda x, d, i, value: x.scatter(d, i, value),
    ),
    case("scatter_add", X, 1, whole(2, 3, 4, low=0, high=3), Y),
    case("index_add", X, 1, torch.tensor([0, 0, 2]), Y, alpha=2),
    case("index_copy", X, 1, torch.tensor([2, 0]), Y[:, :2]),
    case("index_fill", X, 2, torch.tensor([1, 3]), 4.0),
]

CREATION = [
    *[
        case(op, *size, oracle=lambda *s, _op=op: getattr(torch, _op)(*s, dtype=torch.float64))
        for op in ("zeros", "ones")
        for size in [(2, 3), ((4,),), (2,)]
    ],
    case("zeros", 2, dtype=torch.int64),
    case("ones", (2, 2), dtype=torch.bool),
    case("full", (2, 2), 3),
    case("full", (2,), 1.5),
    case("full", (2,), True),
    case("empty", 0, 3),
    *[case(op, x) for op in ("zeros_like", "ones_like") for x in (X, N, B)],
    case("full_like", X, 2),
    case("full_like", N, 2.0, dtype=torch.float64),
    case("empty_like", floats(0)),
    case("new_zeros", N, 2, 3, oracle=method("new_zeros")),
    case("new_ones", X, (2,), oracle=method("new_ones")),
    case("new_full", X, (2, 2), 7, oracle=method("new_full")),
    case("new_tensor", X, [1, 2], oracle=method("new_tensor")),
    case("tensor", [[1, 2], [3, 4]]),
    case("tensor", 2.5),
    case("tensor", [True, False]),
    case("tensor", [1, 2.5]),
    case("tensor", [1.7, -2.7], dtype=torch.int64),
    case("tensor", []),
    case("arange", 5),
    case("arange", 1, 9, 3),
    case("arange", 5, dtype=torch.float64),
    case("arange", 0.0, 1.0, 0.3, dtype=torch.float64),
    case("arange", 5, 0, -2),
    case("arange", end=4),
    case("linspace", 0, 1, 7, dtype=torch.float64),
    case("linspace", -2.0, 3.0, 1, dtype=torch.float64),
    case("linspace", 1, 0, steps=4, dtype=torch.float64),
    case("eye", 3, dtype=torch.float64),
    case("eye", 2, 4, dtype=torch.int64),
    case("one_hot", IDS, 7),
    case("one_hot", IDS),
]

STACK, OTHER, IMAGE, SIGNAL = floats(2, 3, 4), floats(2, 4, 5, seed=5), floats(2, 4, 7, 6), floats(2, 4, 9)

PRODUCTS = [
    *[
        case("matmul", a, b)
        for a, b in [(SQUARE, SQUARE), (STACK, OTHER), (STACK, Z), (Z, OTHER), (Z, Z), (STACK, SQUARE), (N[0], N[0].T)]
    ],
    case("matmul", floats(3, 1, 2, 4), floats(5, 4, 2)),
    case("mm", SQUARE, SQUARE.T),
    case("bmm", STACK, OTHER),
    case("mv", SQUARE, Z),
    case("dot", Z, Z),
    case("inner", SQUARE, STACK),
    case("outer", Z, LINE),
    case("addmm", Z, SQUARE, SQUARE, beta=0.5, alpha=2),
    case("addmv", Z, SQUARE, Z),
    case("baddbmm", floats(2, 3, 5), STACK, OTHER),
    *[
        case("einsum", e, *ops)
        for e, ops in [
            ("ij,jk->ik", (SQUARE, SQUARE)),
            ("bij,bjk", (STACK, OTHER)),
            ("bij->b", (X,)),
            ("ii->i", (SQUARE,)),
            ("i,j->ij", (Z, LINE)),
            ("b...k,k->b...", (X, Z)),
            ("...ij->...ji", (X,)),
            ("bhd,bhd->bh", (X, Y)),
            ("ij->", (SQUARE,)),
            ("bi , bi -> b", (X[0], Y[0])),
        ]
    ],
    case("einsum", "ij,jk", [SQUARE, SQUARE]),
    case("linear", X, floats(5, 4)),
    case("linear", X, floats(5, 4), floats(5)),
    case("linear", Z, floats(5, 4)),
    case("bilinear", X, floats(2, 3, 2), floats(5, 4, 2), floats(5)),
    case("embedding", IDS, floats(6, 3)),
    case("embedding", torch.tensor(2), floats(6, 3)),
    case("conv1d", SIGNAL, floats(6, 4, 3), floats(6)),
    case("conv1d", SIGNAL, floats(6, 2, 3), None, 2, 1, 2, 2),
    case("conv1d", SIGNAL[0], floats(6, 4, 2)),
    case("conv1d", SIGNAL, floats(6, 4, 3), padding="same"),
    case("conv2d", IMAGE, floats(3, 4, 3, 2), floats(3)),
    case("conv2d", IMAGE, floats(4, 1, 3, 3), None, (2, 1), (1, 2), groups=4),
    case("conv2d", IMAGE[0], floats(3, 4, 2, 2), padding="valid"),
    case("conv2d", IMAGE, floats(3, 4, 3, 3), padding="same", dilation=(1, 2)),
    case("max_pool1d", SIGNAL, 3),
    case("max_pool1d", SIGNAL, 3, 2, 1),
    case("max_pool2d", IMAGE, 2),
    case("max_pool2d", IMAGE, (3, 2), (1, 2), (1, 0), 2),
    case("avg_pool1d", SIGNAL, 3),
    case("avg_pool1d", SIGNAL, 3, 2, 1),
    case("avg_pool2d", IMAGE, 2),
    case("avg_pool2d", IMAGE, 3, 2, 1, False, False),
    case("avg_pool2d", IMAGE[0], 2, divisor_override=3),
    *[case("adaptive_avg_pool1d", SIGNAL, n) for n in (1, 4)],
    *[case("adaptive_avg_pool2d", IMAGE, n) for n in (1, (3, 4), (None, 2))],
    case("layer_norm", X, (4,)),
    case("layer_norm", X, (3, 4), floats(3, 4), floats(3, 4), 1e-3),
    case("rms_norm", X, (4,), Z, 1e-6),
    case("group_norm", IMAGE, 2, floats(4), floats(4)),
    case("group_norm", SIGNAL, 4),
    case("batch_norm", IMAGE, floats(4), POSITIVE[0, 0], Z, Z),
    case("batch_norm", X, None, None, training=True),
    case("batch_norm", SIGNAL, floats(4), POSITIVE[0, 0], training=True, momentum=0.2),
]

QUERY, KEY, VALUE = floats(2, 3, 5, 4), floats(2, 3, 6, 4, seed=6), floats(2, 3, 6, 2, seed=7)
SDPA = functional.scaled_dot_product_attention

ATTENTION = [
    case("scaled_dot_product_attention", QUERY, KEY, VALUE, **kwargs)
    for kwargs in [
        {},
        {"scale": 0.3},
        {"is_causal": True},
        {"attn_mask": truths(5, 6)},
        {"attn_mask": floats(5, 6)},
        {"attn_mask": torch.tensor([[False]] * 2 + [[True]] * 3).expand(5, 6)},
    ]
] + [case("scaled_dot_product_attention", QUERY, KEY[:, :1], VALUE[:, :1], enable_gqa=True)]

INPLACE = [
    case("add_", X, Y, oracle=method("add_")),
    case("mul_", X, 2, oracle=method("mul_")),
    case("div_", X, 3, oracle=method("div_")),
    case("sub_", N, M, oracle=method("sub_")),
    case("copy_", X, Z, oracle=method("copy_")),
    case("fill_", N, 4, oracle=method("fill_")),
    case("zero_", X, oracle=method("zero_")),
    case("clamp_", X, 0, 1, oracle=method("clamp_")),
    case("relu_", X),
    case("masked_fill_", X, B, 0.5, oracle=method("masked_fill_")),
    case("sigmoid_", X, oracle=method("sigmoid_")),
    case("tril_", SQUARE, oracle=method("tril_")),
    case("copy_", X, N, oracle=method("copy_")),
    case("clip_", X, -1, 0, oracle=method("clip_")),
    case("unsqueeze_", X, 0, oracle=method("unsqueeze_")),
    case("index_fill_", X, 1, torch.tensor([1]), 2.0, oracle=method("index_fill_")),
    case("scatter_", X, 1, torch.zeros(2, 1, 4, dtype=torch.int64), Y, oracle=method("scatter_")),
    case("exp_", X, oracle=torch.exp_),
]

MORE = [
    case("pairwise_distance", X, Y),
    case("pairwise_distance", X, Y, p=1.0, keepdim=True),
    case("new_empty", X, 0, 2, oracle=method("new_empty")),
    case("broadcast_tensors", X, Z),
    case("where", B),
    case("logaddexp", X, Y),
    case("logaddexp", X * 400, X * 400),
    case("isclose", ODD, ODD + 1e-9),
    case("isclose", ODD, ODD, equal_nan=True),
    case("logit", UNIT.abs()),
    case("logit", UNIT, eps=0.1),
    case("var_mean", X, 1),
    case("std_mean", X, dim=(0, 1), correction=0),
    case("var_mean", X, False),
    case("diff", X),
    case("diff", X, 2, 1),
    case("trace", SQUARE),
    case("tensordot", X, floats(3, 4, 2), dims=2),
    case("tensordot", X, Y, dims=([0, 1], [0, 1])),
    *[case("cdist", SQUARE, floats(3, 4), p=p) for p in (1.0, 2.0, 3.0, math.inf, 0.0)],
    case("cdist", X, floats(2, 5, 4)),
    case("conv_transpose1d", SIGNAL, floats(4, 3, 3), floats(3), 2, 1, 1),
    case("conv_transpose1d", SIGNAL[0], floats(4, 2, 2), None, 1, 0, 0, 2, 2),
    case("conv_transpose2d", IMAGE, floats(4, 3, 3, 2), floats(3), (2, 1), (1, 0)),
    *[case("interpolate", x, scale_factor=2) for x in (SIGNAL, IMAGE)],
    case("interpolate", IMAGE, size=(14, 6)),
    case("instance_norm", IMAGE, weight=Z, bias=Z),
    case("index_put", X, (torch.tensor([0, 1, 0]), torch.tensor([2, 0, 2])), Y[0, :, :], accumulate=True),
    case("index_put", X, (torch.tensor([0, 1]),), torch.tensor(3.0, dtype=torch.float64)),
    *[case(op, 3, 4, d) for op in ("tril_indices", "triu_indices") for d in (-1, 0, 1)],
    *[case("binary_cross_entropy", UNIT.abs(), B.double(), reduction=r) for r in ("mean", "none")],
    case("huber_loss", X, Y),
    case("huber_loss", X, Y, delta=0.3, reduction="sum"),
    case("smooth_l1_loss", X, Y),
    case("smooth_l1_loss", X, Y, beta=0.2),
    *[case("kl_div", X, POSITIVE * (POSITIVE > 1), reduction=r) for r in ("batchmean", "sum", "none")],
    case("kl_div", X, Y, reduction="sum", log_target=True),
]

CASES = [
    *ELEMENTWISE,
    *ACTIVATIONS,
    *REDUCTIONS,
    *SHAPES,
    *INDEXING,
    *CREATION,
    *PRODUCTS,
    *ATTENTION,
    *INPLACE,
    *MORE,
]


@dataclass(frozen=True)
class LayerCase:
    """A leaf module with the parameters that its constructor was given, and the inputs of one call."""

    params: dict[str, Any]
    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def op(self) -> str:
        """The class's name."""
        return type(self.module).__name__

    def expected(self) -> Any:
        """What the module gives."""
        with torch.no_grad():
            return self.module(*copied(self.args), **self.kwargs)


def layer(
    cls: type[torch.nn.Module], *args: Any, call: dict[str, Any] | None = None, training: bool = False, **params: Any
) -> LayerCase:
    """A float64 module with drawn weights and buffers, and one call of it."""
    torch.manual_seed(7)
    module = cls(**params).double().train(training)
    for name, tensor in module.state_dict().items():
        if tensor.is_floating_point():
            tensor.copy_(
                torch.rand_like(tensor) + 0.5 if name.endswith(("var", "mean")) else torch.randn_like(tensor) / 2
            )
    return LayerCase({**params, "training": training} if training else params, module, args, call or {})


nn = torch.nn
SEQUENCE, STEP = floats(3, 5, 4), floats(3, 4)
SIZES = {"input_size": 4, "hidden_size": 6}
HEADS = {"embed_dim": 8, "num_heads": 2}
TOKENS = floats(5, 2, 8)

LAYERS = [
    *[
        layer(cls, SEQUENCE, **SIZES, **options)
        for cls in (nn.RNN, nn.GRU, nn.LSTM)
        for options in [
            {},
            {"batch_first": True},
            {"bidirectional": True},
            {"bias": False},
            {"num_layers": 2, "bidirectional": True, "batch_first": True},
        ]
    ],
    *[layer(cls, STEP, **SIZES, bidirectional=True) for cls in (nn.RNN, nn.GRU, nn.LSTM)],
    *[layer(cls, SEQUENCE, floats(4, 5, 6), **SIZES, num_layers=2, bidirectional=True) for cls in (nn.RNN, nn.GRU)],
    layer(nn.LSTM, SEQUENCE, (floats(1, 3, 6), floats(1, 3, 6, seed=4)), **SIZES, batch_first=True),
    layer(nn.GRU, STEP, floats(1, 6), **SIZES),
    layer(nn.RNN, SEQUENCE, **SIZES, nonlinearity="relu"),
    layer(nn.RNNCell, STEP, **SIZES, nonlinearity="relu"),
    *[
        layer(cls, x, **SIZES, bias=bias)
        for cls in (nn.RNNCell, nn.GRUCell, nn.LSTMCell)
        for x in (STEP, Z)
        for bias in (True, False)
    ],
    layer(nn.RNNCell, STEP, floats(3, 6), **SIZES),
    layer(nn.GRUCell, STEP, floats(3, 6), **SIZES),
    layer(nn.LSTMCell, STEP, (floats(3, 6), floats(3, 6, seed=9)), **SIZES),
    layer(nn.Linear, X, in_features=4, out_features=3),
    layer(nn.Linear, X, in_features=4, out_features=3, bias=False),
    layer(nn.Bilinear, X, floats(2, 3, 2), in1_features=4, in2_features=2, out_features=3),
    layer(nn.Embedding, IDS, num_embeddings=6, embedding_dim=3),
    layer(nn.Conv1d, SIGNAL, in_channels=4, out_channels=6, kernel_size=3, padding=1, groups=2, stride=2),
    layer(nn.Conv2d, IMAGE, in_channels=4, out_channels=2, kernel_size=(3, 2), dilation=(2, 1), bias=False),
    layer(nn.Conv2d, IMAGE, in_channels=4, out_channels=2, kernel_size=3, padding="same"),
    *[
        layer(cls, x, kernel_size=2)
        for cls, x in [(nn.MaxPool1d, SIGNAL), (nn.MaxPool2d, IMAGE), (nn.AvgPool1d, SIGNAL), (nn.AvgPool2d, IMAGE)]
    ],
    layer(nn.AvgPool2d, IMAGE, kernel_size=3, stride=2, padding=1, count_include_pad=False),
    layer(nn.MaxPool2d, IMAGE, kernel_size=3, stride=(2, 1), padding=1),
    layer(nn.AdaptiveAvgPool1d, SIGNAL, output_size=1),
    layer(nn.AdaptiveAvgPool2d, IMAGE, output_size=(1, 1)),
    layer(nn.LayerNorm, X, normalized_shape=4),
    layer(nn.LayerNorm, X, normalized_shape=[3, 4], eps=1e-3, elementwise_affine=False),
    layer(nn.LayerNorm, X, normalized_shape=(4,), bias=False),
    layer(nn.RMSNorm, X, normalized_shape=(4,), eps=1e-6),
    layer(nn.GroupNorm, IMAGE, num_groups=2, num_channels=4),
    layer(nn.BatchNorm1d, SIGNAL, num_features=4),
    layer(nn.BatchNorm1d, floats(5, 4), num_features=4, affine=False),
    layer(nn.BatchNorm2d, IMAGE, num_features=4, track_running_stats=False),
    layer(nn.BatchNorm2d, IMAGE, num_features=4, training=True),
    layer(nn.BatchNorm1d, SIGNAL, num_features=4, training=True, momentum=None),
    *[
        layer(cls, X * 3)
        for cls in (
            nn.Tanh,
            nn.Sigmoid,
            nn.LogSigmoid,
            nn.Softsign,
            nn.Tanhshrink,
            nn.ReLU,
            nn.ReLU6,
            nn.SELU,
            nn.SiLU,
            nn.Mish,
            nn.Hardsigmoid,
            nn.Hardswish,
            nn.LeakyReLU,
            nn.ELU,
            nn.CELU,
            nn.GELU,
            nn.Softplus,
            nn.Hardtanh,
            nn.GLU,
            nn.Dropout,
            nn.Identity,
            nn.Flatten,
            nn.PReLU,
        )
    ],
    *[layer(cls, X, dim=1) for cls in (nn.Softmax, nn.LogSoftmax, nn.Softmin)],
    layer(nn.GELU, X, approximate="tanh"),
    layer(nn.LeakyReLU, X, negative_slope=0.3),
    layer(nn.Threshold, X, threshold=0.1, value=3.0),
    layer(nn.Unflatten, X, dim=-1, unflattened_size=(2, 2)),
    layer(nn.PReLU, X, num_parameters=3),
    layer(nn.ReLU, X, inplace=True),
    layer(nn.MultiheadAttention, TOKENS, TOKENS, TOKENS, **HEADS),
    layer(nn.MultiheadAttention, TOKENS, TOKENS, TOKENS, **HEADS, batch_first=True, bias=False),
    layer(nn.MultiheadAttention, TOKENS, TOKENS, TOKENS, **HEADS, call={"need_weights": False}),
    layer(
        nn.MultiheadAttention,
        TOKENS,
        TOKENS,
        TOKENS,
        **HEADS,
        call={"average_attn_weights": False, "attn_mask": torch.ones(5, 5).triu(1).bool()},
    ),
    layer(nn.MultiheadAttention, TOKENS, floats(6, 2, 3), floats(6, 2, 5), **HEADS, kdim=3, vdim=5),
    layer(
        nn.MultiheadAttention,
        TOKENS,
        TOKENS,
        TOKENS,
        **HEADS,
        call={"attn_mask": floats(4, 5, 5), "key_padding_mask": floats(2, 5)},
    ),
    layer(
        nn.MultiheadAttention,
        TOKENS[:, 0],
        TOKENS[:, 1],
        TOKENS[:, 1],
        **HEADS,
        call={"key_padding_mask": torch.tensor([False, True, False, False, True])},
    ),
]

CLASSES, SCORES = whole(5, low=0, high=4), floats(5, 4)

MORE_LAYERS = [
    *[layer(cls, X, Y) for cls in (nn.MSELoss, nn.L1Loss, nn.BCEWithLogitsLoss)],
    layer(nn.BCELoss, UNIT.abs(), B.double()),
    layer(nn.MSELoss, X, Y, reduction="none"),
    layer(nn.CrossEntropyLoss, SCORES, CLASSES),
    layer(nn.CrossEntropyLoss, SCORES, CLASSES, reduction="sum", ignore_index=1),
    layer(nn.NLLLoss, SCORES, CLASSES),
    layer(
        nn.ConvTranspose1d, SIGNAL, in_channels=4, out_channels=6, kernel_size=3, stride=2, output_padding=1, groups=2
    ),
    layer(nn.ConvTranspose2d, IMAGE, in_channels=4, out_channels=2, kernel_size=2, dilation=2, padding=1, bias=False),
    layer(nn.Upsample, IMAGE, scale_factor=3),
    layer(nn.InstanceNorm1d, SIGNAL, num_features=4),
    layer(nn.InstanceNorm2d, IMAGE, num_features=4, affine=True),
    layer(nn.ZeroPad1d, SIGNAL, padding=(1, 2)),
    layer(nn.ZeroPad2d, IMAGE, padding=1),
    layer(nn.ConstantPad1d, SIGNAL, padding=2, value=1.5),
    layer(nn.ConstantPad2d, IMAGE, padding=(1, 0, 2, 0), value=-1.0),
]

ALL: list[Case | LayerCase] = [*CASES, *LAYERS, *MORE_LAYERS]
