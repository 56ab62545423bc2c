"""Products of matrices and vectors, the affine maps built on them, and embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypedDict

import numpy as np

from lessonpress.replay.operations.kinds import Array, Unsupported, affordable, sized
from lessonpress.replay.operations.table import ALIASES, Rewritten, layer, operation, rewrite

Weights = Mapping[str, Array]

ALIASES.update(
    linalg_matmul="matmul", ger="outer", vdot="dot",
    NonDynamicallyQuantizableLinear="Linear",  # the output layer of an attention
)  # fmt: skip


class Params(TypedDict, total=False):
    """What the embeddings are constructed with; the other modules need nothing of theirs."""

    max_norm: float | None
    norm_type: float
    mode: str
    include_last_offset: bool
    padding_idx: int | None


def _product(first: Array, second: Array) -> Any:
    """The matrix product, refused (Unsupported) where it would be too large for a replay."""
    inner = max(first.shape[-1], 1)
    affordable(first.size / inner * second.size / inner)
    return np.matmul(first, second)


@operation("matmul")
def matmul(input: Array, other: Array) -> Any:
    """The matrix product; vectors lose their axis, leading axes broadcast."""
    return _product(input, other)


@operation("mm")
def mm(input: Array, mat2: Array) -> Any:
    """The product of two matrices."""
    return _product(input, mat2)


@operation("bmm")
def bmm(input: Array, mat2: Array) -> Any:
    """The products of two stacks of matrices."""
    return _product(input, mat2)


@operation("mv")
def mv(input: Array, vec: Array) -> Any:
    """A matrix times a vector."""
    return _product(input, vec)


@operation("dot")
def dot(input: Array, tensor: Array) -> Any:
    """The sum of two vectors' elementwise products."""
    return np.dot(input, tensor)


@operation("inner")
def inner(input: Array, other: Array) -> Any:
    """The product over the last axes."""
    affordable(float(input.size) * other.size)
    return np.inner(input, other)


@operation("outer")
def outer(input: Array, vec2: Array) -> Any:
    """Each element of one vector times each of the other."""
    sized([input.size, vec2.size])
    return np.outer(input, vec2)


