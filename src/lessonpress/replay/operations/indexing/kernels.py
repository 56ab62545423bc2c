"""Picking elements and writing them back: `x[…]`, `x[…] = y`, gather and scatter.

torch's rule and not numpy's: integers, slices, None and Ellipsis are applied first and give a view; arrays of
integers or bools are applied to what is left and give a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lessonpress.replay.operations.kinds import Array, Unsupported, axis
from lessonpress.replay.operations.table import ALIASES, Rewritten, operation, rewrite

ALIASES.update(take_along_axis="take_along_dim")


def _entries(index: Any) -> list[Any]:
    """The parts of an index; a lone part is one of a tuple's."""
    return list(index) if isinstance(index, tuple | list) else [index]


def _integer(part: Any) -> bool:
    """Whether a part picks one slice: a Python integer or an integer array without axes."""
    if isinstance(part, bool | np.bool_):
        return False
    return isinstance(part, int | np.integer) or (
        isinstance(part, np.ndarray) and part.ndim == 0 and part.dtype.kind == "i"
    )


def _bound(end: Any) -> int | None:
    """A slice's end as an integer."""
    return None if end is None else int(end)


def _parted(x: Array, index: Any) -> tuple[Array, tuple[Any, ...] | None]:
    """The view that the basic parts give, and the advanced index (or None) that is to be applied to it."""
    basic: list[Any] = []
    advanced: list[Any] = []
    for part in _spread_out(_entries(index), x.ndim):
        if _integer(part):
            basic.append(int(part))
            continue
        if part is None or isinstance(part, slice):
            whole = part if part is None else slice(_bound(part.start), _bound(part.stop), _bound(part.step))
            basic.append(whole)
            advanced.append(slice(None))
        elif isinstance(part, bool | np.bool_) or np.ndim(part) == 0:
            basic.append(None)
            advanced.append(np.asarray([bool(part)]))
        else:
            array = np.asarray(part)
            basic.extend([slice(None)] * (array.ndim if array.dtype.kind == "b" else 1))
            advanced.append(array if array.size else array.astype(np.int64))
    plain = all(isinstance(part, slice) for part in advanced)
    return x[(*basic, Ellipsis)], None if plain else tuple(advanced)


def _spread_out(entries: list[Any], rank: int) -> list[Any]:
    """The parts of an index with Ellipsis written out as full slices."""
    if not any(part is Ellipsis for part in entries):
        return entries
    at = next(i for i, part in enumerate(entries) if part is Ellipsis)
    taken = sum(_consumed(part) for part in entries if part is not Ellipsis)
    return [*entries[:at], *[slice(None)] * (rank - taken), *entries[at + 1 :]]


def _consumed(part: Any) -> int:
    """How many axes a part uses up."""
    if part is None or isinstance(part, bool | np.bool_):
        return 0
    array = isinstance(part, np.ndarray) and part.dtype.kind == "b"
    return int(part.ndim) if array else 1


@operation("getitem", view=True)
def getitem(input: Array, index: Any) -> Array:
    """`input[index]`: a view for integers, slices, None and Ellipsis, a copy for arrays."""
    seen, advanced = _parted(input, index)
    return seen if advanced is None else np.asarray(seen[advanced])


@operation("setitem", writes=True)
def setitem(input: Array, index: Any, value: Any) -> Array:
    """`input[index] = value`, cast to the kind of `input`; returns `input`."""
    seen, advanced = _parted(input, index)
    source = np.asarray(value).astype(input.dtype)
    if advanced is None:
        seen[...] = _trimmed(source, seen.ndim)
    else:
        seen[advanced] = source
    return input


def _trimmed(source: Array, rank: int) -> Array:
    """A value without leading axes of length one beyond its target's."""
    while source.ndim > rank and source.shape[0] == 1:
        source = source[0]
    return source


@operation("select", view=True)
def select(input: Array, dim: int, index: Any) -> Array:
    """One slice along `dim`, as a view."""
    return input[(slice(None),) * axis(dim, input.ndim) + (int(index), Ellipsis)]


@operation("narrow", view=True)
def narrow(input: Array, dim: int, start: Any, length: int) -> Array:
    """`length` slices along `dim` from `start` on, as a view."""
    first = int(start) % input.shape[dim] if int(start) < 0 else int(start)
    return input[(slice(None),) * axis(dim, input.ndim) + (slice(first, first + length),)]


def _require_places(index: Array, n: int) -> None:
    """Refuse (Unsupported) places that torch refuses: these operations do not count from the end."""
    if index.size and not 0 <= index.min() <= index.max() < n:
        raise Unsupported(f"a place beyond the {n} that there are")


@operation("index_select")
def index_select(input: Array, dim: int, index: Array) -> Any:
    """The slices along `dim` at the given places."""
    _require_places(index, input.shape[axis(dim, input.ndim)])
    return np.take(input, index.reshape(-1), axis=dim)


@operation("take")
def take(input: Array, index: Array) -> Any:
    """The elements at the given places of the flattened array."""
    return np.take(input, index)


@operation("masked_select")
def masked_select(input: Array, mask: Array) -> Any:
    """The elements where the mask holds, on one axis."""
    shape = np.broadcast_shapes(input.shape, mask.shape)
    return np.broadcast_to(input, shape)[np.broadcast_to(mask, shape)]


@operation("masked_scatter")
def masked_scatter(input: Array, mask: Array, source: Array) -> Any:
    """The elements where the mask holds replaced by those of `source`, in order."""
    shape = np.broadcast_shapes(input.shape, mask.shape)
    result, chosen = np.array(np.broadcast_to(input, shape)), np.broadcast_to(mask, shape)
    if source.size < np.count_nonzero(chosen):
        raise Unsupported("fewer numbers than places for them")
    result[chosen] = source.reshape(-1)[: np.count_nonzero(chosen)]
    return result


