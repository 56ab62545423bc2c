"""Products of matrices and vectors, the affine maps built on them, and embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lessonpress.operations.kinds import Array, Unsupported, sized
from lessonpress.operations.table import ALIASES, Rewritten, layer, operation, rewrite

Weights = Mapping[str, Array]
Params = Mapping[str, Any]

ALIASES.update(linalg_matmul="matmul", ger="outer", vdot="dot")


@operation("matmul")
def matmul(input: Array, other: Array) -> Any:
    """The matrix product; vectors lose their axis, leading axes broadcast."""
    return np.matmul(input, other)


@operation("mm")
def mm(input: Array, mat2: Array) -> Any:
    """The product of two matrices."""
    return np.matmul(input, mat2)


@operation("bmm")
def bmm(input: Array, mat2: Array) -> Any:
    """The products of two stacks of matrices."""
    return np.matmul(input, mat2)


@operation("mv")
def mv(input: Array, vec: Array) -> Any:
    """A matrix times a vector."""
    return np.matmul(input, vec)


@operation("dot")
def dot(input: Array, tensor: Array) -> Any:
    """The sum of two vectors' elementwise products."""
    return np.dot(input, tensor)


@operation("inner")
def inner(input: Array, other: Array) -> Any:
    """The product over the last axes."""
    return np.inner(input, other)


@operation("outer")
def outer(input: Array, vec2: Array) -> Any:
    """Each element of one vector times each of the other."""
    sized([input.size, vec2.size])
    return np.outer(input, vec2)


@operation("addmm")
def addmm(input: Array, mat1: Array, mat2: Array, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta input + alpha mat1 mat2`."""
    return beta * input + alpha * np.matmul(mat1, mat2)


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
    return np.einsum(equation, *operands)


@operation("linear")
def linear(input: Array, weight: Array, bias: Array | None = None) -> Any:
    """`input Wᵀ + b`; a weight is [out, in]."""
    product = np.matmul(input, weight.T)
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
    """The weight's row for each id.

    Raises Unsupported with `max_norm`, which rewrites the weights as they are read.
    """
    if max_norm is not None:
        raise Unsupported("embedding with max_norm")
    return weight[input]


@layer(bias=True)
def Linear(w: Weights, p: Params, input: Array) -> Any:
    """`linear` with the module's weights."""
    return linear(input, w["weight"], w.get("bias"))


@layer(bias=True)
def Bilinear(w: Weights, p: Params, input1: Array, input2: Array) -> Any:
    """`bilinear` with the module's weights."""
    return bilinear(input1, input2, w["weight"], w.get("bias"))


@layer(max_norm=None)
def Embedding(w: Weights, p: Params, input: Array) -> Any:
    """`embedding` with the module's weights."""
    return embedding(input, w["weight"], max_norm=p["max_norm"])
