"""A heatmap is painted alike when the page is made and when a reader moves a number: heatmap.py and heatmap.js."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from lessonpress.core import script_modules
from lessonpress.web.page import heatmap
from lessonpress.web.page.arrays import Axis, Grid
from lessonpress.web.page.scales import Scale
from tests import javascript_runner

pytestmark = pytest.mark.browser
# Half steps of colour, both signs, beyond the scale, and what is no finite number.
STEPS = [sign * step / 160 for step in range(170) for sign in (1, -1)]
GRIDS: dict[str, tuple[list[list[Any]], tuple[float, float]]] = {
    "every step of colour": ([STEPS[at : at + 20] for at in range(0, len(STEPS), 20)], (-1.0, 1.0)),
    "no finite number": ([[math.nan, math.inf], [-math.inf, 0.0]], (0.0, 0.0)),
    "zeros of both signs": ([[0.0, -0.0, 1e-300]], (-1e-300, 1e-300)),
    "a column": ([[1.0], [-2.0], [0.5]], (-2.0, 2.0)),
    "many columns": ([[math.sin(i) * 1e300 for i in range(120)]], (-1e300, 1e300)),
    "numbers in cells": ([[0.125, -0.0625, 0.0, 3.0, "NaN"], [0.1 + 0.2, -1e-9, 2.4999, -2.5, 2.5]], (-2.5, 2.5)),
    "two digits": ([[0.005 * at for at in range(16)], [-0.005 * at for at in range(16)]], (-0.08, 0.08)),
    "without zero": ([[0.17, 0.18, 0.185, 0.19, 0.2, 0.21, 0.22, 0.23]], (0.18, 0.22)),
    "below zero": ([[-0.17, -0.18, -0.19, -0.2, -0.21, -0.22, -0.23, 0.1]], (-0.22, -0.18)),
    **{f"{columns} columns": ([[float(i - 1) for i in range(columns)]], (-50.0, 50.0))
       for columns in (14, 15, 16, 37, 49, 51)},
}
HARNESS = """
const main = (grids) => Object.fromEntries(Object.entries(grids).map(([name, { lines, scale, frame }]) => [name, {
  side: cellSide(lines[0].length), paths: cellPaths(lines.map((line) => line.map(Number)), frame, scale),
}]));
"""


def drawn(lines: list[list[Any]], scale: tuple[float, float]) -> tuple[list[int], list[dict[str, Any]]]:
    """Frame and paths of the picture that Python makes."""
    rows, columns = (Axis("axis", tuple(map(str, range(size))), size) for size in (len(lines), len(lines[0])))
    grid = Grid(rows, columns, tuple(map(tuple, lines)))
    picture = str(heatmap.draw(grid, scale=Scale(*scale), description="d"))
    frame = re.findall(r'data-frame="([^"]*)"', picture)[0]
    paths = [{name: value, "d": d} for name, value, d in re.findall(r'<path (\w+)="([^"]*)" d="([^"]*)"', picture)]
    paths += [{"class": tone, "x": int(x), "y": int(y), "words": words} for tone, x, y, words
              in re.findall(r'<text class="(cell[^"]*)" x="(\d+)" y="(\d+)">([^<]*)<', picture)]  # fmt: skip
    return [int(number) for number in frame.split()], paths


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the page's script makes of the same numbers in the same frame."""
    texts = script_modules.join_modules([script_modules.page_module("heatmap")])
    sent = {name: {"lines": [[str(value).replace("inf", "Infinity") for value in line] for line in lines],
                   "scale": scale, "frame": drawn(lines, scale)[0]}
            for name, (lines, scale) in GRIDS.items()}  # fmt: skip
    answer: dict[str, Any] = javascript_runner.run("".join(texts) + HARNESS, sent, folder=tmp_path_factory.mktemp("js"))
    return answer


@pytest.mark.parametrize("name", GRIDS)
def test_both_paint_the_same_cells(name: str, redrawn: dict[str, Any]) -> None:
    """Colours, signs, their places and the side of a cell, path by path."""
    frame, paths = drawn(*GRIDS[name])
    assert len(frame) == 5 or redrawn[name]["side"] == frame[2] == frame[3]
    assert redrawn[name]["paths"] == paths


def test_every_colour_is_tried(redrawn: dict[str, Any]) -> None:
    """The cases above show 40 steps on either side of zero, which is one colour for both, and the grey of no number."""
    fills = {path["fill"] for one in redrawn.values() for path in one["paths"] if "fill" in path}
    assert len(fills) == 40 + 1 + 40 + 1
