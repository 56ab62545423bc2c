"""Copies of tensors, taken when they arise, and their bytes."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter


def dtype_name(tensor: Tensor) -> str:
    """`float32`, `int64`, `complex64` …"""
    return str(tensor.dtype).removeprefix("torch.")


def raw_bytes(tensor: Tensor) -> bytes:
    """A dense CPU tensor's little-endian bytes in row-major order."""
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if plain.dtype is torch.bfloat16:
        plain = plain.view(torch.int16)
    return plain.numpy().tobytes()


def readable(tensor: Tensor) -> bool:
    """Whether a tensor's numbers can be copied out (not on the meta device, not wrapped by a transform)."""
    return not (tensor.is_meta or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
                or isinstance(tensor, (UninitializedParameter, UninitializedBuffer)))  # fmt: skip


def version(tensor: Tensor) -> int:
    """How often torch has counted a write into a tensor; tensors made in inference mode are not counted."""
    return 0 if tensor.is_inference() else tensor._version


class Values:
    """The numbered copies of one run: `take` answers a number, `told` gives their descriptions and bytes."""

    def __init__(self, limit: int) -> None:
        self.copies: list[Tensor] = []
        self.limit, self.bytes = limit, 0
        self.memo: dict[int, tuple[int, tuple[int, int], Tensor]] = {}

    def take(self, tensor: Tensor, writes: int = 0) -> int:
        """The number of a copy of `tensor` as it is now; `writes` counts the writes that its storage has seen."""
        known, stamp = self.memo.get(id(tensor)), (writes, version(tensor))
        if known is not None and known[1] == stamp:
            return known[0]
        copy = tensor.detach()
        if copy.layout is not torch.strided:
            copy = copy.to_dense()
        if copy.is_quantized:
            copy = copy.dequantize()
        self.bytes += copy.numel() * copy.element_size()
        if self.bytes > self.limit:
            raise TooMuch(f"the memory limit for the tensors of one run, {self.limit // 2**20} MiB, is passed")
        self.copies.append(copy.clone(memory_format=torch.contiguous_format))
        self.memo[id(tensor)] = (len(self.copies) - 1, stamp, tensor)
        return len(self.copies) - 1

    def stale(self, tensor: Tensor) -> bool:
        """Whether a tensor's bytes are other ones than when it was last copied."""
        known = self.memo.get(id(tensor))
        return known is not None and raw_bytes(self.copies[known[0]]) != raw_bytes(tensor)

    def told(self, blobs: dict[str, str]) -> list[dict[str, Any]]:
        """Each copy's dtype, shape and digest; new bytes are put into `blobs` as base64."""
        out = []
        for copy in self.copies:
            data = raw_bytes(copy)
            name = hashlib.sha256(data).hexdigest()
            if name not in blobs:
                blobs[name] = base64.b64encode(data).decode("ascii")
            out.append({"dtype": dtype_name(copy), "shape": list(copy.shape), "blob": name})
        return out


class TooMuch(Exception):
    """A limit of the worker's own was passed."""
