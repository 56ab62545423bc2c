"""Reads and writes the arrays of a safetensors file, by numpy alone."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
import safetensors
from numpy.typing import NDArray

# How a safetensors file calls its dtypes.
NUMPY = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "F16": "<f2", "U32": "<u4", "I32": "<i4",
    "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8", "C64": "<c8",
}  # fmt: skip
UNREADABLE = (safetensors.SafetensorError, KeyError)  # what `arrays` raises for a file that it cannot read
DTYPES = frozenset({"bfloat16", *(np.dtype(code).name for code in NUMPY.values())})


def pack(tensors: Mapping[str, Mapping[str, Any]], blobs: Mapping[str, str]) -> bytes:
    """A safetensors file of described arrays (`{"dtype", "shape", "blob"}`) by name, the bytes as base64 by digest."""
    raw = [np.frombuffer(base64.b64decode(blobs[value["blob"]]), np.uint8) for value in tensors.values()]
    specs = {key: _spec(value, data) for (key, value), data in zip(tensors.items(), raw, strict=True)}
    return bytes(safetensors.serialize(specs, None))


def _spec(value: Mapping[str, Any], data: NDArray[np.uint8]) -> safetensors.TensorSpec:
    """A tensor for the serializer, which reads it by address: `data` must outlive the call."""
    return safetensors.TensorSpec(
        dtype=value["dtype"], shape=value["shape"], data_ptr=data.ctypes.data, data_len=data.nbytes
    )


def read_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file by name; bfloat16 widens to float32, which holds it exactly."""
    out = {}
    for name, spec in sorted(_tensors(data), key=lambda entry: entry[0]):
        kind, shape = spec["dtype"], spec["shape"]
        if kind == "BF16":
            wide = np.frombuffer(spec["data"], dtype="<u2").astype("<u4") << 16
            out[name] = wide.view("<f4").reshape(shape)
        else:
            out[name] = np.frombuffer(spec["data"], dtype=NUMPY[kind]).reshape(shape)
    return out


def read_bytes(data: bytes) -> dict[str, bytes]:
    """The bytes of each tensor of a safetensors file by name."""
    return {name: bytes(spec["data"]) for name, spec in _tensors(data)}


def _tensors(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    return list(safetensors.deserialize(data))  # type: ignore[no-untyped-call]  # the reader has no annotations
