"""The same elements under another shape, joined, parted, repeated or turned round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from lessonpress.replay.operations.kinds import Array, Unsupported, axes, axis, sized
from lessonpress.replay.operations.table import ALIASES, Rewritten, layer, operation, rewrite

ALIASES.update(
    swapaxes="transpose", swapdims="transpose", concat="cat", concatenate="cat", moveaxis="movedim",
    mH="mT", adjoint="mT", H="T", row_stack="vstack",
)  # fmt: skip


class Params(TypedDict, total=False):
    """What the modules of this family are constructed with; each has some of these."""

    start_dim: int
    end_dim: int
    dim: int
    unflattened_size: Any
    padding: Any
    value: float


def _view(input: Array, shape: Sequence[int]) -> Array:
    """`input` under another shape that shares its memory where the strides allow it."""
    return input.reshape([int(n) for n in shape])


@operation("view", view=True, variadic="size")
def view(input: Array, size: Any) -> Array:
    """The same memory under another shape; -1 stands for what is left."""
    if isinstance(size, str) or any(isinstance(n, str) for n in size):
        raise Unsupported("view as another dtype")
    return _view(input, size)


@operation("reshape", view=True, variadic="shape")
def reshape(input: Array, shape: Any) -> Array:
    """Another shape, a view where the memory allows it; -1 stands for what is left."""
    return _view(input, shape)


@operation("tolist")
def tolist(input: Array) -> list[Array]:
    """Every number by itself, in row-major order: what `item` and `tolist` hand to Python."""
    return [np.asarray(value) for value in input.ravel()]


@operation("view_as", view=True)
def view_as(input: Array, other: Array) -> Array:
    """The shape of another array."""
    return input.reshape(other.shape)


@operation("reshape_as", view=True)
def reshape_as(input: Array, other: Array) -> Array:
    """The shape of another array."""
    return input.reshape(other.shape)


@operation("ravel", view=True)
def ravel(input: Array) -> Array:
    """One axis."""
    return input.reshape(-1)


@operation("flatten", view=True)
def flatten(input: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    """The axes from `start_dim` to `end_dim` merged into one."""
    first, last = axis(start_dim, input.ndim), axis(end_dim, input.ndim)
    merged = int(np.prod(input.shape[first : last + 1]))
    return input.reshape([*input.shape[:first], merged, *input.shape[last + 1 :]])


@operation("unflatten", view=True)
def unflatten(input: Array, dim: int, sizes: Any) -> Array:
    """One axis parted into several."""
    at = axis(dim, input.ndim)
    known = int(np.prod([n for n in sizes if n != -1]))
    parts = [input.shape[at] // known if n == -1 else n for n in sizes]
    return input.reshape([*input.shape[:at], *parts, *input.shape[at + 1 :]])


@operation("transpose", view=True)
def transpose(input: Array, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    return input.swapaxes(dim0, dim1) if input.ndim else input


@operation("permute", view=True, variadic="dims")
def permute(input: Array, dims: Any) -> Array:
    """The axes in another order."""
    return np.transpose(input, [int(d) for d in dims])


@operation("movedim", view=True)
def movedim(input: Array, source: Any, destination: Any) -> Array:
    """Some axes moved to other places."""
    return np.moveaxis(input, source, destination)


@operation("t", view=True)
def t(input: Array) -> Array:
    """A matrix with rows and columns exchanged."""
    return input.T


@operation("T", view=True)
def reversed_axes(input: Array) -> Array:
    """All axes in reverse order."""
    return input.T


@operation("mT", view=True)
def matrix_transpose(input: Array) -> Array:
    """The last two axes exchanged."""
    return np.swapaxes(input, -1, -2)


@operation("squeeze", view=True)
def squeeze(input: Array, dim: Any = None) -> Array:
    """Axes of length one left out: all, or those that `dim` names."""
    dims = range(input.ndim) if dim is None else axes(input, dim)
    return input.squeeze(tuple(d for d in dims if d < input.ndim and input.shape[d] == 1))


@operation("unsqueeze", view=True)
def unsqueeze(input: Array, dim: int) -> Array:
    """A new axis of length one."""
    return np.expand_dims(input, dim)


@operation("expand", view=True, variadic="size")
def expand(input: Array, size: Any) -> Array:
    """Axes of length one stretched without copying; -1 leaves an axis as it is."""
    lead = len(size) - input.ndim
    shape = [input.shape[d - lead] if n == -1 else int(n) for d, n in enumerate(size)]
    return _stretched(input, shape)


@operation("broadcast_to", view=True)
def broadcast_to(input: Array, size: Any) -> Any:
    """`expand`."""
    return expand(input, size)


@operation("broadcast_tensors", view=True, variadic="tensors")
def broadcast_tensors(tensors: Sequence[Array]) -> list[Array]:
    """All arrays stretched to their common shape."""
    shape = np.broadcast_shapes(*(x.shape for x in tensors))
    return [_stretched(x, shape) for x in tensors]


@operation("expand_as", view=True)
def expand_as(input: Array, other: Array) -> Array:
    """The shape of another array by `expand`."""
    return _stretched(input, other.shape)


def _stretched(input: Array, shape: Sequence[int]) -> Array:
    """A broadcast view that stays writable, as torch's does."""
    strides = np.broadcast_to(input, tuple(shape)).strides
    return as_strided(input, tuple(shape), strides, writeable=True)


