"""Convolutions and pooling over one or two axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from lessonpress.replay.operations.kinds import Array, Unsupported, sized
from lessonpress.replay.operations.resampling.kernels import resize
from lessonpress.replay.operations.table import layer, operation

Weights = Mapping[str, Array]


class Params(TypedDict, total=False):
    """What the modules of this family are constructed with; each has some of these."""

    kernel_size: Any
    stride: Any
    padding: Any
    output_padding: Any
    dilation: Any
    groups: int
    padding_mode: str
    ceil_mode: bool
    return_indices: bool
    count_include_pad: bool
    divisor_override: int | None
    output_size: Any
    size: Any
    scale_factor: Any
    mode: str
    align_corners: bool | None


def _each(value: Any, rank: int) -> list[int]:
    """A setting for every spatial axis, from one number or one an axis."""
    values = [int(v) for v in value] if isinstance(value, list | tuple) else [int(value)]
    return values * rank if len(values) == 1 else values


def _margins(padding: Any, kernel: list[int], dilation: list[int]) -> list[tuple[int, int]]:
    """Zeros before and after each spatial axis; `same` puts the odd one at the end."""
    if padding == "same":
        spans = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return [(span // 2, span - span // 2) for span in spans]
    return [(n, n) for n in _each(0 if padding == "valid" else padding, len(kernel))]


def _windows(
    x: Array, kernel: list[int], stride: list[int], margins: list[tuple[int, int]], dilation: list[int], fill: float
) -> Any:
    """All windows of the last axes: [..., out…, kernel…]."""
    rank = len(kernel)
    padded = np.pad(x, [(0, 0)] * (x.ndim - rank) + margins, constant_values=fill)
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    windows = sliding_window_view(padded, spans, axis=tuple(range(-rank, 0)))
    index: tuple[Any, ...] = (Ellipsis, *(slice(None, None, n) for n in (*stride, *dilation)))
    return windows[index]


def _convolve(
    rank: int, x: Array, weight: Array, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:  # fmt: skip
    """The cross-correlation of [batch, in, …] (or [in, …]) with a weight [out, in / groups, …]."""
    if x.ndim == rank + 1:
        return _convolve(rank, x[None], weight, bias, stride, padding, dilation, groups)[0]
    kernel, spacing = list(weight.shape[2:]), _each(dilation, rank)
    seen = _windows(x, kernel, _each(stride, rank), _margins(padding, kernel, spacing), spacing, 0.0)
    axes = tuple(range(-rank, 0))
    parts = [
        np.tensordot(ours, theirs, axes=((1, *axes), (1, *axes)))
        for ours, theirs in zip(np.split(seen, groups, axis=1), np.split(weight, groups, axis=0), strict=True)
    ]
    out = np.moveaxis(np.concatenate(parts, axis=-1), -1, 1)
    return out if bias is None else out + bias.reshape([-1] + [1] * rank)


@operation("conv1d")
def conv1d(
    input: Array, weight: Array, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The cross-correlation of [batch, in, length] with a weight [out, in / groups, size]."""
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@operation("conv2d")
def conv2d(
    input: Array, weight: Array, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The cross-correlation of [batch, in, height, width] with a weight [out, in / groups, height, width]."""
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


def _transposed(
    rank: int, x: Array, weight: Array, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int,
    dilation: Any,
) -> Any:  # fmt: skip
    """The cross-correlation's adjoint: each input element spreads a weight [in, out / groups, …] over the output."""
    if x.ndim == rank + 1:
        return _transposed(rank, x[None], weight, bias, stride, padding, output_padding, groups, dilation)[0]
    steps, spacing, cut, extra = (_each(value, rank) for value in (stride, dilation, padding, output_padding))
    kernel = list(weight.shape[2:])
    sizes = zip(x.shape[2:], steps, spacing, kernel, extra, strict=True)
    full = [(n - 1) * s + d * (k - 1) + 1 + e for n, s, d, k, e in sizes]
    out = np.zeros(sized([x.shape[0], weight.shape[1] * groups, *full]))
    for place in np.ndindex(*kernel):
        parts = [np.einsum("bi...,io->bo...", ours, theirs[(slice(None), slice(None), *place)])
                 for ours, theirs in zip(np.split(x, groups, 1), np.split(weight, groups, 0), strict=True)]  # fmt: skip
        starts = [p * d for p, d in zip(place, spacing, strict=True)]
        spans = (slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, x.shape[2:], steps, strict=True))
        out[(slice(None), slice(None), *spans)] += np.concatenate(parts, axis=1)
    kept = out[(slice(None), slice(None), *(slice(c, n - c) for c, n in zip(cut, full, strict=True)))]
    return kept.copy() if bias is None else kept + bias.reshape([-1] + [1] * rank)


