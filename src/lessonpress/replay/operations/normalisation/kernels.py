"""Normalisation over features, groups of channels, or the batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np

from lessonpress.replay.operations.kinds import Array, Unsupported
from lessonpress.replay.operations.table import layer, operation

Weights = Mapping[str, Array]
SMALLEST = {"float32": 2.0**-23, "float64": 2.0**-52}


class Params(TypedDict, total=False):
    """What the modules of this family are constructed with; each has some of these."""

    normalized_shape: Any
    num_groups: int
    eps: Any
    momentum: float | None
    training: bool
    dtype: str


def _scaled(x: Array, weight: Array | None, bias: Array | None) -> Array:
    """`x` times a weight plus a bias, where there are any."""
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _standard(x: Array, axes: tuple[int, ...], eps: float) -> Any:
    """`x` with mean zero and variance one over some axes."""
    centred = x - x.mean(axis=axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + eps)


def _channels(vector: Any, rank: int) -> Any:
    """A value for every channel, shaped so that it meets axis 1."""
    return None if vector is None else vector.reshape([1, -1] + [1] * (rank - 2))


@operation("layer_norm")
def layer_norm(input: Array, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean zero and variance one over the last axes, then scaled and shifted."""
    rank = len(normalized_shape) if isinstance(normalized_shape, list | tuple) else 1
    return _scaled(_standard(input, tuple(range(-rank, 0)), eps), weight, bias)


@operation("rms_norm")
def rms_norm(input: Array, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """Divided by the root of the mean square over the last axes, then scaled.

    Raises Unsupported without `eps`: torch then takes the smallest step of the input's own dtype.
    """
    if eps is None:
        raise Unsupported("rms_norm without eps")
    rank = len(normalized_shape) if isinstance(normalized_shape, list | tuple) else 1
    mean = (input**2).mean(axis=tuple(range(-rank, 0)), keepdims=True)
    return _scaled(input / np.sqrt(mean + eps), weight, None)


@operation("group_norm")
def group_norm(input: Array, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean zero and variance one over each group of channels, then scaled and shifted a channel."""
    grouped = input.reshape([input.shape[0], num_groups, -1])
    result = _standard(grouped, (-1,), eps).reshape(input.shape)
    return _scaled(result, _channels(weight, input.ndim), _channels(bias, input.ndim))


@operation("batch_norm", writes=True)
def batch_norm(
    input: Array, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Normalised a channel by the running figures, or in training by the batch's, which then update the running."""
    rank = input.ndim
    axes = (0, *range(2, rank))
    mean, var = running_mean, running_var
    if training or running_mean is None:
        mean, var = input.mean(axis=axes), input.var(axis=axes)
        if training and running_mean is not None:
            n = input.size // input.shape[1]
            running_mean[...] = (1 - momentum) * running_mean + momentum * mean
            running_var[...] = (1 - momentum) * running_var + momentum * var * (n / max(n - 1, 1))
    centred = (input - _channels(mean, rank)) / np.sqrt(_channels(var, rank) + eps)
    return _scaled(centred, _channels(weight, rank), _channels(bias, rank))


def _batch_norm(w: Weights, p: Params, x: Array) -> Any:
    """`batch_norm` with a module's weights and running figures."""
    momentum = p["momentum"]
    if p["training"] and "num_batches_tracked" in w:
        w["num_batches_tracked"][...] += 1
        momentum = 1 / float(w["num_batches_tracked"]) if momentum is None else momentum
    figures = w.get("running_mean"), w.get("running_var")
    return batch_norm(x, *figures, w.get("weight"), w.get("bias"), p["training"], momentum or 0.0, p["eps"])


def _instance_norm(x: Array, weight: Any, bias: Any, eps: float) -> Any:
    """Mean zero and variance one over each channel of each item, then scaled and shifted a channel."""
    result = _standard(x, tuple(range(2, x.ndim)), eps)
    return _scaled(result, _channels(weight, x.ndim), _channels(bias, x.ndim))


@operation("instance_norm")
def instance_norm(
    input: Array, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Normalised over each channel of each item; with running figures it is refused (Unsupported)."""
    if running_mean is not None or not use_input_stats:
        raise Unsupported("instance_norm with running figures")
    return _instance_norm(input, weight, bias, eps)


@layer(eps=1e-5, momentum=0.1, affine=False, track_running_stats=False)
def InstanceNorm1d(w: Weights, p: Params, input: Array) -> Any:
    """`instance_norm` of [batch, channels, length]."""
    return instance_norm(input, w.get("running_mean"), None, w.get("weight"), w.get("bias"), eps=p["eps"])


@layer(eps=1e-5, momentum=0.1, affine=False, track_running_stats=False)
def InstanceNorm2d(w: Weights, p: Params, input: Array) -> Any:
    """`instance_norm` of [batch, channels, height, width]."""
    return instance_norm(input, w.get("running_mean"), None, w.get("weight"), w.get("bias"), eps=p["eps"])


_BATCH: dict[str, Any] = {"eps": 1e-5, "momentum": 0.1, "affine": True, "track_running_stats": True, "training": False}


@layer(writes=True, **_BATCH)
def BatchNorm1d(w: Weights, p: Params, input: Array) -> Any:
    """`batch_norm` of [batch, channels] or [batch, channels, length]."""
    return _batch_norm(w, p, input)


@layer(writes=True, **_BATCH)
def BatchNorm2d(w: Weights, p: Params, input: Array) -> Any:
    """`batch_norm` of [batch, channels, height, width]."""
    return _batch_norm(w, p, input)


@layer(eps=1e-5, elementwise_affine=True, bias=True)
def LayerNorm(w: Weights, p: Params, input: Array) -> Any:
    """`layer_norm` with the module's weights."""
    return layer_norm(input, p["normalized_shape"], w.get("weight"), w.get("bias"), p["eps"])


@layer(eps=None, elementwise_affine=True, dtype=None)
def RMSNorm(w: Weights, p: Params, input: Array) -> Any:
    """`rms_norm` with the module's weights; without `eps` that of the run's dtype."""
    eps = SMALLEST.get(p["dtype"]) if p["eps"] is None else p["eps"]
    return rms_norm(input, p["normalized_shape"], w.get("weight"), eps)


@layer(eps=1e-5, affine=True)
def GroupNorm(w: Weights, p: Params, input: Array) -> Any:
    """`group_norm` with the module's weights."""
    return group_norm(input, p["num_groups"], w.get("weight"), w.get("bias"), p["eps"])
