"""What makes one number of many: sums, means, extremes, norms, running sums, order and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from lessonpress.replay.operations.elementwise.kernels import dtype_or
from lessonpress.replay.operations.kinds import Array, Unsupported, axes, axis, real
from lessonpress.replay.operations.table import ALIASES, Rewritten, operation, rewrite

ALIASES.update(
    linalg_vector_norm="vector_norm", _is_all_true="all", _is_any_true="any", is_all_true="all", is_any_true="any",
)  # fmt: skip


def _lines(x: Array, dim: Any) -> tuple[Array, tuple[int, ...]]:
    """`x` with the axes `dim` moved to the end and merged, and these axes."""
    dims = axes(x, dim)
    rest = [d for d in range(x.ndim) if d not in dims]
    moved = x.transpose([*rest, *dims]) if x.ndim else x
    return moved.reshape([*(x.shape[d] for d in rest), int(np.prod([x.shape[d] for d in dims]))]), dims


def _kept(result: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """A reduced array, with axes of length one where the reduced ones were if `keepdim`."""
    return np.expand_dims(result, dims) if keepdim else result


def _summed(x: Array, dtype: str | None) -> type[np.generic]:
    """The kind of a sum: integers for bools and integers, floats for floats."""
    return dtype_or(dtype, np.float64 if x.dtype.kind == "f" else np.int64)


def _at(x: Array, dim: Any) -> Any:
    """The `axis` argument for numpy: one or more axes, all of them for None and []."""
    return axes(x, dim) if x.ndim else None


@operation("sum")
def sum_of(input: Array, dim: Any = None, keepdim: bool = False, *, dtype: str | None = None) -> Any:
    """The sum along `dim`."""
    return np.sum(input, axis=_at(input, dim), keepdims=keepdim, dtype=_summed(input, dtype))


@operation("nansum")
def nansum(input: Array, dim: Any = None, keepdim: bool = False, *, dtype: str | None = None) -> Any:
    """The sum along `dim` with NaN counted as zero."""
    return sum_of(np.where(np.isnan(input), 0, input), dim, keepdim, dtype=dtype)


@operation("mean")
def mean(input: Array, dim: Any = None, keepdim: bool = False, *, dtype: str | None = None) -> Any:
    """The mean along `dim`, NaN for no elements."""
    lines, dims = _lines(real(input), dim)
    return _kept(lines.sum(axis=-1) / lines.shape[-1], dims, keepdim)


@operation("prod")
def prod(input: Array, dim: Any = None, keepdim: bool = False, *, dtype: str | None = None) -> Any:
    """The product along `dim`."""
    return np.prod(input, axis=_at(input, dim), keepdims=keepdim, dtype=_summed(input, dtype))


@operation("amax")
def amax(input: Array, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest element along `dim`; NaN if there is one."""
    return np.max(input, axis=_at(input, dim), keepdims=keepdim)


