"""Random operations with the numbers that they drew: arithmetic on these and on the data.

torch draws them without a look at the data, so they are the same for every input. Each row stands for the operation
without `_drawn`; `noise` is what was drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lessonpress.replay.operations.activations.kernels import softmax
from lessonpress.replay.operations.kinds import Array, Unsupported, axis, real
from lessonpress.replay.operations.table import operation

ALPHA = 1.7580993408473766  # minus the limit of SELU for large negative numbers


@operation("kept")
def kept(recorded: Array) -> Any:
    """Numbers as they were recorded: drawn at random, or computed from weights alone."""
    return recorded.copy()


def _dropout(input: Array, noise: Array, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """`x mask / (1 - p)`; the mask [that broadcasts to x] is 1 where a number stays."""
    result = real(input) * (noise / (1 - p))
    if inplace:
        np.copyto(input, result)
    return input if inplace else result


for _name in ("dropout", "dropout1d", "dropout2d", "dropout3d"):
    operation(f"{_name}_drawn")(_dropout)


@operation("alpha_dropout_drawn")
def alpha_dropout_drawn(
    input: Array, noise: Array, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """What falls is set to SELU's limit; then all is scaled, so that mean and variance stay."""
    scale = 1 / np.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    result = input * (noise * scale) + ((noise - 1) * (ALPHA * scale) + ALPHA * scale * p)
    if inplace:
        np.copyto(input, result)
    return input if inplace else result


@operation("normal_drawn")
def normal_drawn(mean: Any, noise: Array, std: Any = 1.0) -> Any:
    """`mean + std z` with standard normal z. Raises Unsupported for a negative std."""
    if np.any(np.asarray(std) < 0):
        raise Unsupported("a standard deviation below 0")
    return real(mean) + real(std) * noise


@operation("bernoulli_drawn")
def bernoulli_drawn(input: Array, noise: Array, p: Any = None) -> Any:
    """1 where a number drawn from [0, 1) is below the probability. Raises Unsupported for what is no probability."""
    share = real(input if p is None else p)
    if not np.all((share >= 0) & (share <= 1)):
        raise Unsupported("a probability outside of 0 to 1")
    return (noise < share).astype(input.dtype)


@operation("multinomial_drawn")
def multinomial_drawn(input: Array, noise: Array, num_samples: int, replacement: bool = False) -> Any:
    """The positions of the largest of `probability / e` with exponential e. Raises Unsupported where torch refuses."""
    if not (np.all(np.isfinite(input)) and np.all(input >= 0) and np.all(input.sum(-1) > 0)):
        raise Unsupported("probabilities that are negative, not finite, or all 0")
    if np.any((input > 0).sum(-1) < num_samples):
        raise Unsupported("fewer probabilities above 0 than are to be drawn")
    return np.argsort(-(input / noise), axis=-1, kind="stable")[..., :num_samples]


@operation("gumbel_softmax_drawn")
def gumbel_softmax_drawn(
    logits: Array, noise: Array, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    """`softmax((logits - log e) / tau)` with exponential e; `hard` gives the largest as one, all others as zero."""
    soft = softmax((real(logits) - np.log(noise)) / tau, dim)
    if not hard:
        return soft
    at = axis(dim, soft.ndim)
    chosen = np.zeros_like(soft)
    np.put_along_axis(chosen, np.expand_dims(np.argmax(soft, axis=at), at), 1.0, axis=at)
    return chosen - soft + soft
