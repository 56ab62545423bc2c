"""Functions of one number against mpmath, which computes them to any number of digits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import mpmath
import numpy as np
import pytest

from lessonpress.worker import elementary

RNG = np.random.default_rng(1)
BESIDE_ONE = 1 - 2.0 ** -RNG.uniform(1, 53, 400)
QUARTERS = np.concatenate([np.arange(1, 60) * (np.pi / 4), [np.pi / 2 * 2.0**k for k in range(10, 60)]])
LINE = np.concatenate([
    RNG.uniform(-20, 20, 1500), 2.0 ** RNG.uniform(-40, 70, 1500), -(2.0 ** RNG.uniform(-6, 6, 500)),
    QUARTERS, np.nextafter(QUARTERS, 0), np.nextafter(QUARTERS, np.inf), np.arange(1, 33) / 32,  # between two entries
    [1023.9, 1024.0, 1024.1, 5e-324, 1e-310, 2.0**-28, 1.0, 1e308],
])  # fmt: skip
HUGE = np.concatenate([2.0 ** RNG.uniform(10, 1023, 200), [6381956970095103 * 2.0**797, 1.7976931348623157e308]])
UNIT = np.concatenate([RNG.uniform(-1, 1, 1500), BESIDE_ONE, -BESIDE_ONE, 2.0 ** RNG.uniform(-60, -1, 400),
                       np.arange(-32, 33) / 32, [5e-324, np.sqrt(0.5)]])  # fmt: skip


def worst_ulp(values: np.ndarray, truth: Callable[[Any], Any], x: Iterable[float]) -> float:
    """The largest distance from the true values, in units of the last place of the values' dtype."""
    with mpmath.workprec(1300):  # as many bits as the largest number has, and more
        exact = [truth(mpmath.mpf(one)) for one in x]
        units = [float(np.spacing(abs(values.dtype.type(float(one))))) for one in exact]
        return float(max(abs(mpmath.mpf(v) - t) / u for v, t, u in zip(values.tolist(), exact, units, strict=True)))


@pytest.mark.parametrize(
    ("name", "x"),
    [("atan", LINE), ("tan", LINE), ("tan", HUGE), ("asin", UNIT), ("acos", UNIT)],
    ids=["atan", "tan", "tan of huge angles", "asin", "acos"],
)
def test_float64_is_within_one_ulp_of_the_truth(name: str, x: np.ndarray) -> None:
    """Over every power of two, beside the quarter turns, beside 1, and half way between the entries of the table."""
    assert worst_ulp(elementary.FUNCTIONS[name](x), getattr(mpmath, name), x.tolist()) < 0.6


@pytest.mark.parametrize(("name", "x"), [("atan", LINE), ("tan", LINE), ("asin", UNIT), ("acos", UNIT)])
def test_float32_is_all_but_the_nearest_number(name: str, x: np.ndarray) -> None:
    """Computed in float64 and rounded, it is half an ulp off at most, and a ten-millionth of one."""
    given = x[np.abs(x) < 1e30].astype(np.float32)
    values = elementary.FUNCTIONS[name](given.astype(np.float64)).astype(np.float32)
    normal = np.abs(values) >= np.finfo(np.float32).tiny
    assert worst_ulp(values[normal], getattr(mpmath, name), given[normal].astype(np.float64).tolist()) < 0.500001


def test_what_is_no_angle_is_as_the_standard_has_it() -> None:
    """Signed zeros are kept; infinity is a quarter turn for atan; beyond the domain there is no number."""
    odd = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 1.0000000000000002, -2.0])
    with np.errstate(all="ignore"):
        for name, native in (("atan", np.arctan), ("asin", np.arcsin), ("acos", np.arccos), ("tan", np.tan)):
            ours, theirs = elementary.FUNCTIONS[name](odd), native(odd)
            np.testing.assert_allclose(ours, theirs, rtol=1e-15)
            zeros = ours == 0
            np.testing.assert_array_equal(np.signbit(ours[zeros]), np.signbit(theirs[zeros]))


def test_the_table_is_the_truth_rounded_twice() -> None:
    """High and low part together are atan(k / 16) to 100 bits; a quarter turn is pi/2."""
    pairs = zip(elementary.TABLE_HIGH.tolist(), elementary.TABLE_LOW.tolist(), strict=True)
    with mpmath.workprec(200):
        for k, (high, low) in enumerate(pairs):
            assert abs(mpmath.mpf(high) + mpmath.mpf(low) - mpmath.atan(mpmath.mpf(k) / 16)) < mpmath.mpf(2) ** -106
        assert abs(mpmath.mpf(elementary.TURN[0]) + elementary.TURN[1] - mpmath.pi / 2) < mpmath.mpf(2) ** -105
