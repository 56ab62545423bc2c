"""A number that Python read from a tensor, and that still knows from where: it behaves as a float.

`h * h.sum().item()` is arithmetic on data; `if h.sum().item() > 0` is a decision. A plain float cannot tell the two
apart. A watched number can: with tensors and other numbers it computes, which is recorded as an operation, and whatever
else wants to know its value (a comparison, `int`, text, NumPy, `math`) decides by it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from .number_tracer import NumberTracer

PLAIN = (int, float, bool)


class WatchedNumber:
    """A float with the tensor without axes that holds it (`held`, float64), which the record knows the origin of."""

    __slots__ = ("decided", "held", "reads", "tracer", "value")

    def __init__(self, value: float, held: Tensor, tracer: NumberTracer) -> None:
        self.value, self.held, self.tracer = value, held, tracer
        self.reads, self.decided = 0, False  # how often an operation read it; whether Python did

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """For `isinstance` it is a float."""
        return float

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """With this, torch takes it wherever it takes a number; where nobody watches, it is a plain one."""
        for number in _list_watched([args, kwargs or {}]):
            number.decide()
        return func(*plain_numbers(args), **plain_numbers(kwargs or {}))

    def decide(self) -> float:
        """The plain number, for something that cannot be followed: with another number the run may go another way."""
        self.tracer.decide(self)
        return self.value

    def __getattr__(self, name: str) -> Any:
        """What else a float has."""
        if hasattr(float, name):
            return getattr(self.decide(), name)
        raise AttributeError(f"'float' object has no attribute '{name}'")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """For NumPy."""
        return np.array(self.decide(), dtype=dtype)

    def __copy__(self) -> WatchedNumber:
        return self

    def __deepcopy__(self, memo: Any) -> WatchedNumber:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return float, (self.decide(),)

    def __hash__(self) -> int:
        return hash(self.decide())


def _list_watched(value: Any) -> Iterator[WatchedNumber]:
    """The watched numbers in a nested value."""
    if type(value) is WatchedNumber:
        yield value
    elif type(value) in (tuple, list, dict):
        for part in value.values() if type(value) is dict else value:
            yield from _list_watched(part)


def _tried(function: Callable[..., Any], numbers: list[Any]) -> Any:
    """What a function of numbers gives; where it raises, the lesson may go on by that, so the numbers must stay."""
    try:
        return function(*(plain_numbers(number) for number in numbers))
    except (ArithmeticError, ValueError):
        for number in _list_watched(numbers):
            number.decide()
        raise


def _computing(name: str, function: Callable[..., Any], *, reflected: bool = False) -> Callable[..., Any]:
    """An arithmetic method: the same number as Python's, recorded as the operation `name`."""

    def method(self: WatchedNumber, *others: Any) -> Any:
        if not all(type(other) in (*PLAIN, WatchedNumber) for other in others):
            return NotImplemented
        numbers = [*others, self] if reflected else [self, *others]
        value = _tried(function, numbers)
        if type(value) is not float:  # a complex one, of a root
            return function(*(number.decide() if type(number) is WatchedNumber else number for number in numbers))
        return self.tracer.compute(name, value, numbers)

    return method


def _outcome(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A method by whose outcome Python decides: the outcome must stay, the number itself need not."""

    def method(self: WatchedNumber, *others: Any) -> Any:
        if not all(type(other) in (*PLAIN, WatchedNumber) for other in others):
            return NotImplemented
        value = _tried(function, [self, *others])
        self.tracer.compare(name, value, [self, *others])
        return value

    return method


def _deciding(name: str) -> Callable[..., Any]:
    """Any other method of a float: it is asked of the plain number."""

    def method(self: WatchedNumber, *others: Any) -> Any:
        if any(isinstance(other, Tensor) for other in others):
            return NotImplemented  # the tensor's own operation reads the number
        given = [other.decide() if type(other) is WatchedNumber else other for other in others]
        return getattr(float, name)(self.decide(), *given)

    return method


_round_to_whole, _round_to_digits = _outcome("round", round), _deciding("__round__")


def _round(number: WatchedNumber, *digits: Any) -> Any:
    return (_round_to_digits if digits else _round_to_whole)(number, *digits)


COMPUTED = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
            "pow": operator.pow}  # fmt: skip
METHODS: dict[str, Callable[..., Any]] = {
    **{name: _computing(name.removeprefix("true"), function) for name, function in COMPUTED.items()},
    **{f"r{name}": _computing(name.removeprefix("true"), function, reflected=True)
       for name, function in COMPUTED.items()},
    "neg": _computing("neg", operator.neg), "abs": _computing("abs", abs), "pos": lambda self: self,
    **{name: _outcome(name, getattr(operator, name)) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    "trunc": _outcome("trunc", math.trunc), "floor": _outcome("floor", math.floor), "int": _outcome("trunc", int),
    "ceil": _outcome("ceil", math.ceil), "round": _round, "bool": lambda self: self != 0,
    **{name: _deciding(f"__{name}__") for name in (
        "float", "str", "repr", "format", "mod", "rmod", "floordiv", "rfloordiv", "divmod", "rdivmod")},
}  # fmt: skip
for _name, _method in METHODS.items():
    setattr(WatchedNumber, f"__{_name}__", _method)


def plain_numbers(value: Any) -> Any:
    """A nested value with plain numbers in place of watched ones; itself where it holds none."""
    if type(value) is WatchedNumber:
        return value.value
    if type(value) in (tuple, list):
        parts = [plain_numbers(part) for part in value]
        return type(value)(parts) if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if type(value) is dict:
        changed = {key: plain_numbers(part) for key, part in value.items()}
        return changed if any(changed[key] is not part for key, part in value.items()) else value
    if type(value) is slice:
        return slice(*(part.decide() if type(part) is WatchedNumber else part
                       for part in (value.start, value.stop, value.step)))  # fmt: skip
    return value


def can_be_watched(tensor: Any) -> bool:
    """Whether Python reads floats from a tensor."""
    return isinstance(tensor, Tensor) and tensor.is_floating_point() and tensor.layout is torch.strided
