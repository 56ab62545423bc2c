"""The weights that a run starts from in the places of those that its seed draws: published ones, or prepared ones."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from . import load
from .records import Json, RunPlan

FILE = "prepared.safetensors"
# How a safetensors file calls its dtypes.
DTYPES = {
    "BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "I16": torch.int16, "U16": torch.uint16,
    "I32": torch.int32, "U32": torch.uint32, "I64": torch.int64, "U64": torch.uint64, "F16": torch.float16,
    "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64, "C64": torch.complex64,
}  # fmt: skip


def read_prepared(folder: str) -> dict[str, Tensor]:
    """The tensors of the lesson's prepared weights by `<name>/<parameter>`; none where nothing was prepared.

    Raises Refused for a file that is no safetensors file.
    """
    path = os.path.join(folder, FILE)
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        data = file.read()
    try:
        start = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:start])
        return {name: _tensor(entry, data[start:]) for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise load.Refused("weights", f"{FILE} cannot be read: {error}", "as it was written") from error


def _tensor(entry: dict[str, Json], body: bytes) -> Tensor:
    begin, end = entry["data_offsets"]
    dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
    if len(body[begin:end]) != math.prod(shape) * dtype.itemsize:
        raise ValueError("a tensor's bytes do not fit its shape")
    return torch.frombuffer(bytearray(body[begin:end]), dtype=dtype).reshape(shape) if end > begin else (
        torch.empty(shape, dtype=dtype))  # fmt: skip


@dataclass(frozen=True)
class Start:
    """What a run starts from, by parameter or buffer; `name` is that of prepared weights, None for published ones."""

    tensors: Mapping[str, Tensor]
    name: str | None = None


def choose_start(
    run: RunPlan, published: Mapping[str, Tensor] | None, made: Mapping[str, Tensor]
) -> Start | None:
    """What a run starts from; None for what its seed draws.

    `published` are a revision's weights, by `execution/<name>`, `experiment/<name>` and `case:<id>/<name>`; where there
    are none, `made` are the lesson's prepared ones.
    """
    if published is not None:
        group = "execution" if run["kind"] == "execution" else "experiment"
        return Start({**_below(published, group), **_below(published, f"case:{run['id']}")})
    name = run.get("weights")
    return Start(_below(made, name), name) if name else None


def _below(tensors: Mapping[str, Tensor], group: str) -> dict[str, Tensor]:
    return {key.removeprefix(f"{group}/"): tensor for key, tensor in tensors.items() if key.startswith(f"{group}/")}


def fill(tensors: Mapping[str, Tensor], start: Start) -> None:
    """Put stored numbers into a model's parameters and buffers, by name.

    Prepared weights must be the model's own: each of them, of its dtype, and no other. Published ones may hold more:
    what a lazy layer draws when it is called, and what a run overrides in its own dtype. Raises Refused where they do
    not fit.
    """
    name, stored = start.name, start.tensors
    called = f"the prepared weights {name!r}" if name else "the stored weights"
    lazy = [key for key, tensor in tensors.items() if is_lazy(tensor)]
    if name and lazy:
        raise load.Refused("weights", f"{lazy[0]} has no shape before the model is called",
                           "prepared weights need layers that know their sizes")  # fmt: skip
    wanted = {key: tensor for key, tensor in tensors.items() if key not in lazy}
    strange = [key for key in stored if name and key not in wanted]
    if strange:
        raise load.Refused("weights", f"{called} hold {strange[0]}", "the model has no parameter of this name")
    for key, tensor in wanted.items():
        if key not in stored:
            raise load.Refused("weights", f"{called} lack {key}", "a number for every parameter of the model")
        if stored[key].shape != tensor.shape or (name and stored[key].dtype != tensor.dtype):
            seen, expected = (f"{list(t.shape)} {str(t.dtype).removeprefix('torch.')}" for t in (stored[key], tensor))
            raise load.Refused("weights", f"{called} hold {key} as {seen}", f"the model has {expected}")
        put(tensor, stored[key])


def put(tensor: Tensor, numbers: Tensor) -> None:
    """Put numbers of the same shape into a tensor; one that was spread out (`expand`) gets a place for each of them."""
    try:
        tensor.data.copy_(numbers)
    except RuntimeError:  # several of its numbers share one place, which all have the same number
        tensor.data = numbers.to(tensor.dtype).clone()


def is_lazy(tensor: Tensor) -> bool:
    """Whether a tensor has no shape yet."""
    return isinstance(tensor, (UninitializedParameter, UninitializedBuffer))
