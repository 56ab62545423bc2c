"""Makes a run's inputs from their specs, in order, with torch's generator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from .records import InputSpec

NON_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def from_json(value: Any) -> Any:
    """A value out of JSON: `{"float": "NaN"}` is a number again, however deep it stands."""
    if isinstance(value, dict):
        if value.keys() == {"float"} and value["float"] in NON_FINITE:
            return NON_FINITE[value["float"]]
        return {key: from_json(item) for key, item in value.items()}
    return [from_json(item) for item in value] if isinstance(value, list) else value


def make(spec: InputSpec, dtype: torch.dtype) -> Any:
    """One input: a tensor, a plain value, or a list, tuple or dict of inputs. float32 ones are cast to `dtype`.

    Raises ValueError when the values do not fit the shape or the dtype.
    """
    if "list" in spec:
        return [make(item, dtype) for item in spec["list"]]
    if "tuple" in spec:
        return tuple(make(item, dtype) for item in spec["tuple"])
    if "dict" in spec:
        return {key: make(item, dtype) for key, item in spec["dict"].items()}
    if "literal" in spec:
        return from_json(spec["literal"])
    return tensor(spec, dtype)


def tensor(spec: InputSpec, dtype: torch.dtype) -> Tensor:
    """A tensor from `{shape, dtype, fill}` or `{values, dtype}`; a float32 one ends up in the run's `dtype`."""
    own = getattr(torch, spec["dtype"]) if spec.get("dtype") else None
    out = _values(spec, own, dtype) if "values" in spec else _filled(spec, own or torch.float32, dtype)
    if out.dtype is torch.float32:  # as parameters: what the author made half or double stays so
        out = out.to(dtype)
    if out.is_complex() and dtype is torch.float64:
        out = out.to(torch.complex128)
    return out


def _values(spec: InputSpec, own: torch.dtype | None, dtype: torch.dtype) -> Tensor:
    values = from_json(spec["values"])
    values = _complex(values) if own is not None and own.is_complex else values
    if own is torch.float32 and dtype is torch.float64:
        own = torch.float64  # literal numbers keep their full precision in a float64 run
    if own is torch.complex64 and dtype is torch.float64:
        own = torch.complex128
    out = torch.tensor(values, dtype=own)
    if own is None and out.dtype is torch.float32 and dtype is torch.float64:
        out = torch.tensor(values, dtype=torch.float64)
    _whole(torch.tensor(values) if out.numel() else out, out.dtype)
    if "shape" in spec and list(out.shape) != list(spec["shape"]):
        if out.numel() != _count(spec["shape"]):
            raise ValueError(f"{out.numel()} values given, the input has shape {list(spec['shape'])}")
        out = out.reshape(spec["shape"])
    return out


def _complex(values: Any) -> Any:
    if isinstance(values, list):
        return [_complex(value) for value in values]
    return complex(values.replace(" ", "")) if isinstance(values, str) else values


def _filled(spec: InputSpec, own: torch.dtype, dtype: torch.dtype) -> Tensor:
    shape, fill = list(spec["shape"]), from_json(spec["fill"])
    wide = torch.float64 if dtype is torch.float64 and own is torch.float32 else own
    if fill in ("rand", "randn"):
        native = own if own.is_floating_point or own.is_complex else torch.float32
        return (torch.rand if fill == "rand" else torch.randn)(shape, dtype=native).to(own)
    if fill == "eye":
        if len(shape) < 2:
            raise ValueError(f"the fill eye needs two axes, the input has shape {shape}")
        return torch.eye(shape[-2], shape[-1], dtype=own).expand(shape).clone()
    if fill in ("arange", "ramp"):
        start, step = (from_json(spec.get("start", 0)), from_json(spec.get("step", 1))) if fill == "ramp" else (0, 1)
        counted = torch.arange(_count(shape), dtype=torch.float64 if wide.is_floating_point else torch.int64)
        return (start + step * counted).to(wide).reshape(shape)
    if fill in ("zeros", "ones"):
        return torch.full(shape, int(fill == "ones"), dtype=own)
    _whole(torch.tensor(fill), wide)
    return torch.full(shape, fill, dtype=wide)


def _whole(given: Tensor, dtype: torch.dtype) -> None:
    """Raises ValueError for fractions, NaN and infinity where the dtype holds whole numbers only."""
    counts = not (dtype.is_floating_point or dtype.is_complex)
    if counts and given.is_floating_point() and not bool((given == given.round()).all() and given.isfinite().all()):
        raise ValueError(f"{str(dtype).removeprefix('torch.')} holds whole numbers only, the input has fractions")


def _count(shape: list[int]) -> int:
    out = 1
    for n in shape:
        out *= n
    return out


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested lists, tuples and dicts with their dotted paths."""
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    else:
        yield path, value
        return
    for key, item in items:
        yield from leaves(item, f"{path}.{key}" if path else str(key))
