"""Metrics on a live page: its self-test holds them against the record, and a NaN is where the largest number is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests import tiny
from tests.browser.opening import make_preview, open_page

pytestmark = pytest.mark.browser
MODEL = "from torch import nn\n\n\nclass Roots(nn.Module):\n    def forward(self, x):\n        return x.sqrt()\n"
RECIPE = """\
schema: 1
slug: roots
title: Roots
model: {file: model.py, class: Roots}
execution: {inputs: {x: {shape: [4], dtype: float32, values: [4, 9, 1, 0]}}}
experiment:
  cases: [{id: one}, {id: other, inputs: {x: {values: [1, 4, 16, 25]}}}]
  control: {input: x, range: [-2, 20]}
  record:
    vectors: [{id: roots, tensor: "sqrt@Roots#0"}]
    metrics:
      - {id: top, of: roots, value: argmax}
      - {id: bottom, of: roots, value: argmin}
      - {id: total, of: roots, value: sum}
"""
DATA = re.compile(r'(<script type="application/json" id="page-data">)(.*?)(</script>)', re.DOTALL)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with three metrics of a vector of four numbers, in two cases."""
    folder = tmp_path_factory.mktemp("roots")
    return make_preview(tiny.write(folder / "roots", recipe=RECIPE, model=MODEL), folder / "revision") / "index.html"


def started(browser: Browser, file: Path) -> Page:
    """The page with its scripts started and its self-test done."""
    shown = open_page(browser, file.as_uri())
    shown.wait_for_selector(".self-test:not(:empty)", state="attached")
    return shown


def changed(file: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A copy of the page whose record was changed."""

    def rewrite(found: re.Match[str]) -> str:
        data = json.loads(found[2])
        change(data)
        return found[1] + json.dumps(data) + found[3]

    copy = file.with_name("changed.html")
    copy.write_text(DATA.sub(rewrite, file.read_text("utf-8")), "utf-8")
    return copy


def test_the_self_test_covers_metrics(browser: Browser, page_file: Path) -> None:
    """Four numbers and three metrics in each of two cases, all as recorded."""
    shown = started(browser, page_file)
    assert shown.evaluate("lesson.selfTest()") == {"most": 0, "count": 14}
    assert "recomputed 14 recorded numbers" in shown.locator(".self-test").inner_text()


@pytest.mark.parametrize(("recorded", "most"), [(6.5, "0.5"), ("NaN", "Infinity")])
def test_a_metric_that_was_recorded_otherwise_is_noticed(
    browser: Browser, page_file: Path, recorded: object, most: str
) -> None:
    """The total of the roots of 4, 9, 1 and 0 is 6. A NaN in its place is no small difference."""

    def change(data: dict[str, Any]) -> None:
        assert data["metrics"]["one"] == [1, 3, 6]
        assert data["metrics"]["other"] == [3, 0, 12]
        data["metrics"]["one"][2] = recorded

    shown = started(browser, changed(page_file, change))
    assert shown.evaluate("String(lesson.selfTest().most)") == most


def test_a_nan_is_where_largest_and_smallest_point(browser: Browser, page_file: Path) -> None:
    """As in PyTorch and numpy: the root of −1 at place 2 is named by both, and the sum is NaN."""
    shown = started(browser, page_file)
    shown.locator(".knob input[type=number]").nth(2).fill("-1")
    shown.locator(".knob input[type=number]").nth(2).press("Enter")
    shown.wait_for_selector("#example.live")
    metrics = shown.locator('.case[data-case="one"] .metrics dd:not(.change)')
    assert [metrics.nth(i).inner_text() for i in range(3)] == ["2", "2", "NaN"]
