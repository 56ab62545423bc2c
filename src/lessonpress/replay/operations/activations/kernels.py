"""The activation functions, as operations and as leaf modules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lessonpress.replay.operations.elementwise.kernels import erf
from lessonpress.replay.operations.kinds import Array, Unsupported, real
from lessonpress.replay.operations.table import ALIASES, BROADCASTING, TABLE, layer, operation

Weights = Mapping[str, Array]
Params = Mapping[str, Any]

BROADCASTING.add("activations")
ALIASES.update(swish="silu", log_sigmoid="logsigmoid")


def _apply(input: Array, result: Any, inplace: bool) -> Any:
    """The result, or the input after the result was written into it."""
    if not inplace:
        return result
    np.copyto(input, result)
    return input


@operation("relu")
def relu(input: Array, inplace: bool = False) -> Any:
    """`max(x, 0)`."""
    return _apply(input, np.maximum(input, 0), inplace)


@operation("relu6")
def relu6(input: Array, inplace: bool = False) -> Any:
    """`min(max(x, 0), 6)`."""
    return _apply(input, np.minimum(np.maximum(input, 0), 6), inplace)


@operation("leaky_relu")
def leaky_relu(input: Array, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """`x` above zero, `negative_slope x` below."""
    return _apply(input, np.where(input > 0, input, input * negative_slope), inplace)


@operation("prelu")
def prelu(input: Array, weight: Array) -> Any:
    """`x` above zero, `weight x` below, one weight for all or one a channel (axis 1)."""
    shape = [1] * input.ndim
    if weight.size > 1:
        shape[1] = weight.size
    return np.where(input > 0, input, input * weight.reshape(shape))


@operation("elu")
def elu(input: Array, alpha: float = 1.0, inplace: bool = False) -> Any:
    """`x` above zero, `alpha (exp(x) - 1)` below."""
    return _apply(input, np.where(input > 0, input, alpha * np.expm1(np.minimum(input, 0))), inplace)


@operation("celu")
def celu(input: Array, alpha: float = 1.0, inplace: bool = False) -> Any:
    """`x` above zero, `alpha (exp(x / alpha) - 1)` below."""
    return _apply(input, np.where(input > 0, input, alpha * np.expm1(np.minimum(input, 0) / alpha)), inplace)


@operation("selu")
def selu(input: Array, inplace: bool = False) -> Any:
    """The scaled ELU of Klambauer et al. (2017)."""
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return _apply(input, scale * np.where(input > 0, input, alpha * np.expm1(np.minimum(input, 0))), inplace)


@operation("gelu")
def gelu(input: Array, approximate: str = "none") -> Any:
    """`x Φ(x)` by the error function, or by the tanh approximation (Hendrycks & Gimpel, 2016)."""
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)
        return 0.5 * input * (1 + np.tanh(inner))
    return 0.5 * input * (1 + erf(input / math.sqrt(2)))


@operation("sigmoid")
def sigmoid(input: Array) -> Any:
    """`1 / (1 + exp(-x))`."""
    return 1 / (1 + np.exp(-real(input)))


@operation("logsigmoid")
def logsigmoid(input: Array) -> Any:
    """`log(sigmoid(x))` without overflow."""
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


@operation("silu")
def silu(input: Array, inplace: bool = False) -> Any:
    """`x sigmoid(x)`."""
    return _apply(input, input / (1 + np.exp(-input)), inplace)


@operation("softplus")
def softplus(input: Array, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """`log(1 + exp(beta x)) / beta`, and `x` itself where `beta x` is above the threshold."""
    scaled = input * beta
    return np.where(scaled > threshold, input, np.log1p(np.exp(np.minimum(scaled, threshold))) / beta)


@operation("mish")
def mish(input: Array, inplace: bool = False) -> Any:
    """`x tanh(softplus(x))`."""
    return _apply(input, input * np.tanh(softplus(input)), inplace)


@operation("softsign")
def softsign(input: Array) -> Any:
    """`x / (1 + |x|)`."""
    return input / (1 + np.abs(input))


@operation("tanhshrink")
def tanhshrink(input: Array) -> Any:
    """`x - tanh(x)`."""
    return input - np.tanh(input)


@operation("hardtanh")
def hardtanh(input: Array, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """`x` brought into `[min_val, max_val]`."""
    return _apply(input, np.minimum(np.maximum(input, min_val), max_val), inplace)


@operation("hardsigmoid")
def hardsigmoid(input: Array, inplace: bool = False) -> Any:
    """`min(max(x + 3, 0), 6) / 6`."""
    return _apply(input, np.minimum(np.maximum(input + 3, 0), 6) / 6, inplace)


@operation("hardswish")
def hardswish(input: Array, inplace: bool = False) -> Any:
    """`x hardsigmoid(x)`."""
    return _apply(input, input * np.minimum(np.maximum(input + 3, 0), 6) / 6, inplace)


@operation("threshold")
def threshold(input: Array, threshold: float, value: float, inplace: bool = False) -> Any:
    """`x` where it is above the threshold, else `value`."""
    return _apply(input, np.where(input > threshold, input, value), inplace)


@operation("glu")
def glu(input: Array, dim: int = -1) -> Any:
    """The first half along `dim`, gated by the sigmoid of the second."""
    first, second = np.split(input, 2, axis=dim)
    return first * sigmoid(second)


@operation("softmax")
def softmax(input: Any, dim: int | None = None, dtype: str | None = None) -> Any:
    """`exp(x) / Σ exp(x)` along `dim`, computed from the largest element downwards."""
    x = real(input)
    along = _axis(dim)
    shifted = np.exp(x - x.max(axis=along, keepdims=True))
    return shifted / shifted.sum(axis=along, keepdims=True)


@operation("log_softmax")
def log_softmax(input: Any, dim: int | None = None, dtype: str | None = None) -> Any:
    """`log(softmax(x))` along `dim` without loss of small probabilities."""
    x = real(input)
    along = _axis(dim)
    shifted = x - x.max(axis=along, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=along, keepdims=True))


@operation("softmin")
def softmin(input: Any, dim: int | None = None, dtype: str | None = None) -> Any:
    """`softmax(-x)`."""
    return softmax(-real(input), dim, dtype)


def _axis(dim: int | None) -> int:
    """The axis of a softmax; torch's deprecated guess for a missing one is refused."""
    if dim is None:
        raise Unsupported("softmax without an axis")
    return dim


