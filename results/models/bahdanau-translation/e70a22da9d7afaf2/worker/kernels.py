"""Kernels that take the places of torch's own for what no setting makes the same bits on every processor.

torch computes square roots, and a few more functions of one number, by a library that starts from the processor's
estimate of a reciprocal, and so gives other last digits on another maker's. The kernels are registered with torch's
dispatcher, below autograd and below the library's layers: a layer, an optimiser and a lesson all arrive there. They
serve float32 and float64 on the CPU; what has another dtype goes on to torch's own kernel.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.library import Library, get_kernel

from . import elementary

NAME = "portable-1"

Values = NDArray[Any]
DTYPES = (torch.float32, torch.float64)
_library: list[Library] = []  # alive as long as the process: its end would take the kernels along


def install() -> None:
    """Register the kernels, once a process."""
    if _library:
        return
    _library.append(Library("aten", "IMPL"))  # type: ignore[no-untyped-call]
    functions = {"sqrt": elementary.sqrt, **{n: _in_float64(f) for n, f in elementary.FUNCTIONS.items()}}
    with warnings.catch_warnings(action="ignore"):  # torch warns of every replaced kernel
        for name, function in functions.items():
            for form in (name, f"{name}_", f"{name}.out"):
                _replace(form, function, lambda _: True)
        for form in ("pow.Tensor_Scalar", "pow_.Scalar", "pow.Tensor_Scalar_out"):
            _replace(form, elementary.sqrt, lambda rest: rest[0] == 0.5)  # which torch computes as a square root


def _in_float64(function: Callable[[Values], Values]) -> Callable[[Values], Values]:
    """A function of float64 values, for float32 ones too: computed in float64 and rounded once."""
    return lambda x: function(x.astype(np.float64)).astype(x.dtype)


def _replace(form: str, function: Callable[[Values], Values], serves: Callable[[tuple[Any, ...]], bool]) -> None:
    """Put a function into the place of one form of an operation, for those further arguments that it serves.

    torch's own kernel still runs, for what it says of shapes, strides, dtypes and mistakes; its numbers are replaced.
    """
    native = get_kernel(f"aten::{form}", "CPU")

    def kernel(keys: Any, x: Tensor, *rest: Any, **named: Any) -> Any:
        if not serves(rest) or x.is_complex() or (x.is_floating_point() and x.dtype not in DTYPES):
            return native.call_boxed(keys, x, *rest, **named)
        with torch._C.DisableTorchFunction(), np.errstate(all="ignore"):
            given = x if x.is_floating_point() else x.to(torch.get_default_dtype())
            # Before torch's kernel, which may overwrite x; as one axis, because numpy makes other things of none.
            values = function(given.detach().numpy().reshape(-1)) if given.dtype in DTYPES else None
            result = native.call_boxed(keys, x, *rest, **named)
            if values is not None:
                result.detach().copy_(torch.from_numpy(values).reshape(x.shape))
            return result

    _library[0].impl(form, kernel, "CPU", with_keyset=True)  # type: ignore[no-untyped-call]
