"""How far two sets of numbers are apart, against arithmetic that can be done by hand."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.revision import numeric_diff

TIGHT = {"atol": 1e-12, "rtol": 1e-12}
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, st.integers(0, 40))
def test_ulp_counts_steps_of_nextafter(start: float, steps: int) -> None:
    """Walking n steps along the floats is n ulp away; the two zeros are one number."""
    end = start
    for _ in range(steps):
        end = math.nextafter(end, math.inf)
    if math.isfinite(end):
        assert numeric_diff.count_ulps(np.float64(start), np.float64(end)) == steps
        assert numeric_diff.count_ulps(np.float64(end), np.float64(start)) == steps


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_an_ulp_is_of_the_dtype(dtype: str) -> None:
    """One and one plus the dtype's own epsilon are neighbours."""
    one = np.ones((), dtype)
    assert numeric_diff.count_ulps(one, one + np.finfo(dtype).eps) == 1
    assert numeric_diff.count_ulps(-np.finfo(dtype).tiny, np.finfo(dtype).tiny) == 2 * 2 ** np.finfo(dtype).nmant


@pytest.mark.parametrize(
    ("old", "new"), [(1, 2), (np.float64(1), np.float64("nan")), (np.float32(1), np.float64(1)), (np.inf, 1.0)]
)
def test_some_numbers_have_no_ulp_between_them(old: Any, new: Any) -> None:
    """Integers, no-numbers, infinities and numbers of two dtypes."""
    assert numeric_diff.count_ulps(old, new) is None


def test_the_worst_cell_is_found() -> None:
    """Of two differences the one that uses more of its tolerance, with its place, its numbers and how many differ."""
    old = np.array([[1.0, 2.0], [1e-3, 4.0]])
    new = old.copy()
    new[0, 1] += 2**-51  # 1 ulp of 2, about 1.5e-4 of the tolerance
    new[1, 0] += 2**-60  # less in absolute terms
    gap = numeric_diff.compare_arrays("a: b", old, new, **TIGHT)
    assert gap is not None
    assert (gap.place, gap.ulp, gap.cells, gap.good) == ((0, 1), 1, 2, True)
    assert (gap.old, gap.new) == ("2.0", repr(2.0 + 2**-51))
    assert gap.words() == "1 ulp at a: b[0, 1]"


@given(st.lists(FINITE, min_size=1, max_size=6), st.floats(-1e-9, 1e-9))
def test_good_is_what_numpy_calls_close(values: list[float], shift: float) -> None:
    """The verdict is that of |new − old| ≤ atol + rtol·|old|."""
    old, new = np.array(values), np.array(values) + shift
    gap = numeric_diff.compare_arrays("x", old, new, **TIGHT)
    assert (gap is None or gap.good) == bool(np.isclose(new, old, **TIGHT).all())


def test_no_number_equals_itself() -> None:
    """NaN beside NaN and infinity beside infinity are no difference; beside anything else they are out of tolerance."""
    odd = np.array([np.nan, np.inf, -np.inf, 1.0])
    assert numeric_diff.compare_arrays("x", odd, odd.copy(), **TIGHT) is None
    for place in range(3):
        other = odd.copy()
        other[place] = 0.0
        gap = numeric_diff.compare_arrays("x", odd, other, **TIGHT)
        assert gap is not None
        assert not gap.good
        assert gap.place == (place,)


def test_integers_and_shapes_are_structure() -> None:
    """A position that moved by one is no rounding, nor is another shape or kind."""
    far = {"atol": 10.0, "rtol": 10.0}
    for old, new in ((np.array([3]), np.array([4])), (np.zeros(2), np.zeros(3)), (np.zeros(1), np.zeros(1, int))):
        gap = numeric_diff.compare_arrays("x", old, new, **far)
        assert gap is not None
        assert not gap.good


def test_complex_numbers_are_compared_by_their_distance() -> None:
    """The distance in the plane counts, and the ulp is the larger of the parts'."""
    old = np.array([3 + 4j])
    gap = numeric_diff.compare_arrays("x", old, old + 1e-13j, **TIGHT)
    assert gap is not None
    assert gap.good
    assert gap.ulp == round(1e-13 / 2**-50)
    assert not numeric_diff.compare_arrays("x", old, old + 1, **TIGHT).good  # type: ignore[union-attr]


def test_arrays_of_one_side_are_named() -> None:
    """What came and what went is listed, and is not good."""
    old, new = ({name: np.zeros(1) for name in names} for names in ("ab", "bc"))
    comparison = numeric_diff.compare(old, new, **TIGHT)
    assert (comparison.added, comparison.removed, comparison.arrays) == (("c",), ("a",), 1)
    assert not comparison.good()
    assert comparison.words() == "1 added, 1 removed"


def test_the_words_name_what_is_out_before_what_is_in() -> None:
    """The worst of several arrays: one out of tolerance comes first, even after a larger count of ulp within it."""
    old = {"a": np.array([1.0]), "b": np.array([1e-30])}
    new = {"a": np.array([1.0 + 1e-9]), "b": np.array([2e-30])}
    comparison = numeric_diff.compare(old, new, **TIGHT)
    assert comparison.words() == "2 of 2 arrays, largest 1e-09 at a[0]"
    assert numeric_diff.compare(old, old, **TIGHT).same()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["NaN", "Infinity", -1.5], [np.nan, np.inf, -1.5]),
        ({"re": 1.0, "im": "NaN"}, complex(1, float("nan"))),
        ([[], []], [[], []]),
    ],
)
def test_published_numbers_are_read_back(values: Any, expected: Any) -> None:
    """Strings stand for what JSON cannot hold, pairs for complex numbers, and shapes are kept."""
    np.testing.assert_equal(numeric_diff.parse_array(values), np.array(expected))
