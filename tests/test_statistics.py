"""The statistics that a recipe, its prose and a page know by name: each known once, and the twins alike."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
}


def test_the_recipe_names_those_that_there_are() -> None:
    """A name that the recipe admits and nothing computes would end in a traceback."""
    assert tuple(statistics.STATISTICS) == recipe.STATISTICS


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_a_position_points_at_the_first_nan(name: str) -> None:
    """As in numpy and PyTorch: what is not a number is found, and never passed over in silence."""
    assert statistics.compute_statistic(name, np.array(NUMBERS["a NaN"])) == 1


@pytest.mark.browser
def test_the_page_computes_what_the_record_holds(project: Path, tmp_path: Path) -> None:
    """Every statistic of every kind of array is the same in JavaScript."""
    source = (project / "templates" / "script" / "machine.js").read_text(encoding="utf-8")
    source = source[source.index("const STATISTICS") : source.index("const metricNow")]
    cases = {case: numbers for case, numbers in NUMBERS.items() if not any(map(math.isnan, numbers))}
    told = {case: [_sent(number) for number in numbers] for case, numbers in cases.items()}
    script = source + """
    const shown = (x) => (Number.isFinite(x) ? x : String(x));
    const main = (cases) => Object.fromEntries(Object.entries(cases).map(([name, numbers]) => [name,
      Object.fromEntries(Object.entries(STATISTICS).map(([of, f]) => [of, shown(f(numbers.map(Number)))]))]));
    """
    found = javascript_runner.run(script, told, folder=tmp_path)
    for case, numbers in cases.items():
        for name in statistics.STATISTICS:
            with np.errstate(invalid="ignore"):
                expected = statistics.compute_statistic(name, np.array(numbers))
            ours = float(found[case][name])
            assert ours == pytest.approx(expected, rel=1e-15, abs=0, nan_ok=True), (case, name)


def _sent(number: float) -> Any:
    return number if math.isfinite(number) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(number)]
