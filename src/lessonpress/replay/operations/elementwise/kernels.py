"""Arithmetic, comparisons, logic and the elementary functions, element by element with broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lessonpress.replay.operations.kinds import RANGES, Array, Unsupported, cast, kind, real, round_to
from lessonpress.replay.operations.table import ALIASES, BROADCASTING, Rewritten, operation, rewrite

BROADCASTING.add("elementwise")
ALIASES.update(
    absolute="abs", negative="neg", multiply="mul", subtract="sub", divide="div", true_divide="div", clip="clamp",
    arcsin="asin", arccos="acos", arctan="atan", arcsinh="asinh", arccosh="acosh", arctanh="atanh", arctan2="atan2",
    greater="gt", greater_equal="ge", less="lt", less_equal="le", not_equal="ne", fix="trunc", expit="sigmoid",
    sgn="sign", truediv="div", floordiv="floor_divide", mod="remainder",
)  # fmt: skip


def _unary(name: str, function: Callable[[Array], Any], before: Callable[[Any], Array] = real) -> None:
    """Enter a function of one array; `before` makes its argument float64 unless the kind is to stay."""

    @operation(name)
    def kernel(input: Any) -> Any:
        return function(before(input))


def _binary(name: str, function: Callable[[Any, Any], Any]) -> None:
    """Enter a function of two arrays or numbers whose kind is what numpy makes of theirs."""

    @operation(name)
    def kernel(input: Any, other: Any) -> Any:
        return function(input, other)


def each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of one number as a function of an array."""
    return lambda x: np.asarray(np.vectorize(function, otypes=[np.float64])(x), dtype=np.float64)


