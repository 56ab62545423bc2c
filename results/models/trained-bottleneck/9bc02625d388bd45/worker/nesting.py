"""Nested values: finding the tensors in them, and writing the rest as JSON."""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .records import Struct

DEPTH = 40  # how deep a value is looked into


def walk(value: Any, path: str, seen: Callable[[Tensor, str], None], depth: int) -> None:
    """Calls `seen` for every tensor in a nested value with its dotted path."""
    if isinstance(value, Tensor):
        seen(value, path)
        return
    if depth > DEPTH:
        return
    items: Any = ()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        items = ((name, getattr(value, name)) for name in value._fields)
    elif isinstance(value, (tuple, list, deque)):
        items = enumerate(value)
    elif isinstance(value, Mapping):
        items = value.items()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = ((field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value))
    for key, item in items:
        walk(item, f"{path}.{key}" if path else str(key), seen, depth + 1)


def holds_tensor(value: Any) -> bool:
    """Whether a tensor stands anywhere in a nested value."""
    tensors: list[Tensor] = []
    walk(value, "", lambda tensor, path: tensors.append(tensor), 0)
    return bool(tensors)


def non_finite(value: float) -> str:
    """The published name of a number that JSON lacks."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def to_json(value: Any) -> Struct:
    """A value that is neither tensor nor container, as JSON can hold it."""
    if isinstance(value, slice):
        return {"slice": [_plain_number(value.start), _plain_number(value.stop), _plain_number(value.step)]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, range):
        return {"list": list(value)}
    if isinstance(value, np.generic):
        return to_json(value.item()) if not isinstance(value.item(), (bool, int, float, str)) else value.item()
    if callable(value):
        return {"opaque": getattr(value, "__name__", type(value).__name__)}
    return {"opaque": f"{type(value).__name__}"}


def _plain_number(value: Any) -> int | None:
    return None if value is None else int(value)
