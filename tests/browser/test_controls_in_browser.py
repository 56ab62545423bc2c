"""Controls suit what they set: cells that are pulled, an image that is drawn on, ids that stay within their table."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests import tiny
from tests.browser.opening import make_preview, open_page

pytestmark = pytest.mark.browser
MODEL = """\
from torch import nn


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5, 2)

    def forward(self, image, few, ids):
        return image.sum(-1), few * 2, self.words(ids)
"""
RECIPE = """\
schema: 1
slug: mixed
title: Mixed
model: {file: model.py, class: Mixed}
execution: {inputs: {image: {shape: [12, 12], fill: 0}, few: {shape: [2, 3], fill: 0}, ids: {values: [1, 2]}}}
experiment:
  control: {input: image, range: [0, 1]}
  cases: [{id: dark}, {id: grey, inputs: {image: {fill: 0.5}}}]
  record: {vectors: [{id: rows, tensor: "output[0]"}, {id: word, tensor: "output[2]", select: "[1]"}]}
"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with an image of twelve by twelve, six numbers in two rows, and two ids of a table of five."""
    folder = tmp_path_factory.mktemp("mixed")
    return make_preview(tiny.write(folder / "mixed", recipe=RECIPE, model=MODEL), folder / "revision") / "index.html"


def started(browser: Browser, file: Path) -> Page:
    """The page with its scripts started and all its controls open."""
    shown = open_page(browser, file.as_uri())
    shown.wait_for_selector(".self-test:not(:empty)", state="attached")
    shown.evaluate("document.querySelectorAll('.controls details').forEach((part) => { part.open = true; })")
    return shown


def read_bars(shown: Page, name: str) -> list[float]:
    """The numbers that a vector of the first case shows."""
    cells = shown.locator(f'[data-vector="{name}"]:visible tbody td:not(.bar)').all_inner_texts()
    return [float(cell) for cell in cells]


def test_an_image_is_drawn_on_to_its_last_row(browser: Browser, page_file: Path) -> None:
    """A stroke over the last row of 144 cells sets them, a second one clears them; one number is set by its place."""
    shown = started(browser, page_file)
    pad = shown.locator(".pad svg").first
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    assert box
    frame = [int(part) for part in (pad.get_attribute("data-frame") or "").split()]
    scale = box["width"] / float((pad.get_attribute("width")) or 1)
    across = [box["x"] + scale * (frame[0] + frame[2] * (at + 0.5)) for at in range(12)]
    last = box["y"] + scale * (frame[1] + frame[3] * 11.5)
    for expected in (12.0, 0.0):
        shown.mouse.move(across[0], last)
        shown.mouse.down()
        for x in across[1:]:
            shown.mouse.move(x, last)
        shown.mouse.up()
        shown.wait_for_timeout(100)
        assert read_bars(shown, "rows") == [0.0] * 11 + [expected]
    shown.get_by_label("Which of the 144 numbers of image").fill("143")
    shown.locator(".any-cell input").last.fill("0.25")
    shown.keyboard.press("Enter")
    shown.wait_for_timeout(100)
    assert read_bars(shown, "rows")[-1] == 0.25


def test_an_id_stays_within_its_table(browser: Browser, page_file: Path) -> None:
    """An id beyond the table becomes the last of the table: the page goes on computing."""
    shown = started(browser, page_file)
    field = shown.get_by_label("ids[1]", exact=True)
    for typed, taken in (("99", "4"), ("-3", "0")):
        field.fill(typed)
        field.press("Enter")
        shown.wait_for_selector("#example.live")
        assert field.input_value() == taken
        assert shown.locator(".problem").inner_text() == ""
