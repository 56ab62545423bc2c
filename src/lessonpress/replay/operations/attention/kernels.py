"""Scaled dot-product attention and the multi-head module built on it (Vaswani et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np

from lessonpress.replay.operations.activations.kernels import softmax
from lessonpress.replay.operations.kinds import Array, Unsupported
from lessonpress.replay.operations.products.kernels import linear
from lessonpress.replay.operations.table import layer, operation

Weights = Mapping[str, Array]


class Params(TypedDict, total=False):
    """What the multi-head module is constructed with, and whether it trains."""

    num_heads: int
    dropout: float
    add_zero_attn: bool
    batch_first: bool
    training: bool


@operation("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Array, key: Array, value: Array, attn_mask: Array | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """`softmax(scale Q Kᵀ + mask) V` over [..., length, features].

    A bool mask tells what takes part, a float mask is added; a query without any key gives zeros, as in torch.
    """
    if dropout_p > 0:
        raise Unsupported("random numbers are drawn inside it")
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = np.repeat(key, times, axis=-3), np.repeat(value, times, axis=-3)
    size = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) * size
    if is_causal:
        attn_mask = np.tril(np.ones(scores.shape[-2:], dtype=bool))
    if attn_mask is None:
        return np.matmul(softmax(scores, -1), value)
    scores = np.where(attn_mask, scores, -np.inf) if attn_mask.dtype.kind == "b" else scores + attn_mask
    empty = np.all(scores == -np.inf, axis=-1, keepdims=True)
    return np.matmul(np.where(empty, 0.0, softmax(scores, -1)), value)


def _added(mask: Array | None) -> Any:
    """A mask of MultiheadAttention as numbers to add: minus infinity where a bool mask hides."""
    if mask is None:
        return 0.0
    return np.where(mask, -np.inf, 0.0) if mask.dtype.kind == "b" else mask


def _projections(w: Weights, inputs: tuple[Array, Array, Array]) -> list[Array]:
    """Query, key and value after their projections, packed in one weight or in three."""
    bias = np.split(w["in_proj_bias"], 3) if "in_proj_bias" in w else [None] * 3
    if "in_proj_weight" in w:
        weights = np.split(w["in_proj_weight"], 3)
    else:
        weights = [w[f"{name}_proj_weight"] for name in "qkv"]
    return [linear(x, *pair) for x, pair in zip(inputs, zip(weights, bias, strict=True), strict=True)]


@layer(
    dropout=0.0, bias=True, add_zero_attn=False, kdim=None, vdim=None, batch_first=False,
    training=False,
)  # fmt: skip
def MultiheadAttention(
    w: Weights, p: Params, query: Array, key: Array, value: Array, key_padding_mask: Array | None = None,
    need_weights: bool = True, attn_mask: Array | None = None, average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:  # fmt: skip
    """The attended values and, when needed, the weights (averaged over heads or one matrix a head).

    Bool masks hide what is true; a causal call without its mask is refused (Unsupported), as torch refuses it.
    """
    if p["dropout"] > 0 and p["training"]:
        raise Unsupported("random numbers are drawn inside it")
    if "bias_k" in w or p["add_zero_attn"]:
        raise Unsupported("attention with an added key")
    if is_causal and attn_mask is None:
        raise Unsupported("a causal call without its mask")
    batched, heads = query.ndim == 3, p["num_heads"]
    turn = (0, 1, 2) if p["batch_first"] else (1, 0, 2)
    inputs = [x.transpose(turn) if batched else x[None] for x in (query, key, value)]  # [batch, length, features]
    q, k, v = _projections(w, (inputs[0], inputs[1], inputs[2]))
    batch, length, width = q.shape
    q, k, v = (x.reshape([batch, -1, heads, width // heads]).swapaxes(1, 2) for x in (q, k, v))
    scores = np.matmul(q / math.sqrt(width // heads), k.swapaxes(-1, -2))  # [batch, heads, length, source]
    scores = scores + _per_head(_added(attn_mask), batch, heads) + _padding(_added(key_padding_mask), batch)
    weights = softmax(scores, -1)
    joined = np.matmul(weights, v).swapaxes(1, 2).reshape([batch, length, width])
    out = linear(joined, w["out_proj.weight"], w.get("out_proj.bias"))
    out = out.transpose(turn) if batched else out[0]
    if not need_weights:
        return out, None
    weights = weights.mean(axis=1) if average_attn_weights else weights
    return out, weights if batched else weights[0]


def _per_head(mask: Any, batch: int, heads: int) -> Any:
    """An attention mask that meets [batch, heads, length, source]."""
    return mask.reshape([batch, heads, *mask.shape[-2:]]) if np.ndim(mask) == 3 else mask


def _padding(mask: Any, batch: int) -> Any:
    """A padding mask that meets [batch, heads, length, source]."""
    return np.reshape(mask, [batch, 1, 1, -1]) if np.ndim(mask) else mask
