"""Cases of the random operations: torch draws, then the same draws are handed to the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from lessonpress.replay.operations.torch_cases import IMAGE, SQUARE, UNIT, Case, X, Y, case, floats

SEED = 5


def drawn(call: Callable[..., Any], *args: Any, noise: Callable[[], Any], name: str, **kwargs: Any) -> Case:
    """A case whose noise is drawn from the state in which torch draws."""
    torch.manual_seed(SEED)
    made = noise()

    def oracle(first: Any, _: Any, *rest: Any, **named: Any) -> Any:
        torch.manual_seed(SEED)
        return call(first, *rest, **named)

    return case(f"{name}_drawn", args[0], made, *args[1:], oracle=oracle, **kwargs)


def mask(like: torch.Tensor, p: float) -> Callable[[], torch.Tensor]:
    """What dropout draws."""
    return lambda: torch.empty(like.shape, dtype=like.dtype).bernoulli_(1 - p)


def channels(like: torch.Tensor, p: float) -> Callable[[], torch.Tensor]:
    """What dropout of whole channels draws."""
    return lambda: torch.empty([*like.shape[:2], *[1] * (like.dim() - 2)], dtype=like.dtype).bernoulli_(1 - p)


def spread_out(like: torch.Tensor) -> Callable[[], torch.Tensor]:
    """Exponential numbers."""
    return lambda: torch.empty(like.shape, dtype=like.dtype).exponential_(1)


VOLUME = floats(2, 3, 2, 2, 2)
SHARES = floats(3, 5).softmax(-1)
WITH_ZERO = torch.tensor([[0.0, 0.25, 0.75], [0.5, 0.5, 0.0]], dtype=torch.float64)

CASES = [
    case("kept", X, oracle=lambda x: x.clone()),
    drawn(functional.dropout, X, 0.3, True, noise=mask(X, 0.3), name="dropout"),
    drawn(functional.dropout, X, noise=mask(X, 0.5), name="dropout", p=0.5, training=True),
    drawn(functional.dropout, X, 0.3, True, True, noise=mask(X, 0.3), name="dropout"),
    drawn(functional.dropout2d, IMAGE, 0.4, True, noise=channels(IMAGE, 0.4), name="dropout2d"),
    drawn(functional.dropout3d, VOLUME, 0.4, True, noise=channels(VOLUME, 0.4), name="dropout3d"),
    drawn(functional.dropout1d, X, 0.4, True, noise=channels(X, 0.4), name="dropout1d"),
    drawn(functional.alpha_dropout, X, 0.2, True, noise=mask(X, 0.2), name="alpha_dropout"),
    drawn(torch.normal, X, Y.exp(), noise=lambda: torch.empty(X.shape, dtype=X.dtype).normal_(), name="normal"),
    drawn(torch.normal, X, 2.0, noise=lambda: torch.empty(X.shape, dtype=X.dtype).normal_(), name="normal"),
    drawn(torch.bernoulli, UNIT.abs(), noise=lambda: torch.empty(UNIT.shape, dtype=UNIT.dtype).uniform_(),
          name="bernoulli"),
    drawn(torch.multinomial, SHARES, 1, noise=spread_out(SHARES), name="multinomial"),
    drawn(torch.multinomial, SHARES, 3, noise=spread_out(SHARES), name="multinomial"),
    drawn(torch.multinomial, SHARES, 1, True, noise=spread_out(SHARES), name="multinomial"),
    drawn(torch.multinomial, WITH_ZERO, 2, noise=spread_out(WITH_ZERO), name="multinomial"),
    drawn(functional.gumbel_softmax, SQUARE, noise=spread_out(SQUARE), name="gumbel_softmax"),
    drawn(functional.gumbel_softmax, SQUARE, 0.5, noise=spread_out(SQUARE), name="gumbel_softmax", dim=0),
    drawn(functional.gumbel_softmax, SQUARE, 0.5, True, noise=spread_out(SQUARE), name="gumbel_softmax"),
]  # fmt: skip