@operation("repeat", variadic="repeats")
def repeat(input: Array, repeats: Any) -> Any:
    """Whole copies laid side by side, so many along each axis."""
    sized([*repeats, input.size])
    lead = (1,) * (len(repeats) - input.ndim)
    return np.tile(input.reshape(lead + input.shape), [int(n) for n in repeats])


@operation("tile", variadic="dims")
def tile(input: Array, dims: Any) -> Any:
    """`repeat` that needs no number for the leading axes."""
    return repeat(input, (1,) * (input.ndim - len(dims)) + tuple(dims))


@operation("repeat_interleave")
def repeat_interleave(input: Array, repeats: Any, dim: int | None = None, *, output_size: Any = None) -> Any:
    """Each element repeated in place, along `dim` or of the flattened array."""
    sized([int(np.max(repeats)), input.size])
    return np.repeat(input, repeats, axis=dim)


@operation("flip", variadic="dims")
def flip(input: Array, dims: Any) -> Any:
    """The elements along some axes in reverse order, as a copy."""
    return np.flip(input, tuple(int(d) for d in dims)).copy()


@operation("fliplr")
def fliplr(input: Array) -> Any:
    """The second axis reversed."""
    return np.flip(input, 1).copy()


@operation("flipud")
def flipud(input: Array) -> Any:
    """The first axis reversed."""
    return np.flip(input, 0).copy()


@operation("roll")
def roll(input: Array, shifts: Any, dims: Any = None) -> Any:
    """The elements moved on along some axes; what leaves at the end comes in at the front."""
    several = isinstance(dims, list | tuple)
    if several and not dims:
        dims = None
    return np.roll(input, shifts, axis=tuple(dims) if several and dims else dims)


@operation("cat")
def cat(tensors: Sequence[Array], dim: int = 0) -> Any:
    """Arrays joined along an axis that they have."""
    joined = [x for x in tensors if x.shape != (0,)] or list(tensors[:1])
    return np.concatenate(joined, axis=dim)


@operation("stack")
def stack(tensors: Sequence[Array], dim: int = 0) -> Any:
    """Arrays joined along a new axis."""
    return np.stack(list(tensors), axis=dim)


@operation("hstack")
def hstack(tensors: Sequence[Array]) -> Any:
    """Arrays joined along the second axis, or the only one."""
    return np.hstack(list(tensors))


@operation("vstack")
def vstack(tensors: Sequence[Array]) -> Any:
    """Arrays joined along the first axis, lines as rows."""
    return np.vstack(list(tensors))


@operation("split", view=True)
def split(tensor: Array, split_size_or_sections: Any, dim: int = 0) -> list[Array]:
    """Views of consecutive parts along `dim`, of one length or of the lengths given."""
    n = tensor.shape[dim]
    if isinstance(split_size_or_sections, list | tuple):
        sizes = [int(size) for size in split_size_or_sections]
    else:
        step = int(split_size_or_sections)
        sizes = [min(step, n - start) for start in range(0, n, step)] or [0]
    return list(np.split(tensor, np.cumsum(sizes)[:-1], axis=dim))


