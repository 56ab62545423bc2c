"""The page in a real browser: with and without scripts, on a phone, in the dark, on paper, by keyboard."""

import math
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from lessonpress.web.page import lesson_page, numbers, site_pages
from tests.browser.opening import open_page
from tests.page_sample import GRAPH, RECIPE, SOURCE, manifest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sample lesson's page, as a file."""
    file = tmp_path_factory.mktemp("site") / "index.html"
    text = lesson_page.render_page(manifest(), recipe=RECIPE, graph_svg=GRAPH, sources={"model.py": SOURCE})
    file.write_text(text, encoding="utf-8")
    return file.as_uri()


def test_the_page_loads_one_file_and_breaks_no_rule(browser: Browser, address: str, complaints: list[str]) -> None:
    """The browser asks for nothing but the page, and its policy and script give no complaint."""
    open_page(browser, address, complaints).wait_for_timeout(200)
    assert complaints == [address]


def test_cases_change_without_a_script(browser: Browser, address: str) -> None:
    """With scripts off, a radio button shows its case and hides the other; every number is in the page."""
    shown = open_page(browser, address, java_script_enabled=False)
    quiet, loud = shown.locator('[data-case="quiet"]'), shown.locator('[data-case="loud"]')
    assert quiet.is_visible()
    assert not loud.is_visible()
    shown.get_by_label("Loud").check()
    assert not quiet.is_visible()
    assert loud.get_by_text("0.1235").is_visible()
    assert not shown.locator(".hint").first.is_visible()
    assert shown.locator("button").count() == 0


def test_a_case_is_kept_in_the_address(browser: Browser, address: str) -> None:
    """A link to a case opens it, and choosing another one changes the link."""
    shown = open_page(browser, f"{address}#case=loud")
    assert shown.locator('[data-case="loud"]').is_visible()
    shown.get_by_label("Quiet").check()
    assert shown.url.endswith("#case=quiet")
    shown.goto(f"{address}#case=nosuch")
    assert shown.locator('[data-case="quiet"]').is_visible()


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("width", [320, 768, 1280])
def test_no_page_scrolls_sideways(browser: Browser, address: str, width: int, scripts: bool) -> None:
    """From a small phone to a desk, only tables and code scroll sideways, never the page."""
    shown = open_page(browser, address, viewport={"width": width, "height": 700}, java_script_enabled=scripts)
    boxes = shown.locator("main, header, .matter, h1, figure").all()
    right = max(box["x"] + box["width"] for element in boxes if (box := element.bounding_box()))
    assert right <= width
    if scripts:
        assert shown.evaluate("document.documentElement.scrollWidth") == width


def test_a_step_lights_its_node_and_lines(browser: Browser, address: str) -> None:
    """The opening step is lit at first; arrow keys walk the steps and take node and lines along."""
    shown = open_page(browser, address)
    lit = "[...document.querySelectorAll('.listing .lit')].map((line) => line.id)"
    on = "[...document.querySelectorAll('.graph .on')].map((node) => node.dataset.id)"
    assert shown.evaluate(on) == ["share"]
    assert shown.evaluate(lit) == ["s0-12", "s0-15", "s0-16", "s0-17"]
    shown.locator(".step button").nth(1).focus()
    shown.keyboard.press("ArrowLeft")
    assert shown.evaluate(on) == ["score"]
    assert shown.evaluate(lit) == ["s0-11", "s0-16"]
    assert shown.locator(".step.chosen").get_attribute("data-step") == "score"
    shown.locator('.graph [data-id="share"]').click()
    assert shown.locator(".step.chosen").get_attribute("data-step") == "share"


def test_a_cell_shows_every_digit(browser: Browser, address: str) -> None:
    """Focus in a table or a pointer on a heatmap reads the value unrounded, with its place."""
    shown = open_page(browser, f"{address}#case=loud")
    case = shown.locator('[data-case="loud"]')
    vector = case.locator(".vector")
    vector.locator("tbody td:not(.bar)").first.focus()
    place, number = vector.locator(".readout").inner_text().split(" = ")
    assert (place, float(number)) == ("[0]", 0.12345678901234567)
    shown.keyboard.press("ArrowDown")
    assert vector.locator(".readout").inner_text() == "[1] = 0.75"
    matrix = shown.locator('[data-matrix="words"]')
    matrix.locator("summary", has_text="Table").click()
    matrix.locator("tbody td").nth(0).focus()
    shown.keyboard.press("ArrowRight")
    assert matrix.locator(".readout").inner_text() == "[I, 1] = -0.5"
    drawn = matrix.locator(".heatmap")
    left, top, width, height = map(float, (drawn.get_attribute("data-frame") or "").split()[:4])
    drawn.hover(position={"x": left + 0.5 * width, "y": top + 2.5 * height})
    assert matrix.locator(".readout").inner_text() == "[cats, 0] = 1"


