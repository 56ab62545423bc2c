"""Images and signals in other sizes: resized, padded with what lies at their edge, cut into patches, rearranged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from lessonpress.replay.operations.kinds import Array, Unsupported, sized
from lessonpress.replay.operations.table import Rewritten, layer, operation, rewrite

CUBIC = -0.75  # the slope of torch's bicubic kernel at 1
LINEAR = frozenset(["linear", "bilinear", "trilinear"])


class Params(TypedDict, total=False):
    """What the modules of this family are constructed with; each has some of these."""

    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    groups: int
    upscale_factor: int
    downscale_factor: int


@rewrite("interpolate")
def rewrite_interpolate(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """Repeating elements is a row of its own; every other way of resizing is `resize`."""
    named = {**dict(zip(("input", "size", "scale_factor", "mode", "align_corners", "recompute_scale_factor",
                         "antialias"), args, strict=False)), **kwargs}  # fmt: skip
    scale = named.get("scale_factor")
    scales = scale if isinstance(scale, list | tuple) else [scale]
    whole = all(_plain(each) is not None and _plain(each) == int(_plain(each) or 0) for each in scales)
    if named.get("mode", "nearest") == "nearest" and whole:
        return "interpolate", args, kwargs
    if named.pop("antialias", False):
        raise Unsupported("images are made smaller with antialiasing")
    if named.pop("recompute_scale_factor", None):
        named = {**named, "recompute": True}
    return "resize", [], {key: value for key, value in named.items() if value is not None}


def _plain(value: Any) -> float | None:
    """A number that may be marked as a float."""
    return float(value["float"]) if isinstance(value, dict) and "float" in value else value


def _spread(value: Any, rank: int) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value] * rank


def _cubic(t: float) -> list[float]:
    """The weights of four neighbours of a place that lies `t` behind the second of them."""
    near = [((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1 for d in (t, 1 - t)]
    far = [((CUBIC * d - 5 * CUBIC) * d + 8 * CUBIC) * d - 4 * CUBIC for d in (1 + t, 2 - t)]
    return [far[0], near[0], near[1], far[1]]


def _terms(at: int, old: int, new: int, step: float, mode: str, corners: bool) -> list[tuple[int, float]]:
    """Which elements of an axis make the new one at a place, with their weights."""
    if mode == "nearest":
        return [(min(math.floor(at * step), old - 1), 1.0)]
    if mode == "nearest-exact":
        return [(min(math.floor((at + 0.5) * step), old - 1), 1.0)]
    if mode == "area":
        first, end = at * old // new, -((-(at + 1) * old) // new)
        return [(i, 1 / (end - first)) for i in range(first, end)]
    place = at * step if corners else (at + 0.5) * step - 0.5
    if mode in LINEAR:
        place = max(place, 0.0)
        first = min(math.floor(place), old - 1)
        part = place - first
        return [(first, 1 - part), (min(first + 1, old - 1), part)]
    first = math.floor(place)
    weights = _cubic(place - first)
    return [(min(max(first - 1 + i, 0), old - 1), weight) for i, weight in enumerate(weights)]


@operation("resize")
def resize(
    input: Array, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool = False,
    recompute: bool = False,
) -> Any:  # fmt: skip
    """[batch, channels, …] with its further axes resized; each new element is a weighted sum of old ones."""
    if mode not in LINEAR | {"nearest", "nearest-exact", "area", "bicubic"}:
        raise Unsupported(f"images are resized by the mode {mode}")
    rank = input.ndim - 2
    factors = [None] * rank if scale_factor is None else _spread(scale_factor, rank)
    sizes = [math.floor(n * f) for n, f in zip(input.shape[2:], factors, strict=True)] if size is None else _spread(
        size, rank)  # fmt: skip
    sized([*input.shape[:2], *sizes])
    for axis, (new, factor) in enumerate(zip(sizes, factors, strict=True), 2):
        old = input.shape[axis]
        step = old / new if factor is None or recompute else 1 / factor
        if align_corners:
            step = (old - 1) / (new - 1) if new > 1 else 0.0
        matrix = np.zeros((new, old))
        for at in range(new):
            for place, weight in _terms(at, old, new, step, mode, bool(align_corners)):
                matrix[at, place] += weight
        input = np.moveaxis(np.tensordot(matrix, np.moveaxis(input, axis, 0), axes=1), 0, axis)
    return input


@rewrite("pad")
def rewrite_pad(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """Padding with what lies at the edge is a row of its own."""
    mode = args[2] if len(args) > 2 else kwargs.get("mode", "constant")
    if mode == "constant":
        return "pad", args, kwargs
    return "pad_around", args[:2], {**{k: v for k, v in kwargs.items() if k == "pad"}, "mode": mode}


def _around(before: int, n: int, after: int, mode: str) -> list[int]:
    """Which element of an axis each place of the padded one shows."""
    places = range(-before, n + after)
    if mode == "circular":
        return [i % n for i in places]
    if mode == "replicate":
        return [min(max(i, 0), n - 1) for i in places]
    if mode == "reflect" and max(before, after) < n:
        return [n - 1 - abs(n - 1 - abs(i)) for i in places]
    raise Unsupported(f"padding by the mode {mode}")


@operation("pad_around")
def pad_around(input: Array, pad: Sequence[int], mode: str) -> Any:
    """The last axes (pairs, the last axis first) go on beyond their ends: in a circle, mirrored, or with the last."""
    sized([n + sum(pad) for n in input.shape])
    for at in range(len(pad) // 2):
        axis = input.ndim - 1 - at
        input = np.take(input, _around(pad[2 * at], input.shape[axis], pad[2 * at + 1], mode), axis=axis)
    return input.copy()


def _pad_module(name: str, rank: int, mode: str) -> None:
    """Enter a leaf module that pads."""

    def kernel(w: Any, p: Params, input: Array) -> Any:
        pads = p["padding"] if isinstance(p["padding"], list | tuple) else [p["padding"]] * (2 * rank)
        return pad_around(input, pads, mode)

    kernel.__name__, kernel.__doc__ = name, f"`pad_around`, {mode}."
    layer()(kernel)


for _rank in (1, 2):
    _pad_module(f"ReflectionPad{_rank}d", _rank, "reflect")
    _pad_module(f"ReplicationPad{_rank}d", _rank, "replicate")
    _pad_module(f"CircularPad{_rank}d", _rank, "circular")


@rewrite("unfold")
def rewrite_unfold(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """`functional.unfold` cuts images into patches, the method of the same name one axis into windows."""
    patches = kwargs.keys() & {"kernel_size", "dilation", "padding", "stride"} or len(args) != 4
    patches = patches or any(isinstance(arg, list | tuple) for arg in args[1:])
    return ("patches" if patches and not kwargs.keys() & {"dimension", "size", "step"} else "unfold"), args, kwargs


@operation("patches")
def patches(input: Array, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Patches of [batch, channels, height, width] as columns: [batch, channels kernel, places]."""
    if input.ndim == 3:
        return patches(input[None], kernel_size, dilation, padding, stride)[0]
    kernel, spacing, edge, steps = (_spread(value, 2) for value in (kernel_size, dilation, padding, stride))
    padded = np.pad(input, [(0, 0), (0, 0), *((n, n) for n in edge)])
    spans = [d * (k - 1) + 1 for d, k in zip(spacing, kernel, strict=True)]
    seen = sliding_window_view(padded, spans, axis=(2, 3))[:, :, :: steps[0], :: steps[1], :: spacing[0], :: spacing[1]]
    return seen.transpose(0, 1, 4, 5, 2, 3).reshape(input.shape[0], input.shape[1] * kernel[0] * kernel[1], -1).copy()