def _without_zero(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A division that torch refuses (here Unsupported) where whole numbers are divided by zero."""

    def divided(input: Any, other: Any) -> Any:
        if np.result_type(np.asarray(input), np.asarray(other)).kind in "ib" and np.any(np.equal(other, 0)):
            raise Unsupported("a whole number is divided by zero")
        return function(input, other)

    return divided


erf, erfc = each(math.erf), each(math.erfc)

for _name in [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
]:
    _unary(_name, getattr(np, _name))
for _name in ["asin", "acos", "atan", "asinh", "acosh", "atanh"]:
    _unary(_name, getattr(np, "arc" + _name[1:]))
_unary("rsqrt", lambda x: 1 / np.sqrt(x))
_unary("reciprocal", lambda x: 1 / x)
_unary("deg2rad", np.deg2rad)
_unary("rad2deg", np.rad2deg)
_unary("erf", erf)
_unary("erfc", erfc)
_unary("abs", np.abs, np.asarray)
_unary("neg", np.negative, np.asarray)
_unary("positive", np.asarray, np.asarray)
_unary("square", np.square, np.asarray)
_unary("sign", lambda x: (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype), np.asarray)
_unary("floor", lambda x: np.floor(x) if x.dtype.kind == "f" else x.copy(), np.asarray)
_unary("ceil", lambda x: np.ceil(x) if x.dtype.kind == "f" else x.copy(), np.asarray)
_unary("trunc", lambda x: np.trunc(x) if x.dtype.kind == "f" else x.copy(), np.asarray)
_unary("frac", lambda x: x - np.trunc(x))
_unary("isnan", np.isnan)
_unary("isinf", np.isinf)
_unary("isfinite", np.isfinite)
_unary("logical_not", np.logical_not)
_unary("bitwise_not", np.invert, np.asarray)

_PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": np.multiply, "floor_divide": _without_zero(np.floor_divide), "remainder": _without_zero(np.remainder),
    "fmod": _without_zero(np.fmod),
    "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
}  # fmt: skip
for _name, _function in _PAIRS.items():
    _binary(_name, _function)
_binary("logaddexp", lambda a, b: np.logaddexp(real(a), real(b)))
_binary("atan2", lambda a, b: np.arctan2(real(a), real(b)))
_binary("hypot", lambda a, b: np.hypot(real(a), real(b)))
_binary("xlogy", lambda a, b: np.where((real(a) == 0) & ~np.isnan(real(b)), 0.0, real(a) * np.log(real(b))))


@operation("add")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input + alpha other`."""
    return np.add(input, other if alpha == 1 else np.multiply(alpha, other))


@operation("sub")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input - alpha other`."""
    return np.subtract(input, other if alpha == 1 else np.multiply(alpha, other))


@rewrite("rsub")
def rsub(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """`rsub(a, b)` is `sub(b, a)`."""
    return "sub", [args[1], args[0], *args[2:]], kwargs


@operation("div")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """`input / other`, always a float unless rounded (`floor`, or `trunc` towards zero)."""
    if rounding_mode == "floor":
        return _without_zero(np.floor_divide)(input, other)
    quotient = np.true_divide(input, other)
    if rounding_mode is None:
        return quotient
    whole = np.result_type(np.asarray(input), np.asarray(other)).kind in "ib"
    return _without_zero(lambda *_: cast(quotient, "int64"))(input, other) if whole else np.trunc(quotient)


@operation("pow")
def power(input: Any, exponent: Any) -> Any:
    """`input ** exponent`; integers stay integers."""
    return np.power(input, exponent)


@operation("float_power")
def float_power(input: Any, exponent: Any) -> Any:
    """`input ** exponent` in float64."""
    return np.power(real(input), real(exponent))


@operation("round")
def round_half_even(input: Array, *, decimals: int = 0) -> Any:
    """The nearest number with so many decimals, halves to the even neighbour."""
    if input.dtype.kind != "f":
        return input.copy()
    scale = 10.0 ** abs(decimals)
    return np.rint(input * scale) / scale if decimals >= 0 else np.rint(input / scale) * scale


@operation("clamp")
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Values brought into `[min, max]`; NaN stays NaN, and `max` wins where the bounds cross."""
    low = input if min is None else np.maximum(input, min)
    return np.array(low) if max is None else np.minimum(low, max)


@rewrite("clamp_min")
def clamp_min(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """`clamp` with a lower bound only."""
    return "clamp", args, kwargs


@rewrite("clamp_max")
def clamp_max(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """`clamp` with an upper bound only."""
    return "clamp", [args[0], None, *args[1:]], kwargs


@operation("lerp")
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """`input + weight (end - input)`."""
    return input + np.multiply(weight, np.subtract(end, input))


@operation("addcmul")
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """`input + value tensor1 tensor2`."""
    return input + value * np.multiply(tensor1, tensor2)


@operation("addcdiv")
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """`input + value tensor1 / tensor2`."""
    return input + value * np.true_divide(tensor1, tensor2)


@operation("where")
def where(condition: Any, input: Any, other: Any) -> Any:
    """`input` where the condition holds, `other` elsewhere."""
    common = np.result_type(_kind_of(input), _kind_of(other))
    return np.where(condition, input, other).astype(common)


def _kind_of(x: Any) -> Any:
    """The numpy type of an array, or of a number as if it were one."""
    return np.asarray(x).dtype


@operation("masked_fill")
def masked_fill(input: Array, mask: Array, value: Any) -> Any:
    """`value` where the mask holds; the kind of `input` stays."""
    return np.where(mask, np.asarray(value).astype(input.dtype), input)


@operation("nan_to_num")
def nan_to_num(input: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN and infinities replaced by numbers.

    Raises Unsupported for an infinity without a replacement: torch's largest finite number depends on the dtype.
    """
    if (posinf is None and np.any(np.isposinf(input))) or (neginf is None and np.any(np.isneginf(input))):
        raise Unsupported("nan_to_num of an infinity without a replacement")
    filled = np.where(np.isnan(input), 0.0 if nan is None else nan, input)
    filled = np.where(np.isposinf(filled), 0.0 if posinf is None else posinf, filled)
    return np.where(np.isneginf(filled), 0.0 if neginf is None else neginf, filled)


@operation("cast")
def cast_to(input: Any, dtype: str) -> Array:
    """A copy in the kind of another dtype; floats become integers by cutting off the fraction."""
    return cast(input, dtype)


@operation("rounded")
def rounded(input: Array, dtype: str) -> Array:
    """The nearest numbers of a narrower float dtype, halves to the even neighbour."""
    return round_to(input, dtype)


@operation("wrapped")
def wrapped(input: Array, dtype: str) -> Array:
    """Whole numbers as a narrow integer type holds them: beyond its largest it goes on from its smallest.

    Raises Unsupported for numbers that a double does not hold exactly, and for floats so large that processors differ.
    """
    low, high = RANGES[dtype]
    if input.dtype.kind == "f" and not np.all(np.abs(input) < 2**31):
        raise Unsupported(f"a value is too large for {dtype}")
    whole = cast(input, "int64")
    return (whole - low) % (high - low + 1) + low


@operation("number_div")
def number_div(input: Any, other: Any) -> Any:
    """Python's quotient of two numbers. Raises Unsupported where Python raises ZeroDivisionError."""
    if other == 0:
        raise Unsupported("Python divides by zero here")
    return np.true_divide(input, other)


@operation("number_pow")
def number_pow(input: Any, exponent: Any) -> Any:
    """Python's power of two numbers. Raises Unsupported where Python raises, or gives a complex number."""
    power = np.power(real(input), real(exponent))
    if not np.isfinite(power):
        raise Unsupported("Python has no such power")
    return power


@operation("alias", view=True)
def alias(input: Array) -> Array:
    """The very same values in the same memory: `detach`, or `to` the dtype that is there."""
    return input


@operation("clone")
def clone(input: Array) -> Array:
    """A copy with memory of its own."""
    return input.copy()


@operation("contiguous", view=True)
def contiguous(input: Array) -> Array:
    """The array itself when it lies in row-major order, else a copy that does."""
    return input if input.flags.c_contiguous else input.copy()


@operation("copy")
def copy_from(input: Array, src: Any) -> Any:
    """What `copy_` writes: the source."""
    return src


@operation("fill")
def fill(input: Array, value: Any) -> Any:
    """`input`'s shape filled with one value."""
    return np.full_like(input, value)


@operation("zero")
def zero(input: Array) -> Any:
    """`input`'s shape filled with zeros."""
    return np.zeros_like(input)


def dtype_or(dtype: str | None, otherwise: type[np.generic]) -> type[np.generic]:
    """The kind of a `dtype` argument, or another where none is given."""
    return otherwise if dtype is None else kind(dtype)


@operation("contains")
def contains(input: Array, element: Any) -> Any:
    """Whether an element is among the numbers: `element in input`."""
    return np.any(np.equal(input, element))


@operation("allclose")
def allclose(input: Array, other: Array, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether all elements agree within the tolerances."""
    return np.allclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


@operation("equal")
def equal(input: Array, other: Array) -> Any:
    """Whether two arrays have the same shape and elements."""
    return np.array_equal(input, other)


@operation("isclose")
def isclose(input: Array, other: Array, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Which elements agree within the tolerances."""
    return np.isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


@operation("logit")
def logit(input: Any, eps: float | None = None) -> Any:
    """`log(x / (1 - x))`, with x first brought into `[eps, 1 - eps]`."""
    x = real(input) if eps is None else np.clip(real(input), eps, 1 - eps)
    return np.log(x / (1 - x))
