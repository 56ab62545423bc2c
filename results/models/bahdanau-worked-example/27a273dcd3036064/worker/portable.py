"""Portable initialisation: random weights that are the same bytes on every machine.

torch draws the same integers everywhere (its CPU generator is a Mersenne Twister), but turns them into floats with
whatever instructions a CPU has: fused multiply-add here, another logarithm there. This module draws the same integers
in the same order, so the stream stays in step with torch's own, and does the arithmetic with operations that IEEE 754
rounds in one way only: +, -, *, / and the square root, one at a time.

The uniform distribution rounds once, as a fused multiply-add does. The normal one is torch's scheme: the Box-Muller
transform (G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958). Where its
values differ from those of torch without vector instructions, by an ulp, the C library had rounded a float32 function
the wrong way.

One file, longer than most here, so that it can be shipped and read by itself.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch.overrides import _get_current_function_mode_stack, handle_torch_function
from torch.utils._device import DeviceContext, _device_constructors

NAME = "portable-1"

Floats: TypeAlias = NDArray[np.float64]  # the arithmetic's working precision
Reals: TypeAlias = NDArray[np.floating[Any]]  # float32 or float64, as the tensor is
Native: TypeAlias = Callable[..., Any]

DTYPES: dict[torch.dtype, np.dtype[Any]] = {torch.float32: np.dtype(np.float32), torch.float64: np.dtype(np.float64)}
# Bits of a draw: those of the significand.
DIGITS: dict[np.dtype[Any], int] = {np.dtype(np.float32): 24, np.dtype(np.float64): 53}
BLOCK = 1 << 14  # values worked on at a time, few enough for the cache; a multiple of LANES
LANES = 16  # torch transforms normal values in groups of 16: 8 cosines, then 8 sines

# ln 2 and pi/2 in pieces of 33 bits, so that a piece times a small whole number is exact (Cody and Waite, 1980).
LN2 = (float.fromhex("0x1.62e42fef00000p-1"), float.fromhex("0x1.473de6af278edp-34"))
HALF_PI = tuple(float.fromhex(h) for h in ("0x1.921fb54400000p+0", "0x1.0b4611a600000p-34", "0x1.3198a2e037073p-69"))
TWO_PI = 2 * math.pi

# Power series about 0, long enough that the next term is below a quarter of an ulp in the reduced range.
LOG_SERIES = [2 / (2 * n + 1) for n in range(1, 12)]  # of 2 atanh(s) / s - 2, in s^2
SINE_SERIES = [(-1) ** n / math.factorial(2 * n + 1) for n in range(1, 9)]  # of sin(x) / x - 1, in x^2, over x^2
COSINE_SERIES = [(-1) ** n / math.factorial(2 * n) for n in range(2, 10)]  # of cos(x) - 1 + x^2/2, in x^2, over x^4

# Where torch keeps the second value of a pair of normal ones inside the bytes of a CPU generator's state.
STATE = np.dtype({"names": ["spare", "valid"], "formats": ["<f8", "<i4"], "offsets": [5024, 5040], "itemsize": 5056})

_uniform: Native = torch.Tensor.uniform_
_normal: Native = torch.Tensor.normal_
_modes: Callable[[], list[Any]] = _get_current_function_mode_stack
_device_constructors()  # torch keeps this set from its first use on: let it hold torch's own functions


# ---- the distributions ------------------------------------------------------------------------------------------


def uniform_(
    tensor: torch.Tensor, a: float = 0.0, b: float = 1.0, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fill a tensor with values spread evenly from a up to b, and return it.

    tensor: any shape and strides, float32 or float64 on the CPU; others are left to torch. Each value takes one draw
    of 24 (float32) or two of 32 bits (float64, 53 of them used). a, b and b - a are rounded to the dtype first.
    Raises what torch raises: RuntimeError for a > b, for a leaf that requires grad and for overlapping memory.
    """
    source = _source(tensor, generator)
    if source is None:
        return _result(_uniform(tensor, a, b, generator=generator))
    with torch._C.DisableTorchFunction(), np.errstate(all="ignore"):
        _uniform(tensor.new_empty(0), a, b)  # torch's own words for arguments that cannot be
        dtype = DTYPES[tensor.dtype]
        low, high = dtype.type(a), dtype.type(b)
        values = np.empty(tensor.numel(), dtype)
        for block in _blocks(values):
            block[:] = _between(_draw(block.size, dtype, source), float(low), float(high - low), dtype)
        return _store(tensor, values)


