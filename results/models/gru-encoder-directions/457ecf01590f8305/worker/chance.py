"""Random numbers that an operation draws while it computes: which those were, apart from what it made of them.

`dropout(x)` is x times a mask, and the mask is drawn without a look at x. Drawn once more from the same state of the
generator, it can be recorded; with it the operation is arithmetic that can be repeated on other numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from .records import Call
from .values import Values

# Torch's own functions: those that a lesson calls may be replaced (portable.py), not those inside torch.
_normal, _uniform, _exponential = torch.Tensor.normal_, torch.Tensor.uniform_, torch.Tensor.exponential_
_bernoulli = torch.Tensor.bernoulli_


class Draws:
    """Stands around one operation, and notes in its call what was drawn; without a draw it notes nothing."""

    def __init__(self) -> None:
        self.before = torch.default_generator.get_state()

    def note(self, call: Call, title: str, args: Any, kwargs: Any, out: Any, values: Values) -> None:
        """Record the draws under `draws`: none, where it is not known how they were made."""
        after = torch.default_generator.get_state()
        if _same(self.before, after):
            return
        call["draws"] = []
        again = AGAIN.get(title)
        if again is None:
            return
        torch.default_generator.set_state(self.before)
        try:
            named = {key: value for key, value in kwargs.items() if key != "out"}
            with _disable_current_modes():
                noise = again(*args, out=out, **named)
            if noise is not None and _same(torch.default_generator.get_state(), after):
                call["draws"] = [values.take(noise)]
        except (TypeError, ValueError, RuntimeError, AttributeError):
            pass  # called in another way than is known here: a draw that the result does not show
        finally:
            torch.default_generator.set_state(after)


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether two states are equal; modes of the author's do not see the comparison."""
    if torch._C._len_torch_dispatch_stack():
        with _disable_current_modes():
            return torch.equal(one, other)
    return torch.equal(one, other)


def _empty(like: Tensor, shape: Any = None) -> Tensor:
    return torch.empty(like.shape if shape is None else shape, dtype=like.dtype)


def _mask(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *, out: Any) -> Tensor:
    """Ones where dropout keeps an element."""
    return _bernoulli(_empty(input), 1 - p)


def _mask_channels(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *, out: Any) -> Tensor:
    """Ones where dropout keeps a channel, [batch, channels, 1 …]."""
    shape = [*input.shape[:2], *[1] * (input.dim() - 2)]
    return _bernoulli(_empty(input, shape), 1 - p)


def _softmax_noise(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1, *, out: Any
) -> Tensor:
    return _exponential(_empty(logits))


def _choice_noise(input: Tensor, num_samples: int = 1, replacement: bool = False, *, out: Any, **_: Any) -> Any:
    """What the probabilities are divided by: the largest quotients are chosen (the Gumbel trick)."""
    return _exponential(_empty(input), 1) if num_samples == 1 or not replacement else None


def _coin_noise(input: Tensor, p: Any = None, *, out: Any, **_: Any) -> Tensor:
    """What the probabilities are compared with."""
    given = input if p is None else p
    kind = given.dtype if isinstance(given, Tensor) and given.dtype is torch.float64 else torch.float32
    return _uniform(torch.empty(out.shape, dtype=kind))


def _normal_noise(mean: Any = 0.0, std: Any = 1.0, *rest: Any, out: Any, **_: Any) -> Tensor:
    """Standard normal numbers, to be scaled and moved."""
    return _normal(torch.empty(out.shape, dtype=out.dtype))


AGAIN: dict[str, Callable[..., Any]] = {
    "dropout": _mask, "dropout_": _mask, "alpha_dropout": _mask, "alpha_dropout_": _mask, "dropout1d": _mask_channels,
    "dropout2d": _mask_channels, "dropout3d": _mask_channels, "gumbel_softmax": _softmax_noise,
    "multinomial": _choice_noise, "bernoulli": _coin_noise, "normal": _normal_noise,
}  # fmt: skip
# By the class of a leaf module, the function that it calls with its own `p`.
LAYERS = {"Dropout": "dropout", "AlphaDropout": "alpha_dropout", "Dropout1d": "dropout1d", "Dropout2d": "dropout2d",
          "Dropout3d": "dropout3d"}  # fmt: skip
