"""The catalogue and the history in a browser, and pages of lessons that are out of the ordinary."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import html5lib
import pytest
from playwright.sync_api import Browser, expect

from lessonpress.web.page import lesson_page, site_pages
from scripts import reference
from tests import tiny
from tests.browser.opening import make_preview, open_page
from tests.browser.test_lessons_in_browser import AXE, RULES
from tests.page_sample import GRAPH, RECIPE, SOURCE, manifest

pytestmark = pytest.mark.browser
BRANCHING = """\
from torch import nn


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right, self.never = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, spare):
        return self.left(x) if x.sum() > 0 else self.right(x).exp()
"""
RECIPE_OF_BRANCHING = """\
schema: 1
slug: branching
title: Which way?
question: Left or right?
model: {file: model.py, class: Branching}
execution: {inputs: {x: {shape: [1, 2], fill: 1}, spare: {shape: [1], fill: 0}}}
experiment:
  control: {input: x, range: [-1, 1]}
  cases: [{id: up}, {id: down, inputs: {x: {fill: -1}}}]
  record: {vectors: [{id: y, tensor: output, select: "[0]"}]}
questions:
  - {id: way, prompt: Which is larger?, options: [first, second], answer: up.y | argmax}
  - {id: much, prompt: How much is the first?, answer: "up.y[0]"}
"""


def many(count: int) -> list[dict[str, Any]]:
    """Manifests of so many lessons."""
    sample = manifest()
    return [
        {**sample, "slug": f"l{at}", "title": f"Lesson {at:04}", "tags": ["even" if at % 2 == 0 else "odd"],
         "milestone": {**sample["milestone"], "year": 1900 + (7 * at) % 120}}
        for at in range(count)
    ]  # fmt: skip


def test_the_catalogue_is_searched_and_sorted(browser: Browser, tmp_path: Path) -> None:
    """Words and topics leave the cards that fit, orders move them, and a link still leads to the lesson."""
    file = tmp_path / "index.html"
    file.write_text(site_pages.render_catalogue(many(20), base_url="https://example.org"), encoding="utf-8")
    shown = open_page(browser, file.as_uri())
    shown.get_by_label("Find").fill("lesson 0013")
    assert shown.locator(".card:not([hidden]) h3").all_text_contents() == ["Lesson 0013"]
    assert "1 of 20" in shown.locator(".finder [role=status]").inner_text()
    shown.get_by_label("Find").fill("")
    shown.locator("#topic").select_option("even")
    shown.locator("#order").select_option("newest")
    years = [int(text) for text in shown.locator(".card:not([hidden]) .kicker").all_text_contents()]
    assert len(years) == 10
    assert years == sorted(years, reverse=True)
    assert shown.locator(".card:visible a").first.get_attribute("href").startswith("models/l")


def test_a_thousand_lessons_do_not_lag(browser: Browser, tmp_path: Path) -> None:
    """With two thousand cards a typed word is answered in less than a quarter of a second."""
    file = tmp_path / "index.html"
    file.write_text(site_pages.render_catalogue(many(2000)), encoding="utf-8")
    shown = open_page(browser, file.as_uri())
    took = shown.evaluate("""() => { const find = document.getElementById("find"); const begin = performance.now();
      find.value = "0777"; find.dispatchEvent(new Event("input")); document.body.offsetHeight;
      return performance.now() - begin; }""")
    assert shown.locator(".card:visible").count() == 1
    assert took < 250


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_around_the_lessons(browser: Browser, tmp_path: Path, scheme: Any) -> None:
    """Catalogue, history, the pages around revisions and for a wrong address: valid, and without a fault for axe."""
    event = {"revision": "5eed5eed5eed5eed", "publishedAt": "2031-01-01T00:00:00Z", "reasons": ["prose"], "note": "n"}
    history = {"slug": "l1", "current": event["revision"], "pinned": None,
               "revisions": [event, {**event, "revision": "abcdefabcdefabcd"}],
               "withdrawn": [{"revision": "0123456789abcdef", "at": "2031-02-02T00:00:00Z", "note": ""}]}  # fmt: skip
    layers = site_pages.render_layers("l1", "Lesson", history)
    leads_on = re.sub('<meta http-equiv="refresh".*?>|<script>.*?</script>', "", site_pages.render_current(
        "l1", "Lesson", history), flags=re.DOTALL)  # as somebody meets it whose browser does not go on
    assert len(layers) == 3
    texts = {
        **{f"layer-{name}": text for name, text in layers.items()}, "leads-on": leads_on,
        "catalogue": site_pages.render_catalogue(many(3)),
        "history": site_pages.render_history("l1", "Lesson", history, {event["revision"]: manifest()}),
        "missing": site_pages.render_missing(),
        "waiting": site_pages.render_waiting("lessons/x/lesson.yaml:3: titel: unknown key."),
    }
    for name in layers:  # something to be shown in the frame
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(texts["missing"], encoding="utf-8")
    for name, text in texts.items():
        html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
        shown = open_page(browser, (tmp_path / f"{name}.html").as_uri(), color_scheme=scheme, bypass_csp=True)
        shown.add_script_tag(path=AXE)
        assert shown.evaluate(RULES) == [], name


def test_the_catalogue_breaks_no_rule(browser: Browser, tmp_path: Path, complaints: list[str]) -> None:
    """With its policy in force the catalogue asks for nothing but previews and complains of nothing."""
    file = tmp_path / "index.html"
    file.write_text(site_pages.render_catalogue(many(3)), encoding="utf-8")
    open_page(browser, file.as_uri(), complaints).wait_for_timeout(200)
    kept = [line for line in complaints if "preview.svg" not in line and "ERR_FILE_NOT_FOUND" not in line]
    assert kept == [file.as_uri()]


@pytest.fixture(scope="module")
def branching(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The revision of a lesson whose cases take different ways."""
    folder = tmp_path_factory.mktemp("branching")
    lesson = tiny.write(folder / "branching", recipe=RECIPE_OF_BRANCHING, model=BRANCHING)
    return make_preview(lesson, folder / "revision")


