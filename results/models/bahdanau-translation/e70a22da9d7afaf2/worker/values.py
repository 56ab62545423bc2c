"""Copies of tensors, taken when they arise, and their bytes."""

from __future__ import annotations

import base64
import hashlib

import torch
from torch import Tensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.utils._python_dispatch import _disable_current_modes

from .records import Value


def dtype_name(tensor: Tensor) -> str:
    """`float32`, `int64`, `complex64` …"""
    return str(tensor.dtype).removeprefix("torch.")


PLAIN = (Tensor, torch.nn.Parameter, torch.nn.Buffer)  # the classes of tensors that behave as torch's own
# What numpy and a record cannot hold is kept in a wider dtype, exactly.
WIDER = {torch.complex32: torch.complex64, **{
    getattr(torch, name): torch.float32 for name in vars(torch) if name.startswith("float8_")}}  # fmt: skip


def raw_bytes(tensor: Tensor) -> bytes:
    """A dense CPU tensor's little-endian bytes in row-major order."""
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if plain.dtype is torch.bfloat16:
        plain = plain.view(torch.int16)
    return plain.numpy().tobytes()


def readable(tensor: Tensor) -> bool:
    """Whether a tensor's numbers can be copied out: not on the meta device, nested, or wrapped by something."""
    if type(tensor) not in PLAIN:
        if type(tensor).__torch_dispatch__ is not Tensor.__torch_dispatch__:
            return False  # the author's class decides what its numbers are
        if isinstance(tensor, (UninitializedParameter, UninitializedBuffer)):
            return False
    return not (tensor.is_meta or tensor.is_nested or torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def version(tensor: Tensor) -> int:
    """How often torch has counted a write into a tensor; tensors made in inference mode are not counted."""
    return 0 if tensor.is_inference() else tensor._version


def same(tensor: Tensor, copy: Tensor) -> bool:
    """Whether a tensor still has the bytes of an earlier copy."""
    return tensor.shape == copy.shape and raw_bytes(tensor) == raw_bytes(copy)


class Values:
    """The numbered copies of one run: `take` returns a number, `describe` gives their descriptions and bytes."""

    def __init__(self, limit: int) -> None:
        self.copies: list[Tensor] = []
        self.limit, self.bytes = limit, 0
        self.memo: dict[int, tuple[int, tuple[int, int], Tensor]] = {}

    def take(self, tensor: Tensor, writes: int = 0) -> int:
        """The number of a copy of `tensor` as it is now; `writes` counts the writes that its storage has seen."""
        known, stamp = self.memo.get(id(tensor)), (writes, version(tensor))
        if known is not None and known[1] == stamp:
            return known[0]
        if torch._C._len_torch_dispatch_stack():
            with _disable_current_modes():  # the author's own modes do not see what only we do
                copy = _plain(tensor)
        else:
            copy = _plain(tensor)
        self.bytes += copy.nbytes
        if self.bytes > self.limit:
            raise TooMuch(f"the memory limit for the tensors of one run, {self.limit // 2**20} MiB, is passed")
        self.copies.append(copy)
        self.memo[id(tensor)] = (len(self.copies) - 1, stamp, tensor)
        return len(self.copies) - 1

    def forget(self, tensor: Tensor) -> None:
        """The tensor has got another memory: no earlier copy is one of it."""
        self.memo.pop(id(tensor), None)

    def stale(self, tensor: Tensor) -> bool:
        """Whether a tensor's bytes are other ones than when it was last copied."""
        known = self.memo.get(id(tensor))
        return known is not None and not same(_plain(tensor), self.copies[known[0]])

    def describe(self, blobs: dict[str, str]) -> list[Value]:
        """Each copy's dtype, shape and digest; new bytes are put into `blobs` as base64."""
        out: list[Value] = []
        for copy in self.copies:
            data = raw_bytes(copy)
            name = hashlib.sha256(data).hexdigest()
            if name not in blobs:
                blobs[name] = base64.b64encode(data).decode("ascii")
            out.append({"dtype": dtype_name(copy), "shape": list(copy.shape), "blob": name})
        return out


def _plain(tensor: Tensor) -> Tensor:
    """A dense copy of a tensor in a dtype that a record can hold."""
    copy = tensor.detach()
    if copy.layout is not torch.strided:
        copy = copy.to_dense()
    if copy.is_quantized:
        copy = copy.dequantize()
    return copy.to(WIDER[copy.dtype]) if copy.dtype in WIDER else copy.clone(memory_format=torch.contiguous_format)


class TooMuch(Exception):
    """A limit of the worker's own was passed."""
