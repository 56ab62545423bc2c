"""The statistics that a recipe, its prose and a page know by name: each known once, and the twins alike."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from lessonpress.core import script_modules
from lessonpress.lesson import recipe
from lessonpress.replay import statistics
from tests import javascript_runner

NUMBERS: dict[str, list[float]] = {
    "plain": [0.5, -2.0, 7.25, 7.25, -2.0],
    "one": [3.0],
    "zeros": [0.0, -0.0, 0.0],
    "a NaN": [1.0, math.nan, 9.0, math.nan],
    "NaN first": [math.nan, 2.0],
    "infinite": [math.inf, -math.inf, 4.0],
    "minus infinity twice": [-math.inf, 1.0, -math.inf],
    "whole": [3.0, 1.0, 2.0],
    "ties of either sign": [-1.0, 1.0, -1.0, 1.0],
    "NaN among infinities": [math.inf, math.nan, -math.inf],
    "nothing": [],
}


def test_the_recipe_names_those_that_there_are() -> None:
    """A name that the recipe admits and nothing computes would end in a traceback."""
    assert tuple(statistics.STATISTICS) == recipe.STATISTICS


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_a_position_points_at_the_first_nan(name: str) -> None:
    """As in numpy and PyTorch: what is not a number is pointed at, and never passed over in silence."""
    assert statistics.compute_statistic(name, np.array(NUMBERS["a NaN"])) == 1


@pytest.mark.parametrize("name", ["min", "max", "argmax", "argmin"])
def test_there_is_no_least_of_nothing(name: str) -> None:
    """An empty array has a sum, and no least or largest element: that is an error on both sides."""
    with pytest.raises(ValueError, match=r"zero-size|empty"):
        statistics.compute_statistic(name, np.array([]))


@pytest.mark.browser
def test_the_page_computes_what_the_record_holds(tmp_path: Path) -> None:
    """Every statistic of every kind of array is the same in JavaScript, or an error in both."""
    wanted = ["STATISTICS", *(f"STATISTICS.{name}" for name in statistics.STATISTICS)]
    texts = script_modules.join_modules([], wanted=wanted, libraries=[script_modules.REPLAY / "statistics.js"])
    sent = {case: [str(number).replace("inf", "Infinity") for number in numbers] for case, numbers in NUMBERS.items()}
    computed = javascript_runner.run("".join(texts) + HARNESS, sent, folder=tmp_path)
    for case, numbers in NUMBERS.items():
        for name in statistics.STATISTICS:
            assert_same(computed[case][name], name, numbers)


# For each array each statistic as text, since JSON has no NaN, or "error".
HARNESS = """
const attempt = (f, numbers) => {
  try {
    return String(f(numbers));
  } catch {
    return "error";
  }
};
const main = (cases) => Object.fromEntries(Object.entries(cases).map(([name, texts]) => [name,
  Object.fromEntries(Object.entries(STATISTICS).map(([statistic, f]) => [statistic, attempt(f, texts.map(Number))]))]));
"""


def assert_same(shown: str, name: str, numbers: list[float]) -> None:
    """The page's text is the record's statistic, within a rounding error, or both are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # infinities that cancel, the mean of nothing
        try:
            expected = statistics.compute_statistic(name, np.array(numbers))
        except ValueError:
            assert shown == "error", (name, numbers)
            return
    assert shown != "error", (name, numbers)
    assert float(shown) == pytest.approx(expected, rel=1e-15, abs=0, nan_ok=True), (name, numbers)
