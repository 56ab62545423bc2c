"""Arrays that arise from numbers alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from lessonpress.replay.operations.elementwise.kernels import dtype_or
from lessonpress.replay.operations.kinds import LARGEST, Array, Unsupported, cast, sized
from lessonpress.replay.operations.table import ALIASES, Rewritten, operation, rewrite

ALIASES.update(as_tensor="tensor", scalar_tensor="tensor", asarray="tensor")


@operation("zeros", variadic="size")
def zeros(size: Any, *, dtype: str | None = None) -> Any:
    """Zeros."""
    return np.zeros(sized(size), dtype=dtype_or(dtype, np.float64))


@operation("ones", variadic="size")
def ones(size: Any, *, dtype: str | None = None) -> Any:
    """Ones."""
    return np.ones(sized(size), dtype=dtype_or(dtype, np.float64))


@operation("full")
def full(size: Any, fill_value: Any, *, dtype: str | None = None) -> Any:
    """One value everywhere; its kind unless a dtype is given."""
    return np.full(sized(size), fill_value, dtype=dtype_or(dtype, np.asarray(fill_value).dtype.type))


def _fresh(shape: tuple[int, ...], kind: Any) -> Array:
    """An array that nobody has written."""
    if kind is np.bool_:
        raise Unsupported("bools that nobody has written")
    return np.full(shape, np.nan) if kind is np.float64 else np.full(shape, np.iinfo(np.int64).max)


@operation("empty", variadic="size")
def empty(size: Any, *, dtype: str | None = None) -> Any:
    """What torch's deterministic mode writes into fresh memory: NaN, or the largest int64; bools are Unsupported."""
    return _fresh(sized(size), dtype_or(dtype, np.float64))


@operation("zeros_like")
def zeros_like(input: Array, *, dtype: str | None = None) -> Any:
    """Zeros in the shape and kind of `input`."""
    return np.zeros(input.shape, dtype=dtype_or(dtype, input.dtype.type))


@operation("ones_like")
def ones_like(input: Array, *, dtype: str | None = None) -> Any:
    """Ones in the shape and kind of `input`."""
    return np.ones(input.shape, dtype=dtype_or(dtype, input.dtype.type))


@operation("full_like")
def full_like(input: Array, fill_value: Any, *, dtype: str | None = None) -> Any:
    """One value in the shape and kind of `input`."""
    return np.full(input.shape, fill_value, dtype=dtype_or(dtype, input.dtype.type))


@operation("empty_like")
def empty_like(input: Array, *, dtype: str | None = None) -> Any:
    """`empty` in the shape of `input`."""
    return _fresh(input.shape, dtype_or(dtype, input.dtype.type))


@operation("new_empty", variadic="size")
def new_empty(input: Array, size: Any, *, dtype: str | None = None) -> Any:
    """`empty` in the kind of `input`."""
    return _fresh(sized(size), dtype_or(dtype, input.dtype.type))


@operation("new_zeros", variadic="size")
def new_zeros(input: Array, size: Any, *, dtype: str | None = None) -> Any:
    """Zeros in the kind of `input`."""
    return np.zeros(sized(size), dtype=dtype_or(dtype, input.dtype.type))


@operation("new_ones", variadic="size")
def new_ones(input: Array, size: Any, *, dtype: str | None = None) -> Any:
    """Ones in the kind of `input`."""
    return np.ones(sized(size), dtype=dtype_or(dtype, input.dtype.type))


@operation("new_full")
def new_full(input: Array, size: Any, fill_value: Any, *, dtype: str | None = None) -> Any:
    """One value in the kind of `input`."""
    return np.full(sized(size), fill_value, dtype=dtype_or(dtype, input.dtype.type))


@operation("new_tensor")
def new_tensor(input: Array, data: Any, *, dtype: str | None = None) -> Any:
    """Nested lists of numbers in the kind of `input`."""
    return cast(data, dtype) if dtype is not None else np.asarray(data).astype(input.dtype)


@operation("tensor")
def tensor(data: Any, *, dtype: str | None = None) -> Any:
    """Nested lists of numbers as an array."""
    array = np.asarray(data)
    if not array.size and dtype is None:
        return array.astype(np.float64)
    return array.copy() if dtype is None else cast(array, dtype)


@rewrite("arange")
def arange_bounds(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """`arange(end)` counts from 0."""
    only_end = len(args) == 1 and "end" not in kwargs
    return "arange", [0, *args] if only_end else args, {"start": 0, **kwargs} if not args else kwargs


@operation("arange")
def arange(start: Any, end: Any, step: Any = 1, *, dtype: str | None = None) -> Any:
    """`start`, `start + step`, … below `end`; integers when all three are."""
    first, last, by = (np.asarray(x)[()] for x in (start, end, step))
    length = max(int(np.ceil((last - first) / by)), 0)
    sized([length])
    values = (first + np.arange(length) * by).astype(np.result_type(first, last, by))
    return values if dtype is None else cast(values, dtype)


@operation("linspace")
def linspace(start: Any, end: Any, steps: int, *, dtype: str | None = None) -> Any:
    """`steps` numbers from `start` to `end` at equal distances, counted from both ends as torch does."""
    sized([steps])
    places = np.arange(steps)
    by = (np.float64(end) - start) / max(steps - 1, 1)
    values = np.where(places < steps // 2, start + by * places, end - by * (steps - 1 - places))
    values = np.full(1, np.float64(start)) if steps == 1 else values
    return values if dtype is None else cast(values, dtype)


@operation("eye")
def eye(n: int, m: int | None = None, *, dtype: str | None = None) -> Any:
    """Ones on the diagonal."""
    rows, columns = sized([n, n if m is None else m])
    return np.eye(rows, columns, dtype=dtype_or(dtype, np.float64))


@operation("one_hot")
def one_hot(input: Array, num_classes: int = -1) -> Any:
    """For each class number a line of zeros with a one at its place."""
    n = int(input.max()) + 1 if num_classes == -1 else num_classes
    if input.size and not 0 <= input.min() <= input.max() < n:
        raise Unsupported(f"a class number beyond {n} classes")
    sized([*input.shape, min(n, LARGEST + 1)])
    return (input[..., None] == np.arange(n)).astype(np.int64)


def _indices(name: str, triangle: Any) -> None:
    """Enter `tril_indices` or `triu_indices`: the rows and columns of a triangle, as two lines."""

    @operation(name)
    def indices(row: int, col: int, offset: int = 0, *, dtype: str | None = None) -> Any:
        rows, columns = sized([row, col])
        return np.stack(np.nonzero(triangle(np.ones((rows, columns)), offset)))


_indices("tril_indices", np.tril)
_indices("triu_indices", np.triu)