@operation("as_strided", view=True)
def as_strided(input: Array, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    """Another look at the memory of an array: elements so far apart along each axis. Unsupported beyond its end."""
    sizes, steps, start = [int(n) for n in size], [int(n) for n in stride], int(storage_offset or 0)
    last = start + sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))
    if not input.flags.c_contiguous or (input.base is not None and storage_offset) or last >= input.size or 0 in sizes:
        raise Unsupported("a look at memory that the replay lays out in another way")
    width = input.itemsize
    flat = input.reshape(-1)[start:]
    return np.lib.stride_tricks.as_strided(flat, sizes, [step * width for step in steps])


@operation("nonzero")
def nonzero(input: Array, *, as_tuple: bool = False) -> Any:
    """The places of elements that are not zero, one a row (or one array an axis)."""
    return list(np.nonzero(input)) if as_tuple else np.argwhere(input)


@rewrite("where")
def places_where(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """`where(condition)` alone is `nonzero(condition, as_tuple=True)`."""
    alone = len(args) + len(kwargs) == 1
    return ("nonzero", args, {"as_tuple": True}) if alone else ("where", args, kwargs)


@operation("gather")
def gather(input: Array, dim: int, index: Array) -> Any:
    """Along `dim` the element at the place that `index` names, for each element of `index`."""
    return input[_grid(input, dim, index)]


def _grid(input: Array, dim: int, index: Array) -> tuple[Any, ...]:
    """The full index whose part along `dim` is `index` and whose other parts count its places."""
    if input.ndim:
        _require_places(index, input.shape[axis(dim, input.ndim)])
    grid: list[Any] = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    grid[axis(dim, input.ndim)] = index
    return tuple(grid)


@operation("take_along_dim")
def take_along_dim(input: Array, indices: Array, dim: int | None = None) -> Any:
    """`gather` with broadcasting of the other axes, or of the flattened arrays without an axis."""
    if dim is None:
        return input.reshape(-1)[indices.reshape(-1)]
    return np.take_along_axis(input, indices, axis=dim)


@operation("scatter")
def scatter(input: Array, dim: int, index: Array, src: Any = None, *, value: Any = None, reduce: Any = None) -> Any:
    """A copy with `src` written along `dim` at the places that `index` names, the last of equals staying."""
    if reduce is not None:
        raise Unsupported("scatter with reduce")
    out = input.copy()
    out[_grid(input, dim, index)] = _source(value if src is None else src, index)
    return out


def _source(src: Any, index: Array) -> Any:
    """The part of a scatter's source that its index covers."""
    array = np.asarray(src)
    return array[tuple(slice(n) for n in index.shape)] if array.ndim else array


@operation("scatter_add")
def scatter_add(input: Array, dim: int, index: Array, src: Any) -> Any:
    """A copy with `src` added along `dim` at the places that `index` names."""
    out = input.copy()
    np.add.at(out, _grid(input, dim, index), _source(src, index))
    return out


@operation("index_add")
def index_add(input: Array, dim: int, index: Array, source: Array, *, alpha: Any = 1) -> Any:
    """A copy with the slices of `source` added along `dim` at the given places."""
    _require_places(index, input.shape[axis(dim, input.ndim)])
    out = input.copy()
    np.add.at(np.moveaxis(out, dim, 0), index, alpha * np.moveaxis(source, dim, 0))
    return out


@operation("index_copy")
def index_copy(input: Array, dim: int, index: Array, source: Array) -> Any:
    """A copy with the slices of `source` written along `dim` at the given places."""
    _require_places(index, input.shape[axis(dim, input.ndim)])
    out = input.copy()
    np.moveaxis(out, dim, 0)[index] = np.moveaxis(source, dim, 0)
    return out


@operation("index_fill")
def index_fill(input: Array, dim: int, index: Array, value: Any) -> Any:
    """A copy with one value in the slices along `dim` at the given places."""
    out = input.copy()
    np.moveaxis(out, dim, 0)[index] = value
    return out


@operation("index_put")
def index_put(input: Array, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A copy with values written, or added, at the places that one array an axis names."""
    out = input.copy()
    index = tuple(indices)
    if accumulate:
        np.add.at(out, index, values)
    else:
        out[index] = values
    return out


def _find(edges: Array, values: Any, right: bool) -> Any:
    """How many edges are below each value (`right`: or equal to it)."""
    if edges.ndim != 1:
        raise Unsupported("edges of their own for each line")
    return np.searchsorted(edges, np.asarray(values), side="right" if right else "left").astype(np.int64)


@operation("bucketize")
def bucketize(input: Any, boundaries: Array, *, out_int32: bool = False, right: bool = False) -> Any:
    """The number of the interval between `boundaries` in which each element lies."""
    return _find(boundaries, input, right)


@operation("searchsorted")
def searchsorted(
    sorted_sequence: Array, input: Any, *, out_int32: bool = False, right: bool = False, side: Any = None,
    sorter: Any = None,
) -> Any:  # fmt: skip
    """The place in a sorted sequence before which each element would stand."""
    if sorter is not None:
        raise Unsupported("searchsorted with a sorter")
    return _find(sorted_sequence, input, right or side == "right")


@operation("bincount")
def bincount(input: Array, weights: Array | None = None, minlength: int = 0) -> Any:
    """How often each whole number occurs, from 0 on, or the sum of the weights there."""
    if input.size and input.min() < 0:
        raise Unsupported("a count of numbers below 0")
    counts = np.bincount(input, weights, minlength)
    return counts if weights is not None else counts.astype(np.int64)
