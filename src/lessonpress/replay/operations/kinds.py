"""The three kinds of number that both interpreters compute with: float64, int64 and bool."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

FLOATS = frozenset({"float64", "float32", "float16", "bfloat16", "double", "float", "half"})
RANGES = {
    "uint8": (0, 2**8 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**53), 2**53),  # what a JavaScript number holds exactly
}
# A replay is for small lessons, and its program comes from a process that may be hostile.
LARGEST = 2**24  # elements of one array
TERMS = 2**28  # terms of one product


class Unsupported(Exception):
    """An operation, or one way of calling it, that the table does not repeat; the message says which and why."""


class Follows(Unsupported):
    """A call that is not repeated only because one before it is not."""


def kind(dtype: str) -> type[np.generic]:
    """The numpy type in which values of a torch dtype are replayed.

    Raises Unsupported for complex and other dtypes that are neither float, integer nor bool.
    """
    if dtype in FLOATS:
        return np.float64
    if dtype == "bool":
        return np.bool_
    if dtype in RANGES:
        return np.int64
    raise Unsupported(f"dtype {dtype} is not replayed")


def cast(x: Any, dtype: str) -> Array:
    """`x` as a fresh array of the kind of `dtype`; floats become integers by cutting off the fraction.

    Raises Unsupported where torch would wrap around or leave the result undefined.
    """
    target = kind(dtype)
    source = np.asarray(x)
    if target is np.int64:
        low, high = RANGES[dtype]
        if source.size and not (np.all(source >= low) and np.all(source <= high)):
            raise Unsupported(f"a value does not fit into {dtype}")
        source = np.trunc(source) if source.dtype.kind == "f" else source
    return source.astype(target)


FORMATS = {"float16": (10, -14, 65504.0), "bfloat16": (7, -126, (2 - 2.0**-7) * 2.0**127)}  # digits, exponent, largest


def round_to(x: Any, dtype: str) -> Array:
    """`x` rounded to a narrower float dtype, as float64: to float32 first, as torch does, then to half precision."""
    with np.errstate(over="ignore"):
        single = np.asarray(x, dtype=np.float64).astype(np.float32).astype(np.float64)
    if dtype not in FORMATS:
        return single
    digits, lowest, largest = FORMATS[dtype]
    with np.errstate(all="ignore"):
        exponent = np.frexp(single)[1] - 1
        step = np.ldexp(1.0, np.maximum(exponent, lowest) - digits)
        rounded = np.where(np.isfinite(single), np.rint(single / step) * step, single)
    return np.where(np.abs(rounded) > largest, np.copysign(np.inf, rounded), rounded)


def real(x: Any) -> Array:
    """`x` as float64, which is what transcendental functions make of integers and bools."""
    return np.asarray(x, dtype=np.float64)


def settle(x: Any) -> Array:
    """An array or number as an array of one of the three kinds, without a copy where it is one already.

    Complex numbers become pairs of floats on one more axis. Raises Unsupported for what is neither of these.
    """
    array = np.asarray(x)
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], axis=-1).astype(np.float64)
    target = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}.get(array.dtype.kind)
    if target is None:
        raise Unsupported(f"values of type {array.dtype} are not replayed")
    return array if array.dtype == target else array.astype(target)


def axes(x: Array, dim: Any) -> tuple[int, ...]:
    """The axes that `dim` names (an int, several, or None and [] for all) as non-negative numbers."""
    if dim is None or (isinstance(dim, list | tuple) and not dim):
        return tuple(range(x.ndim))
    dims = dim if isinstance(dim, list | tuple) else [dim]
    return tuple(axis(int(d), x.ndim) for d in dims)


def axis(dim: int, rank: int) -> int:
    """One axis counted from the front; an array without axes answers to 0 and -1 as in torch."""
    rank = max(rank, 1)
    if not -rank <= dim < rank:
        raise Unsupported(f"axis {dim} of an array with {rank} axes")
    return dim % rank


def sized(shape: Any) -> tuple[int, ...]:
    """A shape for a new array, refused (Unsupported) above `LARGEST` elements."""
    sizes = tuple(int(n) for n in shape)
    if math.prod(sizes) > LARGEST:
        raise Unsupported(f"an array of shape {list(sizes)} is too large to replay")
    return sizes


def affordable(terms: float) -> None:
    """Refuse (Unsupported) a product of more than `TERMS` terms."""
    if terms > TERMS:
        raise Unsupported("a product too large to replay")
