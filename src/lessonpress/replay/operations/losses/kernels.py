"""Losses, as operations and as leaf modules."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from lessonpress.replay.operations.activations.kernels import log_softmax
from lessonpress.replay.operations.kinds import Array, Unsupported, real
from lessonpress.replay.operations.table import Rewritten, layer, operation, rewrite


class Params(TypedDict, total=False):
    """What the modules of this family are constructed with; each has some of these."""

    reduction: str
    ignore_index: int
    label_smoothing: float


def _current(name: str) -> None:
    """Enter a loss's call with the arguments that torch keeps for old code, which must be None."""

    @rewrite(name)
    def current(args: list[Any], kwargs: dict[str, Any]) -> Rewritten:
        unused = ("weight", "size_average", "reduce", "pos_weight")
        if any(kwargs.get(old) is not None for old in unused):
            raise Unsupported(f"{name} with {' or '.join(unused)}")
        return name, args, {key: value for key, value in kwargs.items() if key not in unused}


for _name in [
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "nll_loss", "cross_entropy",
    "binary_cross_entropy", "binary_cross_entropy_with_logits",
]:  # fmt: skip
    _current(_name)


def _reduced(loss: Array, reduction: str) -> Any:
    """A loss for each element as `mean`, `sum` or (`none`) itself."""
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.mean()


@operation("mse_loss")
def mse_loss(input: Array, target: Array, reduction: str = "mean") -> Any:
    """The squared distance to the target."""
    return _reduced((input - target) ** 2, reduction)


@operation("l1_loss")
def l1_loss(input: Array, target: Array, reduction: str = "mean") -> Any:
    """The absolute distance to the target."""
    return _reduced(np.abs(input - target), reduction)