@operation("dropout")
def dropout(input: Array, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """The input itself outside training; Unsupported inside, where elements fall at random."""
    if training and p > 0:
        raise Unsupported("random numbers are drawn inside it")
    return input


def _module(name: str, function: str, names: tuple[str, ...] = (), **options: Any) -> None:
    """Enter a leaf module that hands its input and some constructor parameters to an operation."""
    kernel: Callable[..., Any] = TABLE[function].kernel

    def forward(w: Weights, p: Params, input: Array) -> Any:
        return kernel(input, **{parameter: p[parameter] for parameter in names})

    forward.__name__ = name
    layer(**options)(forward)


for _name, _function in {
    "Tanh": "tanh", "Sigmoid": "sigmoid", "LogSigmoid": "logsigmoid", "Softsign": "softsign",
    "Tanhshrink": "tanhshrink",
}.items():  # fmt: skip
    _module(_name, _function)
for _name, _function in {
    "ReLU": "relu", "ReLU6": "relu6", "SELU": "selu", "SiLU": "silu", "Mish": "mish",
    "Hardsigmoid": "hardsigmoid", "Hardswish": "hardswish",
}.items():  # fmt: skip
    _module(_name, _function, ("inplace",), inplace=False)
for _name, _function in {"Softmax": "softmax", "LogSoftmax": "log_softmax", "Softmin": "softmin"}.items():
    _module(_name, _function, ("dim",), dim=None)
_module("LeakyReLU", "leaky_relu", ("negative_slope", "inplace"), negative_slope=0.01, inplace=False)
_module("ELU", "elu", ("alpha", "inplace"), alpha=1.0, inplace=False)
_module("CELU", "celu", ("alpha", "inplace"), alpha=1.0, inplace=False)
_module("GELU", "gelu", ("approximate",), approximate="none")
_module("Softplus", "softplus", ("beta", "threshold"), beta=1.0, threshold=20.0)
_module("Hardtanh", "hardtanh", ("min_val", "max_val", "inplace"), min_val=-1.0, max_val=1.0, inplace=False)
_module("Threshold", "threshold", ("threshold", "value", "inplace"), inplace=False)
_module("GLU", "glu", ("dim",), dim=-1)
_module("Dropout", "dropout", ("p", "training", "inplace"), p=0.5, training=False, inplace=False)


@layer()
def PReLU(w: Weights, p: Params, input: Array) -> Any:
    """`prelu` with the module's own slopes."""
    return prelu(input, w["weight"])
