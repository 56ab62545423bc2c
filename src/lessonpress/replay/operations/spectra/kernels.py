"""Complex numbers, each as a pair of floats on a last axis, and the discrete Fourier transforms.

The interpreters know no complex numbers: an array of them stands as an array of pairs (real part, imaginary part), of
one more axis. `complex_numbers.py` says which rows a call of torch becomes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lessonpress.replay.operations.kinds import Array, Unsupported, affordable, real, settle, sized
from lessonpress.replay.operations.table import operation


def _join(pairs: Array) -> Any:
    """Pairs as numpy's complex numbers."""
    return pairs[..., 0] + 1j * pairs[..., 1]


@operation("complex_from")
def complex_from(input: Array) -> Any:
    """Real numbers as complex ones."""
    return settle(real(input).astype(np.complex128))


@operation("complex_polar")
def complex_polar(abs: Array, angle: Array) -> Any:
    """Complex numbers by their distance from 0 and their angle."""
    return np.stack(np.broadcast_arrays(abs * np.cos(angle), abs * np.sin(angle)), axis=-1)


@operation("complex_abs")
def complex_abs(pairs: Array) -> Any:
    """How far each number is from 0."""
    return np.hypot(pairs[..., 0], pairs[..., 1])


@operation("complex_angle")
def complex_angle(pairs: Array) -> Any:
    """The angle of each number, from -pi to pi."""
    return np.arctan2(pairs[..., 1], pairs[..., 0])


@operation("complex_conj")
def complex_conj(pairs: Array) -> Any:
    """Each number with the sign of its imaginary part turned."""
    return pairs * np.array([1.0, -1.0])


@operation("complex_mul")
def complex_mul(input: Array, other: Array) -> Any:
    """Products."""
    return settle(_join(input) * _join(other))


@operation("complex_div")
def complex_div(input: Array, other: Array) -> Any:
    """Quotients."""
    return settle(_join(input) / _join(other))


@operation("complex_exp")
def complex_exp(pairs: Array) -> Any:
    """Exponentials."""
    size = np.exp(pairs[..., 0])
    return np.stack([size * np.cos(pairs[..., 1]), size * np.sin(pairs[..., 1])], axis=-1)


@operation("complex_matmul")
def complex_matmul(input: Array, other: Array) -> Any:
    """Products of matrices."""
    return settle(_join(input) @ _join(other))


@operation("complex_fourier")
def complex_fourier(
    pairs: Array, sizes: Any, dims: Any, norm: Any = None, inverse: bool = False, half: str | None = None
) -> Any:  # fmt: skip
    """The discrete Fourier transform along some axes (from 0, without that of the pairs), cut or filled to `sizes`.

    `half` is `keep` for the transform of real numbers, whose last axis holds only the first half, and `fill` for the
    inverse of that, which gives real numbers.
    """
    if not dims:
        raise Unsupported("a Fourier transform along no axis")
    x = _join(pairs)
    sized([*x.shape, *sizes])
    for at, dim in enumerate(dims):
        last = at == len(dims) - 1
        n = int(sizes[at])
        affordable(float(x.size) * n)
        if last and half == "fill":
            x = np.fft.irfft(x, n, axis=dim, norm=norm)
        else:
            x = (np.fft.ifft if inverse else np.fft.fft)(x, n, axis=dim, norm=norm)
    if half == "keep":
        x = np.take(x, range(int(sizes[-1]) // 2 + 1), axis=dims[-1])
    return settle(x)
