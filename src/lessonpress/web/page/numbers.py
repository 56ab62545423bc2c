"""Numbers as a reader sees them: four significant digits in tables, every digit on request."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import TypeAlias, TypeGuard

# A number as it was recorded: "NaN", "Infinity" and "-Infinity" are texts, a pair is (real, imaginary).
Shown: TypeAlias = bool | int | float | str | tuple[float | str, ...]
DIGITS = 4  # significant digits in tables


def format_short(value: Shown) -> str:
    """A number at four significant digits, trailing zeros dropped: `-0.01018`, `0.36`, `1`.

    Whole numbers given as integers keep all their digits, since they count or name something. Text (`"NaN"`,
    `"Infinity"`), booleans and whatever else is not a number are written as they are. A pair (real, imaginary) is
    written as one complex number: `0.5-2i`.
    """
    if isinstance(value, tuple):
        return _join_complex(format_short(value[0]), format_short(value[1]))
    if not _is_float(value):
        return format_exact(value)
    size = abs(Decimal(value))
    if size == 0:
        return "0"
    rounded = size.quantize(Decimal(1).scaleb(size.adjusted() - DIGITS + 1), rounding=ROUND_HALF_UP)
    return ("-" if value < 0 else "") + _write_decimal(rounded)


def format_exact(value: Shown) -> str:
    """A number with every digit that its float64 needs to come back unchanged, written as JavaScript writes it."""
    if isinstance(value, tuple):
        return _join_complex(format_exact(value[0]), format_exact(value[1]))
    if isinstance(value, bool):
        return "true" if value else "false"
    if not _is_float(value):
        return str(value)
    return ("-" if value < 0 else "") + _write_decimal(abs(Decimal(repr(value))))


def to_finite(value: Shown) -> float | None:
    """The value as a finite float, or None where there is no such number (text, NaN, infinity)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def format_shape(sizes: Iterable[int]) -> str:
    """A shape as `run.py` prints it: `[1,16]`; `[]` for a scalar."""
    return "[" + ",".join(str(size) for size in sizes) + "]"


def format_size(count: int) -> str:
    """A number of bytes in words: `91 bytes`, `6.6 kB`, `1.2 MB` (powers of ten)."""
    if count < 1000:
        return f"{count} byte{'' if count == 1 else 's'}"
    return f"{count / 1000:.1f} kB" if count < 999_950 else f"{count / 1_000_000:.1f} MB"


def _join_complex(real: str, imaginary: str) -> str:
    return f"{real}{imaginary}i" if imaginary.startswith("-") else f"{real}+{imaginary}i"


def _is_float(value: Shown) -> TypeGuard[float]:
    return isinstance(value, float) and math.isfinite(value)


def _write_decimal(number: Decimal) -> str:
    """A non-negative decimal as JavaScript's String(number): plain from 1e-6 up to 1e21, else with an exponent."""
    if number == 0:
        return "0"
    digits = "".join(map(str, number.normalize().as_tuple().digits))
    power = number.adjusted()
    if -7 < power < 21:
        return f"{number.normalize():f}"
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{digits[0]}{fraction}e{'+' if power > 0 else '-'}{abs(power)}"