@layer(dilation=1, padding=0, stride=1)
def Unfold(w: Any, p: Params, input: Array) -> Any:
    """`patches` with the module's settings."""
    return patches(input, p["kernel_size"], p["dilation"], p["padding"], p["stride"])


@operation("pixel_shuffle")
def pixel_shuffle(input: Array, upscale_factor: int) -> Any:
    """[…, channels r r, height, width] as […, channels, height r, width r]."""
    r, (*lead, channels, height, width) = upscale_factor, input.shape
    if channels % (r * r):
        raise Unsupported("channels that do not make whole squares of pixels")
    parts = input.reshape(*lead, channels // (r * r), r, r, height, width)
    n = len(lead)
    moved = parts.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return moved.reshape(*lead, channels // (r * r), height * r, width * r).copy()


@operation("pixel_unshuffle")
def pixel_unshuffle(input: Array, downscale_factor: int) -> Any:
    """[…, channels, height r, width r] as […, channels r r, height, width]."""
    r, (*lead, channels, height, width) = downscale_factor, input.shape
    if height % r or width % r:
        raise Unsupported("an image that does not divide into squares of pixels")
    n = len(lead)
    parts = input.reshape(*lead, channels, height // r, r, width // r, r)
    moved = parts.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return moved.reshape(*lead, channels * r * r, height // r, width // r).copy()


@operation("channel_shuffle")
def channel_shuffle(input: Array, groups: int) -> Any:
    """The channels (axis 1) of all groups in turn."""
    batch, channels, *rest = input.shape
    return input.reshape(batch, groups, channels // groups, *rest).swapaxes(1, 2).reshape(input.shape).copy()


@layer()
def PixelShuffle(w: Any, p: Params, input: Array) -> Any:
    """`pixel_shuffle` with the module's factor."""
    return pixel_shuffle(input, p["upscale_factor"])


@layer()
def PixelUnshuffle(w: Any, p: Params, input: Array) -> Any:
    """`pixel_unshuffle` with the module's factor."""
    return pixel_unshuffle(input, p["downscale_factor"])


@layer()
def ChannelShuffle(w: Any, p: Params, input: Array) -> Any:
    """`channel_shuffle` with the module's groups."""
    return channel_shuffle(input, p["groups"])