@rewrite("split_with_sizes")
def split_with_sizes(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """`split` by lengths."""
    return "split", args, kwargs


@operation("chunk", view=True)
def chunk(input: Array, chunks: int, dim: int = 0) -> list[Array]:
    """Views of at most so many parts of equal length (the last may be shorter)."""
    parts: list[Array] = split(input, max(-(-input.shape[dim] // chunks), 1), dim)
    return parts


@operation("unbind", view=True)
def unbind(input: Array, dim: int = 0) -> list[Array]:
    """Views of each slice along `dim`."""
    return [np.moveaxis(input, dim, 0)[i, ...] for i in range(input.shape[dim])]


@operation("unfold", view=True)
def unfold(input: Array, dimension: int, size: int, step: int) -> Array:
    """Windows along an axis; the window's elements form a new last axis."""
    if not isinstance(dimension, int):
        raise Unsupported("unfold of images")
    at = axis(dimension, input.ndim)
    windows = sliding_window_view(input, size, axis=at, writeable=True)
    return windows[(slice(None),) * at + (slice(None, None, step),)]


@operation("diagonal", view=True)
def diagonal(input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """A view of the diagonal of two axes, as a new last axis."""
    matrices = np.moveaxis(input, (dim1, dim2), (-2, -1))[..., max(-offset, 0) :, max(offset, 0) :]
    down, right = matrices.strides[-2:]
    shape = (*matrices.shape[:-2], min(matrices.shape[-2:]))
    return as_strided(matrices, shape, (*matrices.strides[:-2], down + right), writeable=True)


@operation("diag")
def diag(input: Array, diagonal: int = 0) -> Any:
    """A matrix with the given diagonal, or a matrix' diagonal."""
    sized([input.shape[0], input.shape[0]])
    return np.diag(input, diagonal).copy()


@operation("tril")
def tril(input: Array, diagonal: int = 0) -> Any:
    """Zeros above a diagonal of the last two axes."""
    return np.tril(input, diagonal)


@operation("triu")
def triu(input: Array, diagonal: int = 0) -> Any:
    """Zeros below a diagonal of the last two axes."""
    return np.triu(input, diagonal)


@operation("pad")
def pad(input: Array, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Any:
    """Values added before and after the last axes (pairs, the last axis first); negative numbers cut off."""
    if mode != "constant":
        raise Unsupported(f"pad with mode {mode}")
    pairs = [(0, 0)] * (input.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    grown = [(max(a, 0), max(b, 0)) for a, b in pairs]
    sized([n + a + b for n, (a, b) in zip(input.shape, grown, strict=True)])
    whole = np.pad(input, grown, constant_values=0 if value is None else value)
    return whole[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, whole.shape, strict=True))].copy()


@operation("meshgrid", view=True, variadic="tensors")
def meshgrid(tensors: Sequence[Array], indexing: str = "ij") -> list[Array]:
    """Each line's values over the grid that all lines span."""
    sized([x.size for x in tensors])
    return [np.array(x) for x in np.meshgrid(*tensors, indexing="xy" if indexing == "xy" else "ij")]


@layer(view=True)
def Identity(w: Any, p: Params, input: Array) -> Array:
    """The input itself."""
    return input


@layer(view=True, start_dim=1, end_dim=-1)
def Flatten(w: Any, p: Params, input: Array) -> Any:
    """The axes after the first merged into one."""
    return flatten(input, p["start_dim"], p["end_dim"])


@layer(view=True)
def Unflatten(w: Any, p: Params, input: Array) -> Any:
    """One axis parted into several."""
    return unflatten(input, p["dim"], p["unflattened_size"])


def _padding(name: str) -> None:
    """Enter a leaf module that pads the last axes with a constant."""

    def forward(w: Any, p: Params, input: Array) -> Any:
        margins = p["padding"]
        several = margins if isinstance(margins, list | tuple) else [margins] * (2 * int(name[-2]))
        return pad(input, several, value=p["value"])

    forward.__name__ = name
    layer(value=0.0)(forward)


for _name in ["ZeroPad1d", "ZeroPad2d", "ConstantPad1d", "ConstantPad2d"]:
    _padding(_name)


@operation("tensor_split", view=True)
def tensor_split(input: Array, indices_or_sections: Any, dim: int = 0) -> list[Array]:
    """Views of so many parts of nearly equal length, the longer ones first, or cut at the given places."""
    if isinstance(indices_or_sections, np.ndarray):
        raise Unsupported("places to cut that are a tensor")
    return list(np.array_split(input, indices_or_sections, axis=dim))
