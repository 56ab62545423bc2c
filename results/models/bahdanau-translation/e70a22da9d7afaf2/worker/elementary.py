"""Functions of one number that are the same bits on every machine: tangent and the inverse circular functions.

torch takes these from a library that chooses its instructions by processor, and begins with the processor's own
estimate of a reciprocal; no setting makes two makers agree. Here they are made of +, -, *, / and the square root in
float64, each rounded in the one way that IEEE 754 allows. Intermediate numbers are pairs of float64, high and low part,
good for about 100 bits (T. J. Dekker, "A floating-point technique for extending the available precision", 1971), so
that the result is all but rounded once: within 0.6 ulp of the true value, and for float32 within 0.5000001.

Arrays have any shape of one axis or more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Pair: TypeAlias = tuple[Floats, Floats]  # a number as the sum of two, the second at most half an ulp of the first

NEGLIGIBLE = 2.0**-28  # below it, tan x and the inverse functions are x to within a quarter of an ulp
INFINITE = 2.0**60  # above it, atan x is a quarter turn to within an ulp of its low part
EXACTLY_REDUCED = 1024.0  # up to here, whole quarter turns are taken off in three pieces; above, with whole numbers
STEPS = 16  # the inverse functions start from a table of atan(k / 16)
HUGE_BITS = 1400  # of pi/2: enough to take the turns off the largest float64
SPLITTER = 2.0**27 + 1

# pi/2 in pieces of 33, 33 and 53 bits, so that a piece times a small whole number is exact (Cody and Waite, 1980).
QUARTER_TURN = tuple(
    float.fromhex(piece) for piece in ("0x1.921fb54400000p+0", "0x1.0b4611a600000p-34", "0x1.3198a2e037073p-69")
)
# Power series about 0, in x^2, from the term that is added to a pair on; the next one would be below 2^-65.
ARC_SERIES = [(-1) ** n / (2 * n + 1) for n in range(1, 8)]  # of atan(x) / x - 1, over x^2
SINE_SERIES = [(-1) ** n / math.factorial(2 * n + 1) for n in range(2, 11)]  # of sin(x) / x - 1 + x^2/6, over x^4
COSINE_SERIES = [(-1) ** n / math.factorial(2 * n) for n in range(2, 12)]  # of cos(x) - 1 + x^2/2, over x^4


def sqrt(x: NDArray[Any]) -> NDArray[Any]:
    """The square root, correctly rounded as IEEE 754 demands, in the dtype of x."""
    root: NDArray[Any] = np.sqrt(x)
    return root


def atan(x: Floats) -> Floats:
    """The inverse tangent of float64 values [...], in radians; NaN for NaN."""
    size = np.abs(x)
    known = np.isfinite(size) & (size >= NEGLIGIBLE)
    y = np.where(known, np.minimum(size, INFINITE), 1.0)
    high, low = _angle((y, np.zeros_like(y)), (np.ones_like(y), np.zeros_like(y)))
    found = np.where(known, high + low, np.where(np.isinf(size), TURN[0], size))
    return np.copysign(found, x)


def asin(x: Floats) -> Floats:
    """The inverse sine of float64 values [...], in radians; NaN outside [-1, 1]."""
    size = np.abs(x)
    known = (size <= 1) & (size >= NEGLIGIBLE)
    y = np.where(known, size, 0.5)
    high, low = _angle((y, np.zeros_like(y)), _other_leg(y))
    found = np.where(known, high + low, np.where(size < NEGLIGIBLE, size, np.nan))
    return np.copysign(found, x)


def acos(x: Floats) -> Floats:
    """The inverse cosine of float64 values [...], in radians; NaN outside [-1, 1]."""
    size = np.abs(x)
    known = size <= 1
    y = np.where(known, size, 0.5)
    angle = _angle(_other_leg(y), (y, np.zeros_like(y)))
    beyond = _add((np.full_like(y, 2 * TURN[0]), np.full_like(y, 2 * TURN[1])), (-angle[0], -angle[1]))
    found: Floats = np.where(known, np.where(x < 0, beyond[0] + beyond[1], angle[0] + angle[1]), np.nan)
    return found


def tan(x: Floats) -> Floats:
    """The tangent of float64 angles [...] of any size, in radians; NaN for what is not finite."""
    size = np.abs(x)
    known = np.isfinite(size) & (size >= NEGLIGIBLE)
    rest, odd = _reduced(np.where(known, size, 1.0))
    sine, cosine = _sine_and_cosine(rest)
    above = tuple(np.where(odd, -c, s) for s, c in zip(sine, cosine, strict=True))
    below = tuple(np.where(odd, s, c) for s, c in zip(sine, cosine, strict=True))
    high, low = _divide((above[0], above[1]), (below[0], below[1]))
    found = np.where(known, high + low, np.where(np.isinf(size), np.nan, size))
    signs = np.where(np.signbit(x), -1.0, 1.0)
    return found * signs


FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {"atan": atan, "asin": asin, "acos": acos, "tan": tan}


# ---- angles ---------------------------------------------------------------------------------------------------------


def _angle(y: Pair, x: Pair) -> Pair:
    """The angle in [0, pi/2] of the points (x, y), neither coordinate negative, not both 0.

    The smaller by the larger is q; atan q = atan c + atan((q - c) / (1 + q c)), with c the nearest k/16 and a series
    for the rest, which is at most 1/32.
    """
    steep = y[0] > x[0]
    q, tail = _divide(_choose(steep, x, y), _choose(steep, y, x))
    k = np.rint(q * STEPS)
    c = k / STEPS
    product, error = _product(q, c)
    rest, less = _divide(_sum(q - c, tail), _add((np.ones_like(q), error + tail * c), (product, np.zeros_like(q))))
    square = rest * rest
    row = k.astype(np.int64)
    bent = less + rest * (square * _polynomial(ARC_SERIES, square))
    angle = _add((TABLE_HIGH[row], TABLE_LOW[row]), (rest, bent))
    across = _add((np.full_like(q, TURN[0]), np.full_like(q, TURN[1])), (-angle[0], -angle[1]))
    return _choose(steep, across, angle)


def _other_leg(x: Floats) -> Pair:
    """sqrt(1 - x^2) for 0 <= x <= 1."""
    square, error = _product(x, x)
    high, low = _sum(np.ones_like(x), -square)
    high, low = _sum(high, low - error)
    root = np.sqrt(high)
    back, lost = _product(root, root)
    more = ((high - back) - lost + low) / np.where(root > 0, 2 * root, 1.0)
    return _sum(root, more)


def _reduced(angle: Floats) -> tuple[Pair, NDArray[np.bool_]]:
    """Angles [...] >= 0 less the nearest whole number of quarter turns, and whether that number is odd."""
    small = np.where(angle <= EXACTLY_REDUCED, angle, 1.0)
    turns = np.rint(small * (2 / math.pi))
    first = small - turns * QUARTER_TURN[0]  # exact: the two are close, and the product has few bits
    second, error = _sum(first, -turns * QUARTER_TURN[1])
    high, low = _sum(second, error - turns * QUARTER_TURN[2])
    odd = turns.astype(np.int64) & 1 == 1
    for place in np.argwhere(angle > EXACTLY_REDUCED):
        at = tuple(place)
        high[at], low[at], odd[at] = _reduced_exactly(float(angle[at]))
    return (high, low), odd


def _reduced_exactly(angle: float) -> tuple[float, float, bool]:
    """The same of one large angle, in whole numbers: a float64 is one, times a power of two."""
    numerator, denominator = angle.as_integer_ratio()
    turn = _table_entry(STEPS, HUGE_BITS) * 2
    scaled = (numerator << HUGE_BITS) // denominator
    turns = (2 * scaled + turn) // (2 * turn)
    rest, unit = scaled - turns * turn, 1 << HUGE_BITS
    high = rest / unit
    top, bottom = high.as_integer_ratio()
    return high, (rest * bottom - top * unit) / (unit * bottom), turns % 2 == 1


def _sine_and_cosine(angle: Pair) -> tuple[Pair, Pair]:
    """Sine and cosine of |angle| <= pi/4 (a little more does no harm)."""
    x, tail = angle
    square, error = _product(x, x)
    error = error + 2 * x * tail
    one, zero = (np.ones_like(x), np.zeros_like(x)), np.zeros_like(x)
    sixth = (np.full_like(x, -1 / 6), np.full_like(x, SIXTH_LOW))
    inner = _add(sixth, (square * _polynomial(SINE_SERIES, square), zero))
    sine = _multiply(angle, _add(one, _multiply((square, error), inner)))
    bent = square * square * _polynomial(COSINE_SERIES, square)
    cosine = _add(one, (-0.5 * square, bent - 0.5 * error))
    return sine, cosine


# ---- numbers as pairs -----------------------------------------------------------------------------------------------


def _sum(one: Floats, other: Floats) -> Pair:
    """one + other, exactly (Knuth)."""
    total = one + other
    back = total - one
    return total, (one - (total - back)) + (other - back)


def _product(one: Floats, other: Floats) -> Pair:
    """one * other, exactly (Veltkamp and Dekker), between 2^-480 and 2^480."""
    product = one * other
    (a, b), (c, d) = _halves(one), _halves(other)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _halves(x: Floats) -> Pair:
    """The upper 26 bits of a number, and what is left."""
    scaled = SPLITTER * x
    upper = scaled - (scaled - x)
    return upper, x - upper


def _add(one: Pair, other: Pair) -> Pair:
    high, low = _sum(one[0], other[0])
    return _sum(high, low + (one[1] + other[1]))


def _multiply(one: Pair, other: Pair) -> Pair:
    high, low = _product(one[0], other[0])
    return _sum(high, low + (one[0] * other[1] + one[1] * other[0]))


def _divide(one: Pair, other: Pair) -> Pair:
    quotient = one[0] / other[0]
    back, error = _product(quotient, other[0])
    return _sum(quotient, ((one[0] - back) - error + one[1] - quotient * other[1]) / other[0])


def _choose(first: NDArray[np.bool_], one: Pair, other: Pair) -> Pair:
    return np.where(first, one[0], other[0]), np.where(first, one[1], other[1])


def _polynomial(coefficients: list[float], x: Floats) -> Floats:
    """coefficients[0] + coefficients[1] x + … by Horner's rule."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _table_entry(k: int, bits: int) -> int:
    """atan(k / 16) * 2^bits, rounded down by less than 2^16, by Euler's series in whole numbers."""
    term, total, n = (STEPS * k << bits) // (STEPS**2 + k * k), 0, 0
    while term:
        total, n = total + term, n + 1
        term = term * 2 * n * k * k // ((2 * n + 1) * (STEPS**2 + k * k))
    return total


def _as_pair(whole: int, bits: int) -> tuple[float, float]:
    """whole / 2^bits as two float64 numbers."""
    high = whole / (1 << bits)
    top, bottom = high.as_integer_ratio()
    return high, (whole * bottom - (top << bits)) / (bottom << bits)


_TABLE = [_as_pair(_table_entry(k, 160), 160) for k in range(STEPS + 1)]
TABLE_HIGH, TABLE_LOW = (np.array(column) for column in zip(*_TABLE, strict=True))
TURN = _as_pair(2 * _table_entry(STEPS, 160), 160)  # a quarter turn, pi/2
SIXTH_LOW = _as_pair(-(1 << 160) // 6, 160)[1]  # what -1/6 lacks as a float64
