"""Input specs are weighed without making anything: shapes, ranges, fills."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lessonpress.lesson import input_specs


@given(arrays.arrays(np.int64, arrays.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=4)))
def test_the_shape_of_nested_lists_is_numpys(array: Any) -> None:
    """Nested lists have the shape that numpy gives them."""
    assert input_specs.infer_shape(array.tolist()) == list(array.shape)


@given(st.recursive(st.integers(0, 9), lambda x: st.lists(x, min_size=1, max_size=3), max_leaves=12))
def test_ragged_lists_are_those_that_numpy_refuses(values: Any) -> None:
    """What numpy calls inhomogeneous is ragged, and nothing else is."""
    try:
        expected = list(np.array(values).shape)
    except ValueError:
        with pytest.raises(input_specs.Ragged):
            input_specs.infer_shape(values)
    else:
        assert input_specs.infer_shape(values) == expected


GOOD: list[dict[str, Any]] = [
    {"shape": [2], "fill": "ones"},
    {"values": []},
    {"values": 5},
    {"values": [True, False], "dtype": "bool"},
    {"shape": [2, 3], "values": [1, 2, 3, 4, 5, 6]},
    {"values": ["1+2j", 3], "dtype": "complex64"},
    {"values": [{"float": "NaN"}, 1.5]},
    {"values": [1.0, 2], "dtype": "int64"},
    {"literal": {"a": None}},
    {"list": [{"literal": 1}, {"tuple": [{"shape": [0], "fill": 1.5}]}]},
    {"dict": {}},
    {"shape": [], "fill": 3},
    {"shape": [3, 3], "fill": "eye"},
    {"shape": [2], "fill": "ramp", "start": 1, "step": 0.5},
    {"values": [-128, 127], "dtype": "int8"},
]
BAD: list[tuple[dict[str, Any], tuple[str | int, ...], str]] = [
    ({}, (), "nothing says"),
    ({"list": [{"literal": 1}, {"shape": [2], "values": [1]}]}, ("list", 1), "1 value given"),
    ({"dict": {"a": {"values": [[1], [1, 2]]}}}, ("dict", "a"), "rows of shape [1] and [2]"),
    ({"values": [None]}, (), "None given"),
    ({"values": [{"a": 1}]}, (), "{'a': 1} given"),
    ({"values": ["one"], "dtype": "complex64"}, (), "'one' given"),
    ({"values": [{"float": "NaN"}], "dtype": "int64"}, (), "NaN given"),
    ({"values": [128], "dtype": "int8"}, (), "128 given"),
    ({"values": [2**63], "dtype": "int64"}, (), "9223372036854775808 given"),
    ({"shape": [2], "fill": 0.5, "dtype": "int32"}, (), "0.5 given"),
    ({"shape": [2], "fill": "eye"}, (), "the fill eye needs two axes"),
    ({"shape": [2], "fill": "ones", "step": 2}, (), "start and step belong to the fill ramp"),
    ({"fill": "ones"}, (), "a fill without a shape"),
]


@pytest.mark.parametrize("spec", GOOD, ids=str)
def test_what_torch_can_make_is_good(spec: dict[str, Any]) -> None:
    """Every form of an input passes, nested ones too."""
    assert list(input_specs.find_faults(spec)) == []


@pytest.mark.parametrize(("spec", "path", "seen"), BAD, ids=lambda part: str(part)[:40])
def test_what_torch_cannot_make_is_reported(spec: dict[str, Any], path: tuple[str | int, ...], seen: str) -> None:
    """One fault, at its place inside the spec."""
    (fault,) = input_specs.find_faults(spec)
    assert fault.path == path
    assert fault.seen.startswith(seen)


def test_a_parameter_needs_numbers_but_no_shape() -> None:
    """A parameter's shape is the model's; plain values and lists of inputs make no sense for it."""
    assert list(input_specs.find_faults({"fill": 0}, shaped=False)) == []
    specs: list[dict[str, object]] = [{"literal": 1}, {"list": []}, {}]
    assert [len(list(input_specs.find_faults(spec, shaped=False))) for spec in specs] == [1, 1, 1]
