"""What the cases of the operations are made of: calls of torch, with torch itself as the oracle.

Only tests import this module and the `cases.py` of the families: they alone need torch.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn import functional

Params = dict[str, Any]


def floats(*shape: int, seed: int = 1, scale: float = 1.5) -> torch.Tensor:
    """Float64 numbers of both signs; `seed` tells one array from another."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64) * scale


def whole(*shape: int, seed: int = 1, low: int = -5, high: int = 6) -> torch.Tensor:
    """Integers between `low` and `high` (excluded)."""
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def truths(*shape: int, seed: int = 1) -> torch.Tensor:
    """Booleans."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) > 0.5


X, Y, Z = floats(2, 3, 4), floats(2, 3, 4, seed=2), floats(4, seed=3)

POSITIVE = X.abs() + 0.1

UNIT = torch.tanh(X)

N, M, NATURAL = whole(2, 3, 4), whole(2, 3, 4, seed=2), whole(2, 3, 4, seed=4, low=1, high=5)

B, C = truths(2, 3, 4), truths(2, 3, 4, seed=2)

ODD = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, 1.5, -2.5, 1e-300, 7.25], dtype=torch.float64)

SQUARE, LINE, IDS = floats(4, 4), floats(7), whole(2, 5, low=0, high=6)

GRID = torch.arange(60, dtype=torch.float64).reshape(3, 4, 5)


@dataclass(frozen=True)
class Case:
    """One call: an operation's name, its arguments and what torch makes of them."""

    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    oracle: Callable[..., Any] | None = None

    def expected(self) -> Any:
        """What torch gives, by the function or method of that name."""
        args, kwargs = copied(self.args), copied(self.kwargs)
        if self.oracle is not None:
            return self.oracle(*args, **kwargs)
        for place in (functional, torch, torch.Tensor, torch.special, operator):
            if hasattr(place, self.op):
                return getattr(place, self.op)(*args, **kwargs)
        raise LookupError(self.op)


def copied(value: Any) -> Any:
    """A deep copy of arguments, so that in-place operations do not reach the originals."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: copied(part) for key, part in value.items()}
    return type(value)(copied(part) for part in value) if isinstance(value, list | tuple) else value


def case(op: str, *args: Any, oracle: Callable[..., Any] | None = None, **kwargs: Any) -> Case:
    """A case in one line."""
    return Case(op, args, kwargs, oracle)


def method(name: str) -> Callable[..., Any]:
    """The method of a tensor as an oracle."""
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


STACK, OTHER, IMAGE, SIGNAL = floats(2, 3, 4), floats(2, 4, 5, seed=5), floats(2, 4, 7, 6), floats(2, 4, 9)


@dataclass(frozen=True)
class LayerCase:
    """A leaf module with the parameters that its constructor was given, and the inputs of one call."""

    params: dict[str, Any]
    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def op(self) -> str:
        """The class's name."""
        return type(self.module).__name__

    def expected(self) -> Any:
        """What the module gives."""
        with torch.no_grad():
            return self.module(*copied(self.args), **self.kwargs)


def layer(
    cls: type[torch.nn.Module], *args: Any, call: dict[str, Any] | None = None, training: bool = False, **params: Any
) -> LayerCase:
    """A float64 module with drawn weights and buffers, and one call of it."""
    torch.manual_seed(7)
    module = cls(**params).double().train(training)
    for name, tensor in module.state_dict().items():
        if tensor.is_floating_point():
            tensor.copy_(
                torch.rand_like(tensor) + 0.5 if name.endswith(("var", "mean")) else torch.randn_like(tensor) / 2
            )
    return LayerCase({**params, "training": training} if training else params, module, args, call or {})