@operation("conv_transpose1d")
def conv_transpose1d(
    input: Array, weight: Array, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transposed convolution of [batch, in, length] with a weight [in, out / groups, size]."""
    return _transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@operation("conv_transpose2d")
def conv_transpose2d(
    input: Array, weight: Array, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transposed convolution of [batch, in, height, width] with a weight [in, out / groups, height, width]."""
    return _transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@operation("interpolate")
def interpolate(
    input: Array, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
    recompute_scale_factor: Any = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """[batch, channels, …] enlarged by repeating elements; other modes and uneven factors are refused (Unsupported)."""
    rank = input.ndim - 2
    wanted = _each(size, rank) if size is not None else None
    factors = [v / n for v, n in zip(wanted, input.shape[2:], strict=True)] if wanted else _factors(scale_factor, rank)
    if mode != "nearest" or any(factor != int(factor) for factor in factors):
        raise Unsupported(f"interpolation of the mode {mode}")
    for axis, factor in enumerate(factors, 2):
        input = np.repeat(input, int(factor), axis=axis)
    return input.copy()


def _factors(scale: Any, rank: int) -> list[float]:
    """The scale of every spatial axis."""
    return [float(v) for v in scale] if isinstance(scale, list | tuple) else [float(scale)] * rank


def _pooled(
    rank: int, x: Array, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any, fill: float
) -> tuple[Array, list[int]]:
    """The windows of a pooling, their elements on one last axis, and the window's size."""
    if ceil_mode:
        raise Unsupported("pooling with ceil_mode")
    kernel = _each(size, rank)
    steps = kernel if stride is None or stride == [] else _each(stride, rank)
    seen = _windows(x, kernel, steps, _margins(padding, kernel, [1] * rank), _each(dilation, rank), fill)
    return seen.reshape([*seen.shape[:-rank], -1]), kernel


def _max_pool(rank: int, x: Array, size: Any, stride: Any, padding: Any, dilation: Any, ceil: Any, indices: Any) -> Any:
    """The largest element of each window; padding never wins."""
    if indices:
        raise Unsupported("max pooling with indices")
    return _pooled(rank, x, size, stride, padding, dilation, ceil, -np.inf)[0].max(axis=-1)


def _avg_pool(
    rank: int, x: Array, size: Any, stride: Any, padding: Any, ceil: Any, count_include_pad: Any, divisor: Any
) -> Any:
    """The mean of each window."""
    seen, kernel = _pooled(rank, x, size, stride, padding, 1, ceil, 0.0)
    if divisor is not None:
        return seen.sum(axis=-1) / divisor
    if count_include_pad:
        return seen.sum(axis=-1) / int(np.prod(kernel))
    return seen.sum(axis=-1) / _pooled(rank, np.ones(x.shape), size, stride, padding, 1, ceil, 0.0)[0].sum(axis=-1)


@operation("max_pool1d")
def max_pool1d(
    input: Array, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of the last axis."""
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@operation("max_pool2d")
def max_pool2d(
    input: Array, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of the last two axes."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@operation("avg_pool1d")
def avg_pool1d(
    input: Array, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window of the last axis."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@operation("avg_pool2d")
def avg_pool2d(
    input: Array, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window of the last two axes."""
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive(x: Array, axis: int, parts: int | None) -> Array:
    """Means over `parts` nearly equal, possibly overlapping stretches of one axis."""
    n = x.shape[axis]
    parts = n if parts is None else parts
    bounds = [(i * n // parts, -(-(i + 1) * n // parts)) for i in range(parts)]
    return np.stack([np.take(x, range(a, b), axis=axis).mean(axis=axis) for a, b in bounds], axis=axis)


@operation("adaptive_avg_pool1d")
def adaptive_avg_pool1d(input: Array, output_size: Any) -> Any:
    """Means over so many stretches of the last axis."""
    return _adaptive(input, -1, output_size[0] if isinstance(output_size, list | tuple) else output_size)


@operation("adaptive_avg_pool2d")
def adaptive_avg_pool2d(input: Array, output_size: Any) -> Any:
    """Means over so many stretches of each of the last two axes."""
    rows, columns = output_size if isinstance(output_size, list | tuple) else (output_size, output_size)
    return _adaptive(_adaptive(input, -2, rows), -1, columns)


_CONV: dict[str, Any] = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "bias": True, "padding_mode": "zeros"}
_POOL: dict[str, Any] = {"stride": None, "padding": 0, "ceil_mode": False}


def _module(rank: int, w: Weights, p: Params, x: Array) -> Any:
    """A convolution with a module's weights and settings."""
    if p["padding_mode"] != "zeros":
        raise Unsupported(f"padding_mode {p['padding_mode']}")
    return _convolve(rank, x, w["weight"], w.get("bias"), p["stride"], p["padding"], p["dilation"], p["groups"])


@layer(**_CONV)
def Conv1d(w: Weights, p: Params, input: Array) -> Any:
    """`conv1d` with the module's weights."""
    return _module(1, w, p, input)


@layer(**_CONV)
def Conv2d(w: Weights, p: Params, input: Array) -> Any:
    """`conv2d` with the module's weights."""
    return _module(2, w, p, input)


def _back(rank: int, w: Weights, p: Params, x: Array) -> Any:
    """A transposed convolution with a module's weights and settings."""
    settings = (p["stride"], p["padding"], p["output_padding"], p["groups"], p["dilation"])
    return _transposed(rank, x, w["weight"], w.get("bias"), *settings)


@layer(**_CONV, output_padding=0)
def ConvTranspose1d(w: Weights, p: Params, input: Array) -> Any:
    """`conv_transpose1d` with the module's weights."""
    return _back(1, w, p, input)


@layer(**_CONV, output_padding=0)
def ConvTranspose2d(w: Weights, p: Params, input: Array) -> Any:
    """`conv_transpose2d` with the module's weights."""
    return _back(2, w, p, input)


@layer(size=None, scale_factor=None, mode="nearest", align_corners=None)
def Upsample(w: Weights, p: Params, input: Array) -> Any:
    """`interpolate` by repeating elements, or `resize`, with the module's settings."""
    if p["mode"] == "nearest":
        return interpolate(input, p["size"], p["scale_factor"])
    return resize(input, p["size"], p["scale_factor"], p["mode"], bool(p["align_corners"]))


def _max(rank: int, p: Params, x: Array) -> Any:
    """Max pooling with a module's settings."""
    window = (p["kernel_size"], p["stride"], p["padding"], p["dilation"])
    return _max_pool(rank, x, *window, p["ceil_mode"], p["return_indices"])


@layer(**_POOL, dilation=1, return_indices=False)
def MaxPool1d(w: Weights, p: Params, input: Array) -> Any:
    """`max_pool1d` with the module's settings."""
    return _max(1, p, input)


@layer(**_POOL, dilation=1, return_indices=False)
def MaxPool2d(w: Weights, p: Params, input: Array) -> Any:
    """`max_pool2d` with the module's settings."""
    return _max(2, p, input)


def _avg(rank: int, p: Params, x: Array) -> Any:
    """Average pooling with a module's settings."""
    window = (p["kernel_size"], p["stride"], p["padding"])
    return _avg_pool(rank, x, *window, p["ceil_mode"], p["count_include_pad"], p["divisor_override"])


@layer(**_POOL, count_include_pad=True, divisor_override=None)
def AvgPool1d(w: Weights, p: Params, input: Array) -> Any:
    """`avg_pool1d` with the module's settings."""
    return _avg(1, p, input)


@layer(**_POOL, count_include_pad=True, divisor_override=None)
def AvgPool2d(w: Weights, p: Params, input: Array) -> Any:
    """`avg_pool2d` with the module's settings."""
    return _avg(2, p, input)


@layer()
def AdaptiveAvgPool1d(w: Weights, p: Params, input: Array) -> Any:
    """`adaptive_avg_pool1d` with the module's settings."""
    return adaptive_avg_pool1d(input, p["output_size"])


@layer()
def AdaptiveAvgPool2d(w: Weights, p: Params, input: Array) -> Any:
    """`adaptive_avg_pool2d` with the module's settings."""
    return adaptive_avg_pool2d(input, p["output_size"])