def test_a_case_that_took_another_way_is_described(browser: Browser, branching: Path) -> None:
    """The case says which nodes it called instead and shows its graph; the page computes each case by its own way."""
    shown = open_page(browser, (branching / "index.html").as_uri() + "#case=down")
    words = shown.locator('[data-case="down"] .way').inner_text()
    assert "right" in words
    assert "left" in words
    assert shown.locator(".recorded-only").count() == 0
    assert shown.locator(".play").count() == 1
    shown.wait_for_function("document.querySelector('.self-test')?.textContent")
    assert "the largest difference is 0" in shown.locator(".self-test").inner_text()
    ways = shown.evaluate("Object.keys(lesson.cases).map((i) => JSON.stringify(lesson.run(lesson.cases[i])))")
    assert len(set(ways)) == len(ways)  # each by its own program, whichever is shown
    assert shown.evaluate("lesson.move({})") is None
    shown.locator(".way summary").click()
    assert shown.locator(".way svg").is_visible()
    assert "never" in shown.locator(".drawing > .caption").inner_text()
    assert "spare" in shown.locator(".drawing > .caption").inner_text()


def test_a_prediction_is_answered(browser: Browser, branching: Path) -> None:
    """A choice is right or wrong at once, a guess is measured, and without scripts the answer can be opened."""
    shown = open_page(browser, (branching / "index.html").as_uri())
    question = shown.locator(".prediction").first
    right = int(question.get_attribute("data-right") or "")
    question.locator(".options button").nth(1 - right).click()
    assert question.locator(".verdict-line").inner_text() == "Not quite."
    question.locator(".options button").nth(right).click()
    assert question.locator(".verdict-line").inner_text() == "Right."
    assert question.locator("details p").is_visible()
    guess = shown.locator(".prediction").nth(1)
    guess.get_by_label("Your guess").fill("100")
    guess.get_by_role("button", name="Check").click()
    assert guess.locator(".verdict-line").inner_text().startswith("Off by")
    plain = open_page(browser, (branching / "index.html").as_uri(), java_script_enabled=False)
    options = [each.bounding_box() or {} for each in plain.locator(".options li").all()]
    assert options[0]["y"] + options[0]["height"] <= options[1]["y"]  # a line each: nothing runs together
    plain.locator(".prediction summary").first.click()
    assert plain.locator(".prediction details p").first.is_visible()


def test_axe_finds_nothing_in_a_page_of_records(browser: Browser, branching: Path) -> None:
    """A lesson without live numbers, with questions and two graphs, has no fault that axe knows."""
    shown = open_page(browser, (branching / "index.html").as_uri(), bypass_csp=True, reduced_motion="reduce")
    shown.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    shown.add_script_tag(path=AXE)
    for choice in shown.locator('.chooser input[type="radio"]').all():
        choice.check()
        assert shown.evaluate(RULES) == []


def test_a_lesson_without_scripts_is_the_same_text(browser: Browser, tmp_path: Path) -> None:
    """Scripts add controls but change no word of the story, the checks and the record."""
    file = tmp_path / "index.html"
    text = lesson_page.render_page(manifest(), recipe=RECIPE, graph_svg=GRAPH, sources={"model.py": SOURCE})
    file.write_text(text, encoding="utf-8")
    shown = [open_page(browser, file.as_uri(), java_script_enabled=on) for on in (True, False)]
    for part in ("#checks", "#about"):
        words = [each.locator(part).inner_text() for each in shown]
        assert words[0] == words[1]


def test_exercises_are_answered_on_a_live_page(browser: Browser, tmp_path: Path) -> None:
    """A number within its tolerance is right, others say on which side; a goal is reached by moving the input alone."""
    folder = shutil.copytree(reference.EXAMPLE.parent, tmp_path / "every-key")
    shown = open_page(browser, (make_preview(folder, tmp_path / "revision") / "index.html").as_uri())
    number, goal = shown.locator(".exercise").all()
    right = float(number.get_attribute("data-number") or "")
    for given, said in ((right - 1, "it is larger"), (right + 1, "it is smaller"), (right + 0.009, "Right.")):
        number.get_by_label("Your answer").fill(str(given))
        number.get_by_role("button", name="Check").click()
        assert said in number.locator(".verdict-line").inner_text()
    assert goal.locator(".verdict-line").inner_text() == "Not yet."
    field = shown.get_by_label("shift[0]", exact=True)
    field.fill("3")
    field.press("Enter")
    assert goal.locator(".verdict-line").inner_text() == "Not yet."
    field.fill("-20")
    field.press("Enter")
    expect(goal.locator(".verdict-line")).to_have_text("Done.")


def test_a_lost_reader_is_led_home_wherever_the_site_is_served(browser: Browser, tmp_path: Path) -> None:
    """Below a folder of its own, without a base address, a wrong address leads to that folder's front page."""
    lost = tmp_path / "sub" / "models" / "lost" / "0123456789abcdef.html"
    lost.parent.mkdir(parents=True)
    lost.write_text(site_pages.render_missing(), encoding="utf-8")
    shown = open_page(browser, lost.as_uri())
    assert shown.locator("#front").evaluate("(a) => a.href") == (tmp_path / "sub" / "index.html").as_uri()
    assert shown.locator("#near a").evaluate("(a) => a.href") == lost.parent.as_uri() + "/"