@operation("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(input: Array, target: Array, reduction: str = "mean") -> Any:
    """`-log` of the probability that the logits' sigmoid gives the target, without overflow."""
    return _reduced(np.maximum(input, 0) - input * target + np.log1p(np.exp(-np.abs(input))), reduction)


@operation("nll_loss")
def nll_loss(input: Array, target: Array, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """Minus the log-probability that `input` (classes on axis 1, or the only axis) gives the target class."""
    scores, classes = (input, target) if input.ndim > 1 else (input[None], target.reshape(1))
    counted = classes != ignore_index
    if np.any(counted & ((classes < 0) | (classes >= scores.shape[1]))):
        raise Unsupported(f"a class beyond the {scores.shape[1]} that there are")
    picked = np.take_along_axis(scores, np.where(counted, classes, 0)[:, None], axis=1)[:, 0]
    loss = np.where(counted, -picked, 0.0)
    if reduction == "mean":
        return loss.sum() / real(counted.sum())
    return loss.sum() if reduction == "sum" else loss.reshape(target.shape)


@operation("cross_entropy")
def cross_entropy(
    input: Array, target: Array, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    """`nll_loss` of the logits' log-softmax; targets are class numbers."""
    if target.dtype.kind == "f" or label_smoothing > 0:
        raise Unsupported("cross_entropy with soft or smoothed targets")
    return nll_loss(log_softmax(input, 1 if input.ndim > 1 else 0), target, ignore_index, reduction)


@operation("binary_cross_entropy")
def binary_cross_entropy(input: Array, target: Array, reduction: str = "mean") -> Any:
    """`-log` of the probability that `input` gives the target, each logarithm at least -100 as in torch."""
    if not np.all((input >= 0) & (input <= 1)):
        raise Unsupported("a probability that is not between 0 and 1")
    yes, no = np.maximum(np.log(input), -100), np.maximum(np.log1p(-input), -100)
    return _reduced(-(target * yes + (1 - target) * no), reduction)


@operation("huber_loss")
def huber_loss(input: Array, target: Array, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Half the squared distance up to `delta`, then linear."""
    off = np.abs(input - target)
    return _reduced(np.where(off < delta, off**2 / 2, delta * (off - delta / 2)), reduction)


@operation("smooth_l1_loss")
def smooth_l1_loss(input: Array, target: Array, reduction: str = "mean", beta: float = 1.0) -> Any:
    """`huber_loss` divided by its bend, and the absolute distance for a bend of zero."""
    off = np.abs(input - target)
    return _reduced(np.where(off < beta, off**2 / 2 / (beta or 1), off - beta / 2), reduction)


@operation("kl_div")
def kl_div(input: Array, target: Array, reduction: str = "mean", log_target: bool = False) -> Any:
    """The divergence of the target's distribution from that of `input`, which is given as logarithms."""
    if log_target:
        loss = np.exp(target) * (target - input)
    else:
        loss = np.where(target > 0, target * np.log(np.where(target > 0, target, 1)), 0.0) - target * input
    return loss.sum() / input.shape[0] if reduction == "batchmean" else _reduced(loss, reduction)


@layer(reduction="mean")
def MSELoss(w: Any, p: Params, input: Array, target: Array) -> Any:
    """`mse_loss`."""
    return mse_loss(input, target, p["reduction"])


@layer(reduction="mean")
def L1Loss(w: Any, p: Params, input: Array, target: Array) -> Any:
    """`l1_loss`."""
    return l1_loss(input, target, p["reduction"])


@layer(reduction="mean")
def BCELoss(w: Any, p: Params, input: Array, target: Array) -> Any:
    """`binary_cross_entropy`."""
    return binary_cross_entropy(input, target, _unweighted(w, p)["reduction"])


@layer(reduction="mean")
def BCEWithLogitsLoss(w: Any, p: Params, input: Array, target: Array) -> Any:
    """`binary_cross_entropy_with_logits`."""
    return binary_cross_entropy_with_logits(input, target, _unweighted(w, p)["reduction"])


@layer(reduction="mean", ignore_index=-100)
def NLLLoss(w: Any, p: Params, input: Array, target: Array) -> Any:
    """`nll_loss`."""
    return nll_loss(input, target, _unweighted(w, p)["ignore_index"], p["reduction"])


@layer(reduction="mean", ignore_index=-100, label_smoothing=0.0)
def CrossEntropyLoss(w: Any, p: Params, input: Array, target: Array) -> Any:
    """`cross_entropy`."""
    return cross_entropy(input, target, _unweighted(w, p)["ignore_index"], p["reduction"], p["label_smoothing"])


def _unweighted(w: Any, p: Params) -> Params:
    """The parameters of a loss module that holds no weights; Unsupported when it does."""
    if w:
        raise Unsupported("a loss with weights")
    return p


def _ctc(scores: Array, labels: list[int], blank: int) -> float:
    """Minus the logarithm of the share of all ways [time, classes] that spell the labels, with blanks between them."""
    spelled = [blank]
    for label in labels:
        spelled += [label, blank]
    ways = np.full(len(spelled), -np.inf)
    ways[:2] = scores[0, spelled[:2]]
    for line in scores[1:]:
        before = [ways, np.concatenate([[-np.inf], ways[:-1]])]
        skips = np.array([at > 1 and spelled[at] not in (blank, spelled[at - 2]) for at in range(len(spelled))])
        before.append(np.where(skips, np.concatenate([[-np.inf, -np.inf], ways])[: len(ways)], -np.inf))
        ways = np.logaddexp.reduce(before, axis=0) + line[spelled]
    return -float(np.logaddexp.reduce(ways[-2:]))


@operation("ctc_loss")
def ctc_loss(
    log_probs: Array, targets: Array, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """The connectionist temporal classification loss of [time, batch, classes] (or [time, classes]) against labels.

    Raises Unsupported for lengths and labels that torch refuses.
    """
    single = log_probs.ndim == 2
    scores = real(log_probs[:, None] if single else log_probs)
    times, wanted = (np.asarray(lengths).reshape(-1).astype(int) for lengths in (input_lengths, target_lengths))
    starts = np.cumsum([0, *wanted]) if targets.ndim == 1 and not single else None
    losses = []
    for at in range(scores.shape[1]):
        row = targets.reshape(-1)[starts[at] :] if starts is not None else targets.reshape(scores.shape[1], -1)[at]
        labels = row[: wanted[at]].tolist()
        if times[at] > len(scores) or len(labels) < wanted[at] or not all(0 <= n < scores.shape[2] for n in labels):
            raise Unsupported("lengths or labels that do not fit")
        losses.append(_ctc(scores[: times[at], at], labels, blank))
    result = np.array(losses)
    result = np.where(np.isinf(result), 0.0, result) if zero_infinity else result
    if reduction == "mean":
        return np.mean(result / np.maximum(wanted, 1))
    return np.sum(result) if reduction == "sum" else result[0] if single else result