@operation("amin")
def amin(input: Array, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest element along `dim`; NaN if there is one."""
    return np.min(input, axis=_at(input, dim), keepdims=keepdim)


@operation("argmax")
def argmax(input: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """The place of the largest element along `dim`, the first of equals."""
    lines, dims = _lines(input, dim)
    return _kept(np.argmax(lines, axis=-1), dims, keepdim)


@operation("argmin")
def argmin(input: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """The place of the smallest element along `dim`, the first of equals."""
    lines, dims = _lines(input, dim)
    return _kept(np.argmin(lines, axis=-1), dims, keepdim)


@operation("max")
def largest(input: Array, dim: int, keepdim: bool = False) -> Any:
    """The largest elements along `dim` and their places."""
    return amax(input, dim, keepdim), argmax(input, dim, keepdim)


@operation("min")
def smallest(input: Array, dim: int, keepdim: bool = False) -> Any:
    """The smallest elements along `dim` and their places."""
    return amin(input, dim, keepdim), argmin(input, dim, keepdim)


def _overloads(name: str, whole: str, pairwise: str) -> None:
    """Enter `max` or `min`: of one array, of an array along an axis, or of two arrays."""

    @rewrite(name)
    def choose(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
        second = args[1] if len(args) > 1 else kwargs.get("dim", kwargs.get("other"))
        if second is None:
            return whole, args, kwargs
        return (name if isinstance(second, int) else pairwise), args, kwargs


_overloads("max", "amax", "maximum")
_overloads("min", "amin", "minimum")


@operation("var")
def var(input: Array, dim: Any = None, keepdim: bool = False, *, correction: Any = 1) -> Any:
    """The mean squared distance from the mean along `dim`, with `correction` taken off the number of elements."""
    lines, dims = _lines(real(input), dim)
    n = lines.shape[-1]
    deviations = lines - lines.mean(axis=-1, keepdims=True)
    degrees = np.float64(max(n - (1 if correction is None else correction), 0))
    return _kept((deviations**2).sum(axis=-1) / degrees, dims, keepdim)


@operation("std")
def std(input: Array, dim: Any = None, keepdim: bool = False, *, correction: Any = 1) -> Any:
    """The square root of `var`."""
    return np.sqrt(var(input, dim, keepdim, correction=correction))


@operation("var_mean")
def var_mean(input: Array, dim: Any = None, keepdim: bool = False, *, correction: Any = 1) -> Any:
    """`var` and `mean` together."""
    return var(input, dim, keepdim, correction=correction), mean(input, dim, keepdim)


@operation("std_mean")
def std_mean(input: Array, dim: Any = None, keepdim: bool = False, *, correction: Any = 1) -> Any:
    """`std` and `mean` together."""
    return std(input, dim, keepdim, correction=correction), mean(input, dim, keepdim)


def _spread(name: str) -> None:
    """Enter the older forms `name(unbiased)` and `name(dim, unbiased, keepdim)`."""

    @rewrite(name)
    def modern(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
        given, named = list(args), dict(kwargs)
        unbiased = named.pop("unbiased", None)
        if len(given) == 2 and isinstance(given[1], bool):
            unbiased = given.pop()
        elif len(given) > 2 and (len(given) > 3 or "keepdim" in named or "correction" not in named):
            unbiased = given.pop(2)
        if unbiased is not None:
            named["correction"] = int(unbiased)
        return name, given, named


for _name in ["var", "std", "var_mean", "std_mean"]:
    _spread(_name)


def _norm_of(lines: Array, p: Any) -> Any:
    """The p-norm of each line, for p = 2, 1, 0, ±inf or any other number."""
    order = 2.0 if p is None or p == "fro" else float(p)
    size = np.abs(real(lines))
    if order == np.inf:
        return size.max(axis=-1)
    if order == -np.inf:
        return size.min(axis=-1)
    if order == 0:
        return real((size != 0).sum(axis=-1))
    return np.sqrt((size**2).sum(axis=-1)) if order == 2 else (size**order).sum(axis=-1) ** (1 / order)


@operation("norm")
def norm(input: Array, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: str | None = None) -> Any:
    """The p-norm along `dim`; matrix norms other than Frobenius' are refused (Unsupported)."""
    if p == "nuc":
        raise Unsupported("the nuclear norm")
    lines, dims = _lines(input, dim)
    return _kept(_norm_of(lines, p), dims, keepdim)


@rewrite("vector_norm")
def vector_norm(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """`linalg.vector_norm(x, ord, dim, keepdim)` is `norm`."""
    named = {("p" if name == "ord" else name): value for name, value in kwargs.items()}
    named["p"] = 2 if named.get("p") is None else named["p"]
    if len(args) > 1:
        del named["p"]
    return "norm", args, named


@rewrite("linalg_norm")
def linalg_norm(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """`linalg.norm` where it is the norm of vectors: of one axis, or of all elements without an order."""
    order = args[1] if len(args) > 1 else kwargs.get("ord")
    dim = args[2] if len(args) > 2 else kwargs.get("dim")
    if order is not None and not isinstance(dim, int):
        raise Unsupported("a norm of matrices")
    return vector_norm([args[0], *(2 if a is None else a for a in args[1:2]), *args[2:]], kwargs)


@operation("cosine_similarity")
def cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between the lines of two arrays along `dim`."""
    first, second = np.broadcast_arrays(x1, x2)
    sizes = [np.maximum(np.sqrt((x**2).sum(axis=dim)), eps) for x in (first, second)]
    return (first * second).sum(axis=dim) / (sizes[0] * sizes[1])


@operation("pairwise_distance")
def pairwise_distance(x1: Array, x2: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of `x1 - x2 + eps` along the last axis."""
    return norm(x1 - x2 + eps, p, -1, keepdim)


@operation("all")
def all_of(input: Array, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether all elements along `dim` are true or not zero."""
    return np.all(input, axis=_at(input, dim), keepdims=keepdim)


@operation("all_finite")
def all_finite(input: Array) -> Any:
    """Whether no element is NaN or infinite; torch has no such operation, but others of its operations ask for it."""
    return np.all(np.isfinite(input))


@operation("any")
def any_of(input: Array, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether any element along `dim` is true or not zero."""
    return np.any(input, axis=_at(input, dim), keepdims=keepdim)


@operation("count_nonzero")
def count_nonzero(input: Array, dim: Any = None) -> Any:
    """How many elements along `dim` are not zero."""
    return np.sum(input != 0, axis=_at(input, dim), dtype=np.int64)


@operation("logsumexp")
def logsumexp(input: Array, dim: Any, keepdim: bool = False) -> Any:
    """`log Σ exp(x)` along `dim` without overflow."""
    lines, dims = _lines(real(input), dim)
    top = lines.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    return _kept(np.log(np.exp(lines - top).sum(axis=-1)) + top[..., 0], dims, keepdim)


@operation("cumsum")
def cumsum(input: Array, dim: int, *, dtype: str | None = None) -> Any:
    """The running sum along `dim`."""
    return np.cumsum(input, axis=axis(dim, input.ndim), dtype=_summed(input, dtype)).reshape(input.shape)


@operation("diff")
def diff(input: Array, n: int = 1, dim: int = -1) -> Any:
    """Each element less the one before it along `dim`, `n` times over."""
    return np.diff(input, n, axis=dim)


@operation("cumprod")
def cumprod(input: Array, dim: int, *, dtype: str | None = None) -> Any:
    """The running product along `dim`."""
    return np.cumprod(input, axis=axis(dim, input.ndim), dtype=_summed(input, dtype)).reshape(input.shape)


def _best_so_far(input: Array, dim: int, beats: Any) -> Any:
    """The best element up to each place along `dim`, and its last place; NaN beats all."""
    lines = np.moveaxis(np.atleast_1d(input), axis(dim, max(input.ndim, 1)), -1)
    best, places = lines.copy(), np.zeros(lines.shape, dtype=np.int64)
    for at in range(1, lines.shape[-1]):
        held, new = best[..., at - 1], lines[..., at]
        wins = np.isnan(new) | (beats(new, held) & ~np.isnan(held))
        best[..., at] = np.where(wins, new, held)
        places[..., at] = np.where(wins, at, places[..., at - 1])
    return [np.moveaxis(part, -1, axis(dim, max(input.ndim, 1))).reshape(input.shape) for part in (best, places)]


@operation("cummax")
def cummax(input: Array, dim: int) -> Any:
    """The largest element so far along `dim`, and its place."""
    return _best_so_far(input, dim, np.greater_equal)


@operation("cummin")
def cummin(input: Array, dim: int) -> Any:
    """The smallest element so far along `dim`, and its place."""
    return _best_so_far(input, dim, np.less_equal)


@operation("logcumsumexp")
def logcumsumexp(input: Array, dim: int) -> Any:
    """The logarithm of the running sum of exponentials along `dim`."""
    return np.logaddexp.accumulate(real(input), axis=axis(dim, input.ndim)) if input.ndim else real(input)


@operation("unique")
def unique(
    input: Array, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:  # fmt: skip
    """The different elements in order, with each element's place among them and how often each occurs, if asked."""
    if dim is not None:
        raise Unsupported("unique along an axis")
    values, inverse, counts = np.unique(input, return_inverse=True, return_counts=True)
    parts = [values, inverse.reshape(input.shape) if return_inverse else None, counts if return_counts else None]
    kept = [part for part in parts if part is not None]
    return kept if len(kept) > 1 else kept[0]


def _order(input: Array, dim: int, descending: bool) -> Array:
    """The places that sort `input` along `dim`, equals in their old order, NaN as the largest."""
    if not descending:
        return np.argsort(input, axis=dim, kind="stable")
    backwards = np.argsort(np.flip(input, dim), axis=dim, kind="stable")
    return np.flip(input.shape[dim] - 1 - backwards, dim)


@operation("argsort")
def argsort(input: Array, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The places that sort `input` along `dim`."""
    return _order(input, dim, descending) if input.ndim else np.zeros((), dtype=np.int64)


@operation("sort")
def sort(input: Array, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements in order along `dim` and their old places."""
    if not input.ndim:
        return input.copy(), np.zeros((), dtype=np.int64)
    order = _order(input, dim, descending)
    return np.take_along_axis(input, order, dim), order


@operation("topk")
def topk(input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) elements along `dim`, in order, and their places."""
    order = np.take(_order(input, dim, largest), range(k), axis=dim)
    return np.take_along_axis(input, order, dim), order


@operation("normalize")
def normalize(input: Array, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    """Each line along `dim` divided by its p-norm, which is taken as at least `eps`."""
    size = np.linalg.norm(input, ord=p, axis=axes(input, dim)[0], keepdims=True)
    return input / np.maximum(size, eps)


@rewrite("median")
def _median(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
    """Of one array, or along an axis with places."""
    along = len(args) > 1 or "dim" in kwargs
    return ("median_along" if along else "median"), args, kwargs


@operation("median")
def median(input: Array) -> Any:
    """The middle one of all elements in order, of two the lower one; NaN where there is one."""
    flat = np.sort(input.ravel())
    nan = flat.dtype.kind == "f" and bool(np.isnan(flat).any())
    return np.asarray(np.nan if nan else flat[(flat.size - 1) // 2])


@operation("median_along")
def median_along(input: Array, dim: int, keepdim: bool = False) -> Any:
    """The middle element of each line, of two the lower one, and its place."""
    return kthvalue(input, (input.shape[axis(dim, input.ndim)] + 1) // 2, dim, keepdim)


@operation("kthvalue")
def kthvalue(input: Array, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element of each line, and its place."""
    if input.dtype.kind == "f" and np.isnan(input).any():
        raise Unsupported("the order of what is no number")
    place = np.take(_order(input, dim, False), [k - 1], axis=dim)
    value = np.take_along_axis(input, place, dim)
    if ((input == value).sum(axis=dim) > 1).any():
        raise Unsupported("a number that occurs twice has no one place")
    return (value, place) if keepdim else (np.squeeze(value, axis=dim), np.squeeze(place, axis=dim))


@operation("quantile")
def quantile(
    input: Array, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """The number below which a share `q` of each line lies, between two elements on the straight line."""
    if isinstance(q, np.ndarray) or interpolation != "linear":
        raise Unsupported("quantile for several shares at once, or by another rule than `linear`")
    lines, dims = _lines(input, dim)
    ordered = np.sort(lines, axis=-1)
    at = q * (lines.shape[-1] - 1)
    low, high = ordered[..., int(np.floor(at))], ordered[..., int(np.ceil(at))]
    value = np.where(np.isnan(lines).any(axis=-1), np.nan, low + (high - low) * (at - np.floor(at)))
    return _kept(value, dims, keepdim)