@operation("addmm")
def addmm(input: Array, mat1: Array, mat2: Array, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta input + alpha mat1 mat2`."""
    return beta * input + alpha * _product(mat1, mat2)


@operation("trace")
def trace(input: Array) -> Any:
    """The sum of a matrix' diagonal."""
    return np.trace(input)


@operation("tensordot")
def tensordot(a: Array, b: Array, dims: Any = 2) -> Any:
    """The sum over the last `dims` axes of one array and the first of the other, or over two lists of axes."""
    affordable(float(a.size) * b.size)
    return np.tensordot(a, b, axes=dims)


@operation("cdist")
def cdist(x1: Array, x2: Array, p: float = 2.0, compute_mode: Any = None) -> Any:
    """The p-norm distance of every row of one array to every row of the other."""
    affordable(float(x1.size) * x2.shape[-2])
    off = np.abs(x1[..., :, None, :] - x2[..., None, :, :])
    return (off**p).sum(axis=-1) ** (1 / p) if p not in (0, np.inf) else _far(off, p)


def _far(off: Array, p: float) -> Any:
    """The distances for p = 0 (how many differ) and p = ∞ (the largest)."""
    return off.max(axis=-1) if p else np.asarray((off != 0).sum(axis=-1), dtype=np.float64)


@rewrite("addmv")
def addmv(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """`addmm` with a vector."""
    return "addmm", args, kwargs


@rewrite("baddbmm")
def baddbmm(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """`addmm` for stacks of matrices."""
    return "addmm", args, kwargs


@operation("einsum", variadic="operands")
def einsum(equation: str, operands: Sequence[Array]) -> Any:
    """The sum of products that Einstein's notation describes."""
    affordable(_combinations(equation, operands))
    return np.einsum(equation, *operands)


def _combinations(equation: str, operands: Sequence[Array]) -> float:
    """At most how many terms an equation adds up: the product of its letters' lengths, the dots' included."""
    sizes: dict[str, int] = {}
    for term, x in zip(equation.split("->")[0].replace(" ", "").split(","), operands, strict=True):
        before, dots, after = term.partition("...")
        spare = x.ndim - len(before) - len(after) if dots else 0
        letters = [*before, *(str(spare - i) for i in range(spare)), *after]
        for letter, n in zip(letters, x.shape, strict=True):
            sizes[letter] = max(n, sizes.get(letter, 1))
    return float(np.prod(list(sizes.values()), dtype=np.float64))


@operation("linear")
def linear(input: Array, weight: Array, bias: Array | None = None) -> Any:
    """`input Wᵀ + b`; a weight is [out, in]."""
    product = _product(input, weight.T)
    return product if bias is None else product + bias


@operation("bilinear")
def bilinear(input1: Array, input2: Array, weight: Array, bias: Array | None = None) -> Any:
    """`x₁ᵀ A x₂ + b`; a weight is [out, in₁, in₂]."""
    product = np.einsum("...i,oij,...j->...o", input1, weight, input2)
    return product if bias is None else product + bias


@operation("embedding")
def embedding(
    input: Array, weight: Array, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The weight's row for each id; with `max_norm` the rows are shortened first, as `embedding_renorm` does."""
    _require_ids(input, weight)
    if max_norm is not None:
        embedding_renorm(weight, input, max_norm, norm_type)
    return weight[input]


def _require_ids(ids: Array, table: Array) -> None:
    """Refuse (Unsupported) an id that a table does not have."""
    if ids.size and not 0 <= ids.min() <= ids.max() < len(table):
        raise Unsupported(f"an id beyond the {len(table)} of the table")


@operation("embedding_renorm", writes=True)
def embedding_renorm(input: Array, indices: Array, max_norm: float, norm_type: float = 2.0) -> Any:
    """A table whose rows that are asked for, and are longer than `max_norm`, were shortened to it in place."""
    _require_ids(indices, input)
    for row in np.unique(indices):
        length = np.linalg.norm(input[row], ord=norm_type)
        if length > max_norm:
            input[row] *= max_norm / (length + 1e-7)
    return input


@layer(bias=True)
def Linear(w: Weights, p: Params, input: Array) -> Any:
    """`linear` with the module's weights."""
    return linear(input, w["weight"], w.get("bias"))


@layer(bias=True)
def Bilinear(w: Weights, p: Params, input1: Array, input2: Array) -> Any:
    """`bilinear` with the module's weights."""
    return bilinear(input1, input2, w["weight"], w.get("bias"))


@layer(max_norm=None, norm_type=2.0)
def Embedding(w: Weights, p: Params, input: Array) -> Any:
    """`embedding` with the module's weights."""
    return embedding(input, w["weight"], max_norm=p["max_norm"], norm_type=p["norm_type"])


@operation("embedding_bag")
def embedding_bag(
    input: Array, weight: Array, offsets: Any = None, max_norm: Any = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: Any = None,
) -> Any:  # fmt: skip
    """The sum, mean or maximum of the rows that each bag of ids names; an empty bag gives zeros.

    Raises Unsupported for `max_norm`, which writes into the weights, and for ids that there are not.
    """
    if max_norm is not None or np.any((input < 0) | (input >= len(weight))):
        raise Unsupported("ids without a row, or max_norm")
    if offsets is None:
        bags = [range(at * input.shape[1], (at + 1) * input.shape[1]) for at in range(len(input))]
    else:
        ends = [*offsets.tolist(), *([] if include_last_offset else [input.size])]
        bags = [range(start, end) for start, end in pairwise(ends)]
    ids = input.reshape(-1)
    shares = np.ones(ids.size) if per_sample_weights is None else per_sample_weights.reshape(-1)
    padding = None if padding_idx is None else padding_idx % len(weight)
    out = np.zeros((len(bags), weight.shape[1]))
    for at, bag in enumerate(bags):
        kept = [i for i in bag if ids[i] != padding]
        rows = weight[ids[kept]] * shares[kept, None]
        if kept:
            out[at] = rows.max(0) if mode == "max" else rows.sum(0) / (len(kept) if mode == "mean" else 1)
    return out


@layer(mode="mean", max_norm=None, include_last_offset=False, padding_idx=None)
def EmbeddingBag(w: Weights, p: Params, input: Array, offsets: Any = None, per_sample_weights: Any = None) -> Any:
    """`embedding_bag` with the module's weights."""
    return embedding_bag(
        input, w["weight"], offsets, p["max_norm"], mode=p["mode"], per_sample_weights=per_sample_weights,
        include_last_offset=p["include_last_offset"], padding_idx=p["padding_idx"],
    )
