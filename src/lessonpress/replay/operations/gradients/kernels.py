"""What torch computes on the way back through a model: the derivative of each operation, times what arrives."""

from __future__ import annotations

from typing import Any

import numpy as np

from lessonpress.replay.operations.elementwise.kernels import erf
from lessonpress.replay.operations.kinds import Array, Unsupported, axis, sized
from lessonpress.replay.operations.table import operation


@operation("tanh_backward")
def tanh_backward(grad_output: Array, output: Array) -> Any:
    """`g (1 - y y)` for y = tanh(x)."""
    return grad_output * (1 - output * output)


@operation("sigmoid_backward")
def sigmoid_backward(grad_output: Array, output: Array) -> Any:
    """`g y (1 - y)` for y = sigmoid(x)."""
    return grad_output * (1 - output) * output


@operation("threshold_backward")
def threshold_backward(grad_output: Array, self: Array, threshold: float) -> Any:
    """`g` where x is above the threshold, else 0."""
    return np.where(self > threshold, grad_output, 0.0)


@operation("silu_backward")
def silu_backward(grad_output: Array, self: Array) -> Any:
    """The derivative of `x sigmoid(x)`."""
    share = 1 / (1 + np.exp(-self))
    return grad_output * share * (1 + self * (1 - share))


@operation("gelu_backward")
def gelu_backward(grad_output: Array, self: Array, *, approximate: str = "none") -> Any:
    """The derivative of `x Φ(x)`, or of its approximation by tanh."""
    if approximate == "tanh":
        width = np.sqrt(2 / np.pi)
        bend = np.tanh(width * (self + 0.044715 * self**3))
        slope = width * (1 + 3 * 0.044715 * self * self)
        return grad_output * (0.5 * (1 + bend) + 0.5 * self * (1 - bend * bend) * slope)
    return grad_output * (0.5 * (1 + erf(self / np.sqrt(2))) + self * np.exp(-self * self / 2) / np.sqrt(2 * np.pi))


@operation("mse_loss_backward")
def mse_loss_backward(grad_output: Array, self: Array, target: Array, reduction: str = "mean") -> Any:
    """`2 (x - y) g`, divided by the number of elements under `mean`."""
    return 2 * (self - target) * grad_output / (self.size if reduction == "mean" else 1)


@operation("_softmax_backward_data")
def _softmax_backward_data(grad_output: Array, output: Array, dim: int, input_dtype: Any = None) -> Any:
    """`y (g - Σ g y)` for y = softmax(x)."""
    total = (grad_output * output).sum(axis=axis(dim, output.ndim), keepdims=True)
    return output * (grad_output - total)


@operation("_log_softmax_backward_data")
def _log_softmax_backward_data(grad_output: Array, output: Array, dim: int, input_dtype: Any = None) -> Any:
    """`g - exp(y) Σ g` for y = log_softmax(x)."""
    return grad_output - np.exp(output) * grad_output.sum(axis=axis(dim, output.ndim), keepdims=True)


@operation("select_backward")
def select_backward(grad_output: Array, input_sizes: Any, dim: int, index: int) -> Any:
    """Zeros, with `g` at one place of an axis."""
    out = np.zeros(sized(input_sizes))
    np.moveaxis(out, dim, 0)[index] = grad_output
    return out


@operation("slice_backward")
def slice_backward(grad_output: Array, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Any:
    """Zeros, with `g` in a stretch of an axis."""
    out = np.zeros(sized(input_sizes))
    np.moveaxis(out, dim, 0)[start:end:step] = np.moveaxis(grad_output, dim, 0)
    return out


@operation("embedding_dense_backward")
def embedding_dense_backward(
    grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:  # fmt: skip
    """The rows of `g` added up at the ids that they belong to."""
    if scale_grad_by_freq:
        raise Unsupported("gradients divided by how often an id occurs")
    out = np.zeros((num_weights, grad_output.shape[-1]))
    kept = indices.reshape(-1) != padding_idx
    np.add.at(out, indices.reshape(-1)[kept], grad_output.reshape(-1, grad_output.shape[-1])[kept])
    return out


@operation("leaky_relu_backward")
def leaky_relu_backward(grad_output: Array, self: Array, negative_slope: float, self_is_result: bool = False) -> Any:
    """`g` above zero, `negative_slope g` below; `self` may be the result, too, for slopes above zero."""
    return np.where(self > 0, grad_output, grad_output * negative_slope)


@operation("elu_backward")
def elu_backward(
    grad_output: Array, alpha: float, scale: float, input_scale: float, is_result: bool, self_or_result: Array
) -> Any:
    """The derivative of `scale x` above zero, `scale alpha (exp(input_scale x) - 1)` below."""
    below = self_or_result + alpha * scale if is_result else alpha * scale * np.exp(self_or_result * input_scale)
    return grad_output * np.where(self_or_result > 0, scale, input_scale * below)


@operation("softplus_backward")
def softplus_backward(grad_output: Array, self: Array, beta: float, threshold: float) -> Any:
    """`g sigmoid(beta x)`; `g` where `beta x` is above the threshold."""
    return np.where(self * beta > threshold, grad_output, grad_output / (1 + np.exp(-self * beta)))


def _shared(grad_output: Array, size: int, reduction: int) -> Array:
    """What arrives at each element of a loss: torch counts the reductions none 0, mean 1, sum 2."""
    return grad_output / size if reduction == 1 else grad_output


@operation("smooth_l1_loss_backward")
def smooth_l1_loss_backward(grad_output: Array, self: Array, target: Array, reduction: int, beta: float) -> Any:
    """`(x - y) g / beta`, where that is beyond `g` its sign times `g`."""
    off = (self - target) / beta if beta else np.sign(self - target)
    return np.clip(off, -1, 1) * _shared(grad_output, self.size, reduction)


@operation("huber_loss_backward")
def huber_loss_backward(grad_output: Array, self: Array, target: Array, reduction: int, delta: float) -> Any:
    """`(x - y) g`, with a distance of at most `delta`."""
    return np.clip(self - target, -delta, delta) * _shared(grad_output, self.size, reduction)


@operation("binary_cross_entropy_backward")
def binary_cross_entropy_backward(
    grad_output: Array, self: Array, target: Array, weight: Array | None = None, reduction: int = 1
) -> Any:
    """`(x - y) g / (x (1 - x))`."""
    if weight is not None:
        raise Unsupported("binary_cross_entropy with weight")
    slope = (self - target) / np.maximum((1 - self) * self, 1e-12)
    return slope * _shared(grad_output, self.size, reduction)