def normal_(
    tensor: torch.Tensor, mean: float = 0.0, std: float = 1.0, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fill a tensor with normally distributed values, and return it.

    tensor: any shape and strides, float32 or float64 on the CPU; others are left to torch. As in torch, 16 values or
    more in one contiguous piece are made in groups of 16 in the tensor's dtype, all others in pairs in float64, where
    the generator keeps what is left of a pair for the next call. Raises what torch raises: RuntimeError for std < 0,
    for a leaf that requires grad and for overlapping memory.
    """
    source = _source(tensor, generator)
    if source is None:
        return _result(_normal(tensor, mean, std, generator=generator))
    with torch._C.DisableTorchFunction(), np.errstate(all="ignore"):
        _normal(tensor.new_empty(0), mean, std)  # torch's own words for arguments that cannot be
        dtype = DTYPES[tensor.dtype]
        if tensor.numel() >= LANES and tensor.is_contiguous():
            return _store(tensor, _grouped(tensor.numel(), dtype, float(mean), float(std), source))
        values = _paired(tensor.numel(), source) * float(std) + float(mean)
        return _store(tensor, values.astype(dtype))


def _between(units: Floats, low: float, span: float, dtype: np.dtype[Any]) -> Reals:
    """units * span + low: rounded once for float32, after each operation for float64."""
    product = units * span  # for float32 exact: 24 bits times 24 bits
    total = product + low
    if dtype != np.float32:
        return total
    error = _sum_error(product, low, total)
    inexact = error != 0
    if inexact.any():
        _round_to_odd(total, error, inexact)
    return total.astype(np.float32)


def _round_to_odd(total: Floats, error: Floats, inexact: NDArray[np.bool_]) -> None:
    """Of the two floats around total + error take the odd one, so that a second, coarser rounding errs not again."""
    even = inexact & (total.view(np.int64) & 1 == 0)
    total[even] = np.nextafter(total[even], np.copysign(np.inf, error[even]))


def _grouped(size: int, dtype: np.dtype[Any], mean: float, std: float, source: torch.Generator) -> Reals:
    """Normal values [size], size >= 16, in groups of 16; what is left over shares the last, redrawn group."""
    values = np.empty(size, dtype)
    rest = size % LANES
    for block in _blocks(values[: size - rest]):
        block[:] = _group(_draw(block.size, dtype, source), dtype, mean, std)
    if rest:
        _draw(rest, dtype, source)  # torch draws for these too, before it overwrites them
        values[-LANES:] = _group(_draw(LANES, dtype, source), dtype, mean, std)
    return values


def _group(units: Floats, dtype: np.dtype[Any], mean: float, std: float) -> Reals:
    """Box-Muller on [n * 16] values in [0, 1): of each 16, 8 give the radius and 8 the angle. Every step is rounded."""
    lanes = units.reshape(-1, 2, LANES // 2)
    logarithm = log(1 - lanes[:, 0]).astype(dtype)
    radius = np.sqrt(dtype.type(-2) * logarithm)
    angle = (TWO_PI * lanes[:, 1]).astype(dtype).astype(np.float64)
    cosine, sine = cosine_and_sine(angle)
    waves = np.stack([cosine, sine], axis=1).astype(dtype)  # [n, 2, 8]
    scaled: Reals = radius[:, None] * waves * dtype.type(std) + dtype.type(mean)
    return scaled.reshape(-1)


def _paired(size: int, source: torch.Generator) -> Floats:
    """Standard normal values [size] in pairs, of which the generator may hold the second one from the last call."""
    if size == 0:
        return np.empty(0)
    state = source.get_state()
    kept = state.numpy().view(STATE)[0]
    before = [kept["spare"]] if kept["valid"] else []
    units = _draw((size - len(before) + 1) // 2 * 2, np.dtype(np.float64), source)
    radius = np.sqrt(-2 * log(1 - units[1::2]))
    cosine, sine = cosine_and_sine(TWO_PI * units[::2])
    values: Floats = np.concatenate([before, np.stack([radius * cosine, radius * sine], axis=1).reshape(-1)])
    spare = values[size:]
    if before or spare.size:
        state = source.get_state()
        state.numpy().view(STATE)[0] = (spare[0], 1) if spare.size else (0.0, 0)
        source.set_state(state)
    return values[:size]


# ---- draws and tensors ------------------------------------------------------------------------------------------


def _source(tensor: torch.Tensor, generator: torch.Generator | None) -> torch.Generator | None:
    """The CPU generator to draw from; None if tensor or generator are not ours to handle."""
    source = torch.default_generator if generator is None else generator
    ours = tensor.dtype in DTYPES and tensor.device.type == "cpu" and tensor.layout == torch.strided
    return source if ours and source.device.type == "cpu" else None


def _draw(size: int, dtype: np.dtype[Any], source: torch.Generator) -> Floats:
    """Values k / 2^digits in [0, 1), float64 [size], from the low bits of one 32-bit or 64-bit draw each."""
    digits = DIGITS[dtype]
    whole = torch.empty(size, dtype=torch.int64, device="cpu").random_(0, 1 << digits, generator=source)
    units: Floats = whole.numpy() * 2.0**-digits
    return units


def _blocks(values: Reals) -> Iterator[Reals]:
    """Consecutive views of at most BLOCK values."""
    return (values[start : start + BLOCK] for start in range(0, values.size, BLOCK))


def _store(tensor: torch.Tensor, values: Reals) -> torch.Tensor:
    """Write the values in the order of memory, which is the order in which torch fills a tensor."""
    order = sorted(range(tensor.dim()), key=tensor.stride, reverse=True)
    view = tensor.permute(order)
    view.copy_(torch.from_numpy(values).reshape(view.shape))
    return tensor


def _result(value: Any) -> torch.Tensor:
    """What a native function returned, which is a tensor."""
    assert isinstance(value, torch.Tensor)
    return value


# ---- logarithm, cosine, sine --------------------------------------------------------------------------------------


def log(x: Floats) -> Floats:
    """The natural logarithm of positive, finite, normal float64 values, within one ulp.

    x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); with s = f / (2 + f), log(1 + f) is 2 atanh(s), and
    2 atanh(s) = f - s (f - s^2 p(s^2)), p being LOG_SERIES: so the rounding of s counts little beside that of f.
    """
    mantissa, exponent = np.frexp(x)
    low = mantissa < math.sqrt(0.5)
    f = np.where(low, 2 * mantissa, mantissa) - 1
    k = (exponent - low).astype(np.float64)
    s = f / (2 + f)
    square = s * s
    half_square = 0.5 * f * f
    bent = half_square - (s * (half_square + square * _polynomial(LOG_SERIES, square)) + k * LN2[1])
    result: Floats = k * LN2[0] - (bent - f)
    return result


def cosine_and_sine(angle: Floats) -> tuple[Floats, Floats]:
    """The cosine and the sine of float64 angles in [0, 8) radians, each within one ulp.

    The angle is brought to x + tail, |x| <= pi/4, by taking off a whole number of quarter turns in three exact pieces;
    the power series of both functions follow, and the quarter turns say which is which, and with what sign.
    """
    turns = np.rint(angle * (2 / math.pi))
    x, tail = _reduce(angle, turns)
    square = x * x
    sine = x + (x * square * _polynomial(SINE_SERIES, square) + tail * (1 - 0.5 * square))
    half = 0.5 * square
    near = 1 - half
    cosine = near + ((1 - near - half) + (square * square * _polynomial(COSINE_SERIES, square) - x * tail))
    quarter = turns.astype(np.int64) & 3
    swapped = quarter & 1 == 1
    signs = np.array([1.0, -1.0])
    across = np.where(swapped, sine, cosine) * signs[(quarter + 1 >> 1) & 1]  # cos, -sin, -cos, sin
    up = np.where(swapped, cosine, sine) * signs[quarter >> 1]  # sin, cos, -sin, -cos
    return across, up


def _reduce(angle: Floats, turns: Floats) -> tuple[Floats, Floats]:
    """angle - turns * pi/2 as a float64 and the small part that it could not hold."""
    first = angle - turns * HALF_PI[0]  # exact: the two are close, and the product has few bits
    piece = turns * HALF_PI[1]
    second = first - piece
    rest = _sum_error(first, -piece, second) - turns * HALF_PI[2]
    x = second + rest
    return x, (second - x) + rest


def _sum_error(one: Floats, other: Floats | float, total: Floats) -> Floats:
    """What rounding took from total = one + other, exactly (Knuth's two-sum)."""
    back = total - one
    error: Floats = (one - (total - back)) + (other - back)
    return error


def _polynomial(coefficients: list[float], x: Floats) -> Floats:
    """coefficients[0] + coefficients[1] x + … by Horner's rule, in place."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total *= x
        total += coefficient
    return total


# ---- in torch's place -----------------------------------------------------------------------------------------------


def _uniform_as_torch(
    tensor: torch.Tensor, a: float = 0.0, to: float = 1.0, *, generator: torch.Generator | None = None, **named: float
) -> torch.Tensor:
    """uniform_ with the names that torch gives the bounds: `to`, and `from`, which is no name in Python."""
    low = named.pop("from", a)
    if named:
        raise TypeError(f"uniform_() got unexpected keyword arguments: {', '.join(named)}")
    return uniform_(tensor, low, to, generator=generator)


def _factory(native: Native, blank: Native, fill: Native) -> Callable[..., torch.Tensor]:
    """A function that makes a tensor as `native` does: `blank` gives shape, dtype and strides, `fill` the values."""

    def build(*args: Any, generator: torch.Generator | None = None, **options: Any) -> torch.Tensor:
        tensor = _result(blank(*args, **options))
        if _source(tensor, generator) is None:
            with_generator = {} if generator is None else {"generator": generator}
            return _result(native(*args, **with_generator, **options))
        with torch.no_grad():
            return _result(fill(tensor, generator=generator))

    return functools.wraps(native)(build)


REPLACED: dict[Native, Callable[..., torch.Tensor]] = {
    _uniform: _uniform_as_torch,
    _normal: normal_,
    torch.rand: _factory(torch.rand, torch.empty, uniform_),
    torch.randn: _factory(torch.randn, torch.empty, normal_),
    torch.rand_like: _factory(torch.rand_like, torch.empty_like, uniform_),
    torch.randn_like: _factory(torch.randn_like, torch.empty_like, normal_),
}


@contextmanager
def installed() -> Iterator[None]:
    """Put the portable functions into torch's place, and torch's back at the end; may be nested.

    An active TorchFunctionMode is handed torch's own function, once, and looks it up in REPLACED itself. The mode
    behind `with torch.device(...)` is no observer, so it is passed by. Code inside torch's C++ is not reached.
    """
    with_owner = [(torch.Tensor if native in (_uniform, _normal) else torch, native) for native in REPLACED]
    before = [(owner, native.__name__, vars(owner).get(native.__name__)) for owner, native in with_owner]
    for owner, native in with_owner:
        setattr(owner, native.__name__, _dispatcher(native))
    try:
        yield
    finally:
        for owner, name, value in before:
            if value is None:
                delattr(owner, name)  # torch.Tensor inherits its methods
            else:
                setattr(owner, name, value)


def _dispatcher(native: Native) -> Native:
    """The function that stands in torch's place: it asks observers first, as torch's own does."""

    @functools.wraps(native)
    def call(*args: Any, **options: Any) -> Any:
        tensors = tuple(value for value in args if isinstance(value, torch.Tensor))
        handled = not torch._C._is_torch_function_all_disabled()  # inside DisableTorchFunction nobody is asked
        if handled and (_observed() or _overridden(tensors)):
            return handle_torch_function(native, tensors, *args, **options)
        return REPLACED[native](*args, **options)

    return call


def _observed() -> bool:
    """Whether a mode is active that wants to see calls."""
    return any(not isinstance(mode, DeviceContext) for mode in _modes())


def _overridden(tensors: tuple[torch.Tensor, ...]) -> bool:
    """Whether one of the tensors is of a class that handles torch's functions itself (a Parameter's does not)."""
    own = {type(tensor).__torch_function__ for tensor in tensors if type(tensor) is not torch.Tensor}
    return bool(own - {torch._C._disabled_torch_function_impl})