def test_numbers_are_written_as_javascript_writes_them(browser: Browser, address: str) -> None:
    """Number(x.toPrecision(4)) and String(x) in a browser agree with our tables, over all magnitudes."""
    values = [sign * math.pi * 7**power for power in range(-320, 320, 7) for sign in (1, -1)]
    values += [0.1 * step for step in range(-40, 40)] + [1000.5, 2.0005, 99995.0, 0.0000099995, 1e21, 1e-300, 1.7e308]
    shown = open_page(browser, address)
    assert shown.evaluate("(all) => all.map((x) => String(Number(x.toPrecision(4))))", values) == [
        numbers.format_short(value) for value in values
    ]
    assert shown.evaluate("(all) => all.map(String)", values) == [numbers.format_exact(value) for value in values]


CONTRAST = """(selector) => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => parts(colour).slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll(selector)].map((element) => {
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x);
    return [element.outerHTML.slice(0, 60), (a + 0.05) / (b + 0.05)];
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(browser: Browser, address: str, scheme: Any) -> None:
    """In light and in dark every kind of text reaches WCAG's ratio of 4.5 against what is behind it."""
    shown = open_page(browser, address, color_scheme=scheme, reduced_motion="reduce")
    kinds = "p, a, h1, h2, h3, h4, li, dt, dd, th, td, label, legend, code, figcaption, summary, button, .code span"
    ratios = shown.evaluate(CONTRAST, kinds)
    assert len(ratios) > 100
    assert not [(kind, round(ratio, 2)) for kind, ratio in ratios if ratio < 4.5]


def test_paper_shows_everything(browser: Browser, address: str) -> None:
    """In print all cases are there with their names, in black on white, and no control is."""
    shown = open_page(browser, address)
    shown.emulate_media(media="print", color_scheme="light")
    for name in ("quiet", "loud"):
        assert shown.locator(f'[data-case="{name}"] .case-name').is_visible()
        assert shown.locator(f'[data-case="{name}"] table').first.is_visible()
    assert shown.locator(".layers table").is_visible()
    assert not shown.locator(".chooser").is_visible()
    assert not shown.locator(".copy").first.is_visible()
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert shown.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


def test_nothing_moves_for_those_who_ask(browser: Browser, address: str) -> None:
    """With reduced motion no element has a transition and the page does not scroll smoothly."""
    shown = open_page(browser, address, reduced_motion="reduce")
    moving = "[...document.querySelectorAll('*')].filter((e) => getComputedStyle(e).transitionDuration !== '0s').length"
    assert shown.evaluate(moving) == 0
    assert shown.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_focus_can_be_seen(browser: Browser, address: str) -> None:
    """Each of the first forty stops of the Tab key has a visible outline or a marked label."""
    shown = open_page(browser, address)
    outline = """() => {
      const at = document.activeElement;
      const seen = at.matches("input") ? at.nextElementSibling : at.matches("g") ? null : at;
      if (at === document.body || seen === null) return "";
      return getComputedStyle(seen).outlineStyle !== "none" ? "" : at.outerHTML.slice(0, 80);
    }"""
    hidden = []
    for _ in range(40):
        shown.keyboard.press("Tab")
        hidden.append(shown.evaluate(outline))
    assert [each for each in hidden if each] == []


def test_commands_can_be_copied(browser: Browser, address: str) -> None:
    """A copy button puts the commands on the clipboard, one a line."""
    shown = open_page(browser, address, permissions=["clipboard-read", "clipboard-write"])
    shown.locator("#repeat summary").first.click()
    shown.locator("#repeat .copy").first.click()
    lines = shown.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[0] == "python3.11 -m venv .venv"
    assert lines[-1] == "python run.py"


def test_previews_are_shown_from_a_folder(browser: Browser, tmp_path: Path, complaints: list[str]) -> None:
    """The catalogue shows its previews when it is opened as a file, and asks for nothing else."""
    sample = manifest()
    preview = tmp_path / "models" / sample["slug"] / sample["revision"] / "preview.svg"
    preview.parent.mkdir(parents=True)
    preview.write_text(GRAPH, encoding="utf-8")
    front = tmp_path / "index.html"
    front.write_text(site_pages.render_catalogue([sample]), encoding="utf-8")
    shown = open_page(browser, front.as_uri(), complaints)
    assert shown.evaluate("document.querySelector('.card img').naturalWidth") > 0
    assert complaints == [front.as_uri(), preview.as_uri()]
