"""Inputs from their specs: shapes, dtypes, fills, nesting, and what does not fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from lessonpress.worker import inputs, run

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128")  # fmt: skip


def made(run_dtype: torch.dtype = torch.float32, /, **spec: Any) -> Any:
    """One input in a run of the given dtype."""
    return inputs.make(spec, run_dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fill", ["zeros", "ones", "rand", "randn", "arange", "eye", 1])
def test_every_fill_gives_every_dtype(dtype: str, fill: Any) -> None:
    """Shape and dtype are those of the spec; a float64 run widens single-precision inputs."""
    spec = {"shape": [2, 3], "dtype": dtype, "fill": fill}
    out = made(**spec)
    assert tuple(out.shape) == (2, 3)
    assert out.dtype is getattr(torch, dtype)
    wide = {"float32": "float64", "complex64": "complex128"}.get(dtype, dtype)
    assert made(torch.float64, **spec).dtype is getattr(torch, wide)


def test_fills_hold_the_numbers_that_they_name() -> None:
    """Ramps count row by row from their start, eye repeats over further axes, numbers fill."""
    assert made(shape=[2, 2], dtype="float32", fill="ramp", start=-1.0, step=0.25).tolist() == [
        [-1, -0.75],
        [-0.5, -0.25],
    ]
    assert made(shape=[2, 2], dtype="int64", fill="arange").tolist() == [[0, 1], [2, 3]]
    assert made(shape=[2, 2, 3], dtype="float32", fill="eye").tolist() == [[[1, 0, 0], [0, 1, 0]]] * 2
    assert made(shape=[], dtype="float64", fill=2.5).item() == 2.5
    assert made(shape=[2], dtype="float32", fill={"float": "-Infinity"}).tolist() == [-math.inf] * 2
    assert made(shape=[0, 3], dtype="float32", fill="ones").shape == (0, 3)


def test_drawn_fills_are_drawn_in_their_own_dtype_and_then_cast() -> None:
    """A float64 run sees the float32 draw of the seed, so that both runs see the same numbers."""
    run.seed(4)
    narrow = made(shape=[5], dtype="float32", fill="randn")
    run.seed(4)
    wide = made(torch.float64, shape=[5], dtype="float32", fill="randn")
    assert torch.equal(wide, narrow.double())


def test_literal_numbers_keep_their_precision_in_a_float64_run() -> None:
    """0.1 stays 0.1, also in ramps and complex numbers."""
    assert made(torch.float64, values=[0.1], dtype="float32").item() == 0.1
    assert made(torch.float64, shape=[1], dtype="float32", fill=0.1).item() == 0.1
    assert made(torch.float64, shape=[2], dtype="float32", fill="ramp", start=0.1, step=0).tolist() == [0.1, 0.1]
    assert made(torch.float64, values=["0.1+0.2j"], dtype="complex64").item() == 0.1 + 0.2j


def test_values_take_a_shape_beside_them() -> None:
    """A flat list is shaped when the count fits; NaN and infinities are read."""
    assert made(values=[1, 2, 3, 4], dtype="float32", shape=[2, 2]).tolist() == [[1, 2], [3, 4]]
    assert np.array_equal(made(values=[{"float": "NaN"}, 1.0], dtype="float32").numpy(), [math.nan, 1], equal_nan=True)
    assert made(values=[], dtype="float32", shape=[0]).shape == (0,)
    with pytest.raises(ValueError, match="3 values given"):
        made(values=[1, 2, 3], dtype="float32", shape=[2, 2])


@pytest.mark.parametrize("spec", [
    {"values": [1.5], "dtype": "int64"}, {"values": [[1, 2.25]], "dtype": "uint8"},
    {"shape": [2], "fill": 0.5, "dtype": "int32"},
    {"shape": [2], "fill": {"float": "NaN"}, "dtype": "int64"}, {"values": [300], "dtype": "uint8"},
    {"values": ["a"], "dtype": "float32"}, {"values": [[1], [1, 2]], "dtype": "float32"},
    {"shape": [3], "fill": "eye", "dtype": "float32"},
])  # fmt: skip
def test_values_that_do_not_fit_are_refused(spec: dict[str, Any]) -> None:
    """Fractions for whole numbers, overflow, text and ragged lists are errors, never other numbers."""
    with pytest.raises((ValueError, RuntimeError, TypeError, OverflowError)):
        inputs.make(spec, torch.float32)


def test_whole_floats_are_whole_numbers() -> None:
    """1.0 for an int64 input is 1."""
    assert made(values=[1.0, 2.0], dtype="int64").tolist() == [1, 2]


def test_literals_and_nested_inputs() -> None:
    """Lists, tuples and dicts nest; literals are plain values; leaves carry dotted paths."""
    leaf = {"shape": [1], "dtype": "float32", "fill": "ones"}
    value = made(
        dict={"a": {"list": [leaf, {"literal": {"float": "Infinity"}}]}, "b": {"tuple": [leaf]}, "c": {"literal": None}}
    )
    assert [path for path, _ in inputs.leaves(value, "batch")] == ["batch.a.0", "batch.a.1", "batch.b.0", "batch.c"]
    assert isinstance(value["b"], tuple)
    assert (value["a"][1], value["c"]) == (math.inf, None)
