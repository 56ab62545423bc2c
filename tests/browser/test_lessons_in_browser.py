"""Every lesson's page in a real browser: live numbers, following one number, accessibility, keyboard, no network."""

from __future__ import annotations

import gzip
import json
import math
import random
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import axe_playwright_python
import html5lib
import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page

from tests import tiers
from tests.browser.opening import EVERY, LESSONS, TYPICAL, open_page, read_manifest

pytestmark = pytest.mark.browser
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
RULES = """async () => (await axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
  "best-practice"], resultTypes: ["violations"]})).violations
  .map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160))])"""
# Runs a plan with torch in a process of its own and prints the recorded figures of the runs it was given.
TORCH = """
import json, sys
from safetensors.torch import load_file
from lessonpress.worker import recorded, run
plan, folder, names = json.load(sys.stdin)
run.settle()
runs = recorded.Runs(run.run_plan(plan, folder, load_file(folder + "/weights.safetensors")))
cut = lambda name, entry: recorded.select(runs[name][entry["tensor"]], entry["select"], entry["reshape"])
print(json.dumps([[cut(name, entry).astype(float).ravel().tolist() for entry in plan["record"]] for name in names]))
"""


def read_numbers(figure: Any) -> list[float]:
    """A figure's numbers as the page gives them: a list, or a typed array that arrives as an object."""
    return list(figure.values()) if isinstance(figure, dict) else list(figure)


def leaves(values: Any) -> list[float]:
    """Nested lists as one list of numbers."""
    return [leaf for value in values for leaf in leaves(value)] if isinstance(values, list) else [float(values)]


def open_lesson(browser: Browser, revision: Path, **options: Any) -> Page:
    """A lesson's page with its scripts started."""
    shown = open_page(browser, (revision / "index.html").as_uri() + options.pop("hash", ""), **options)
    shown.wait_for_selector(".self-test:not(:empty)", state="attached")
    return shown


def live(shown: Page) -> dict[str, Any]:
    """The data with which the page computes."""
    live: dict[str, Any] = shown.evaluate("JSON.parse(document.getElementById('page-data').textContent).live")
    return live


def far(seen: list[float], expected: list[float]) -> float:
    """The largest difference of two lists of numbers, relative above one."""
    assert len(seen) == len(expected)
    return max((abs(a - b) / max(1, abs(b)) for a, b in zip(seen, expected, strict=True)), default=0.0)


# -- the numbers ---------------------------------------------------------------------------------------------------


def test_live_numbers_are_the_recorded_ones(browser: Browser, any_revision: Path) -> None:
    """What the page computes for each case is what the manifest has recorded, within 1e-12."""
    shown, manifest = open_lesson(browser, any_revision), read_manifest(any_revision)
    for case in manifest["experiment"]["cases"]:
        seen = shown.evaluate("(id) => lesson.run(id)", case["id"])
        for kind in ("matrices", "vectors"):
            for numbers, entry in zip(seen[kind], case[kind], strict=True):
                assert far(read_numbers(numbers), leaves(entry["values"])) <= 1e-12
    tested = shown.evaluate("lesson.selfTest()")
    assert tested["count"] > 0
    assert tested["most"] <= 1e-12


def test_live_numbers_are_those_of_torch(browser: Browser, typical_revision: Path) -> None:
    """For fifty random values of the control input the page and torch agree within 1e-12."""
    shown = open_lesson(browser, typical_revision)
    plan = json.loads((typical_revision / "plan.json").read_text(encoding="utf-8"))
    control = read_manifest(typical_revision)["experiment"]["control"]
    first = next(run for run in plan["runs"] if run["kind"] == "case")
    shape = dict(first["inputs"])[control["input"]]["shape"]
    draw = random.Random(1).uniform
    sweep = [[draw(*control["range"]) for _ in range(math.prod(shape))] for _ in range(50)]
    names = [f"sweep-{at}" for at in range(len(sweep))]
    for name, values in zip(names, sweep, strict=True):
        spec = {**dict(first["inputs"])[control["input"]], "values": np.reshape(values, shape).tolist()}
        spec.pop("fill", None)
        inputs = [[key, spec if key == control["input"] else given] for key, given in first["inputs"]]
        plan["runs"].append({**first, "id": name, "kind": "probe", "inputs": inputs})
    task = json.dumps([plan, str(typical_revision), names])
    command = [sys.executable, "-c", TORCH]
    done = subprocess.run(command, input=task, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    for values, expected in zip(sweep, json.loads(done.stdout), strict=True):
        seen = shown.evaluate("([id, inputs]) => lesson.run(id, inputs)", [first["id"], {control["input"]: values}])
        arrays = [read_numbers(figure) for figure in (*seen["matrices"], *seen["vectors"])]
        assert max(far(a, b) for a, b in zip(arrays, expected, strict=True)) <= 1e-12


def test_every_number_can_be_followed(browser: Browser, any_revision: Path) -> None:
    """Each cell of each tensor is written out from its inputs, and the written sum is the value itself."""
    shown = open_lesson(browser, any_revision)
    lost = shown.evaluate("""() => lesson.ports.flatMap(({port, name, shape}) =>
      Array.from({length: Math.min(40, shape.reduce((n, m) => n * m, 1))}, (_, i) => [name, i, lesson.explain(port, i)])
        .filter(([, , shown]) => shown.whole || !shown.blocks.length).map(([name, i]) => `${name} ${i}`))""")
    assert lost == []


def test_a_slider_moves_every_figure(browser: Browser, typical_revision: Path) -> None:
    """Moving one slider changes figures in the page, marks them as live, and one click restores the record."""
    shown = open_lesson(browser, typical_revision)
    before = shown.locator(".hero-case").first.inner_text()
    shown.locator(".knob input[type=range]").first.focus()
    shown.keyboard.press("PageUp")
    shown.wait_for_selector("#example.live")
    assert shown.locator(".hero-case").first.inner_text() != before
    assert "not recorded" in shown.locator(".status").inner_text()
    shown.get_by_role("button", name="Back to the record").click()
    assert shown.locator(".hero-case").first.inner_text() == before


def test_a_live_figure_shows_what_was_computed(browser: Browser, typical_revision: Path) -> None:
    """A typed value gives figures whose cells are the computed numbers at four digits, and a wrong one is refused."""
    shown = open_lesson(browser, typical_revision)
    name = live(shown)["control"]["inputs"][0]
    shown.locator(".knob input[type=number]").first.fill("0.75")
    shown.keyboard.press("Enter")
    shown.wait_for_selector("#example.live")
    case = live_case(shown)
    values = shown.evaluate("([id, name]) => lesson.input(id, name)", [case, name])
    values[0] = 0.75
    seen = shown.evaluate("([id, inputs]) => lesson.run(id, inputs)", [case, {name: values}])
    for at, numbers in enumerate(seen["vectors"]):
        figure = shown.locator(f'figure.vector[data-figure="{case}/vectors/{at}"]')
        cells = [float(cell.inner_text()) for cell in figure.locator("tbody td:not(.bar)").all()]
        assert cells == pytest.approx(read_numbers(numbers), rel=6e-4)


def test_the_sliders_stand_as_the_input_does(browser: Browser, typical_revision: Path) -> None:
    """On a desk the sliders of one row of the input are in one line, at most four, those of one column below."""
    shown = open_lesson(browser, typical_revision)
    knobs = shown.locator(".panel-play").first.locator(".knob")
    places = "(knobs) => knobs.map((knob) => knob.getBoundingClientRect()).map(({left, top}) => [left, top])"
    sides = knobs.evaluate_all(places)
    name = live(shown)["control"]["inputs"][0]
    first = next(iter(read_manifest(typical_revision)["experiment"]["cases"]))["id"]
    width = min(4, next((n for n in reversed(live(shown)["cases"][first]["inputs"][name][1]) if n > 1), 1))
    assert len({left for left, _ in sides}) == width
    assert len({top for _, top in sides}) == math.ceil(len(sides) / width)


def live_case(shown: Page) -> str:
    """The chosen case."""
    return str(shown.locator('.chooser input[type="radio"]:checked').get_attribute("value"))


# -- the first screen, and what moves ---------------------------------------------------------------------------------


def is_in_view(element: Locator) -> bool:
    """Whether an element stands whole in the window, from side to side and from top to bottom."""
    inside = """(e) => { const {left, top, right, bottom, width} = e.getBoundingClientRect();
      return width > 0 && left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight; }"""
    return bool(element.evaluate(inside))


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)], ids=["desk", "phone"])
def test_the_first_screen_teaches(browser: Browser, any_revision: Path, size: tuple[int, int]) -> None:
    """Title, question, the main figure with its numbers and a control that drives it are there before any scrolling."""
    width, height = size
    shown = open_lesson(browser, any_revision, viewport={"width": width, "height": height})
    figure = shown.locator(".hero-case:visible")
    assert is_in_view(shown.locator("h1"))
    assert is_in_view(figure.locator("svg").first)
    assert is_in_view(shown.locator(".controls input:visible").first)
    if width > 1000:
        assert is_in_view(shown.locator(".question"))
        assert is_in_view(shown.locator(".start .go"))
    words = figure.locator(".hero-words")
    if words.count():
        assert re.fullmatch(r"(Most at .*: \S+\. Least at .*: \S+\.|All are \S+\.)?", words.inner_text())


def count_scales(shown: Page) -> list[str]:
    """What every figure says its scale is."""
    scales: list[str] = shown.evaluate("""() => [...document.querySelectorAll('[data-figure]')].map((figure) =>
      figure.querySelector('.ends')?.innerHTML ?? figure.closest('figure').querySelector('.range span')?.textContent
        .split(' · ')[0] ?? '')""")
    return scales


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)], ids=["desk", "phone"])
def test_a_control_is_in_view_and_scales_stay(
    browser: Browser, typical_revision: Path, size: tuple[int, int]
) -> None:  # fmt: skip
    """Wherever a driven figure is read, a control is in view; whatever is moved, no scale changes."""
    width, height = size
    shown = open_lesson(browser, typical_revision, viewport={"width": width, "height": height})
    before = count_scales(shown)
    control = shown.locator(".controls input[type=range]:visible").first
    figures = shown.locator(".case:visible figure").all()
    for figure in figures:
        figure.scroll_into_view_if_needed()
        assert is_in_view(control)
    low, high = live(shown)["control"]["range"]
    for value in (low, high, low / 3, high / 7):
        control.evaluate("(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); }", value)
        shown.wait_for_selector("#example.live")
        shown.wait_for_timeout(50)
        assert count_scales(shown) == before
        ends = shown.evaluate("""() => [...document.querySelectorAll('.bar rect:not(.base)')].map((bar) =>
          parseFloat(bar.getAttribute('x')) + parseFloat(bar.getAttribute('width') ?? 0))""")
        assert all(-0.01 <= end <= 100.01 for end in ends)
    marks = shown.locator(".case:visible .was, .hero-case:visible .was").count()
    assert marks > 0
    shown.get_by_role("button", name="Back to the record").click()
    assert shown.locator(".was, .beyond").count() == 0


def test_the_address_holds_what_is_seen(browser: Browser, typical_revision: Path, complaints: list[str]) -> None:
    """Case, comparison and numbers survive in the link, and a link that cannot be read is no harm."""
    shown = open_lesson(browser, typical_revision)
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    cases = read_manifest(typical_revision)["experiment"]["cases"]
    shown.locator(f'.chooser input[value="{cases[1]["id"]}"]').check()
    shown.select_option("#versus", cases[0]["id"])
    shown.locator(".knob input[type=number]").first.fill("0.25")
    shown.keyboard.press("Enter")
    shown.wait_for_selector("#example.live")
    shown.wait_for_url(re.compile(r"#.*set="))
    numbers = "[...document.querySelectorAll('.hero-case tbody td:not(.bar)')].map((cell) => cell.textContent)"
    seen, link = shown.evaluate(numbers), shown.url
    again = open_lesson(browser, typical_revision, hash=link[link.index("#"):])
    again.wait_for_selector("#example.live")
    assert again.evaluate(numbers) == seen
    assert live_case(again) == cases[1]["id"]
    assert again.locator("#versus").input_value() == cases[0]["id"]
    # It follows an address that is changed by hand, and passes over what it cannot read.
    again.on("pageerror", lambda error: complaints.append(str(error)))
    again.evaluate("(id) => { location.hash = `case=${id}`; }", cases[0]["id"])
    again.wait_for_function("(id) => document.querySelector('.chooser input:checked').value === id", arg=cases[0]["id"])
    odds = ["node=%E0%A4%A", "case=", "set=:*", "set=state:*NaN;x", "number=0 0 0", "number=zz 7", "fold=%", "=&="]
    for odd in (*odds, "versus=no"):
        again.evaluate("(odd) => { location.hash = odd; }", odd)
    again.wait_for_timeout(100)
    broken = open_lesson(browser, typical_revision, hash="#node=%E0%A4%A&case=%")
    assert live_case(broken) == cases[0]["id"]
    assert complaints == []


def test_a_figure_can_stand_alone_in_another_page(browser: Browser, typical_revision: Path) -> None:
    """With `?figure=` a page is that figure and its control, live; an unknown figure leaves the page as it is."""
    manifest = read_manifest(typical_revision)
    vector = manifest["experiment"]["cases"][0]["vectors"][0]["id"]
    shown = open_page(browser, (typical_revision / "index.html").as_uri() + f"?figure={vector}")
    shown.wait_for_selector("body.embedded")
    assert shown.locator("figure:visible").evaluate_all("(all) => all.map((each) => each.dataset.vector)") == [vector]
    assert not shown.locator("h1").is_visible()
    shown.locator(".controls input[type=range]").first.focus()
    shown.keyboard.press("PageUp")
    shown.wait_for_selector("#example.live", state="attached")
    plain = open_page(browser, (typical_revision / "index.html").as_uri() + "?figure=none")
    assert plain.locator("h1").is_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_targets_are_large_enough(browser: Browser, typical_revision: Path, width: int) -> None:
    """What is pressed is at least 24 pixels high and wide, but for links and numbers inside text."""
    shown = open_lesson(browser, typical_revision, viewport={"width": width, "height": 900})
    small = shown.evaluate("""() => [...document.querySelectorAll('a, button, summary, select, input')].filter((e) => {
      const {width, height} = e.getBoundingClientRect();
      return width > 0 && Math.min(width, height) < 23.5
        && !e.closest('.prose, td, th, figcaption a, p, .papers, .skip');
    }).map((e) => e.outerHTML.slice(0, 90))""")
    assert small == []


def test_paper_has_no_blank_page_and_no_open_answer(browser: Browser, typical_revision: Path) -> None:
    """Every printed page has words on it, and the answers to questions stay closed."""
    shown = open_lesson(browser, typical_revision)
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert shown.locator(".prediction details[open]").count() == 0
    assert shown.locator("#record details").evaluate("(part) => part.open")
    whole = shown.pdf(format="A4")
    for number in range(1, len(re.findall(rb"/Type\s*/Page\b", whole)) + 1):
        page = shown.pdf(format="A4", page_ranges=str(number))
        streams = re.findall(rb"stream\r?\n(x.*?)\r?\nendstream", page, re.DOTALL)
        drawn = b"".join(zlib.decompressobj().decompress(stream) for stream in streams)  # one may hold its own end
        assert len(re.findall(rb"T[jJ]", drawn)) > 50, number


# -- following, comparing, saving ----------------------------------------------------------------------------------


def test_two_cases_can_be_compared(browser: Browser, any_typical_revision: Path) -> None:
    """The difference of two cases is shown with its largest change, which is that of the recorded values."""
    shown, cases = (
        open_lesson(browser, any_typical_revision),
        read_manifest(any_typical_revision)["experiment"]["cases"],
    )
    shown.select_option("#versus", cases[1]["id"])
    for at in range(len(cases[0]["vectors"])):
        figure = shown.locator(f'figure.vector[data-figure="{cases[0]["id"]}/vectors/{at}"]')
        one, other = (leaves(case["vectors"][at]["values"]) for case in cases[:2])
        most = max(abs(a - b) for a, b in zip(one, other, strict=True))
        stated = re.search(r"Largest change [+−-](\S+)", figure.locator(".difference .range").inner_text())
        assert (float(stated[1]) if stated else 0) == pytest.approx(most, rel=6e-4)


def test_a_number_is_followed_by_keyboard(browser: Browser, any_typical_revision: Path) -> None:
    """Enter on a cell opens how it arises, steps lead back into the graph, Escape returns to the cell."""
    shown = open_lesson(browser, any_typical_revision)
    shown.locator(".case:visible details.numbers > summary, .hero-case:visible details.numbers > summary").evaluate_all(
        "(all) => all.forEach((summary) => { summary.parentElement.open = true; })")
    cell = shown.locator(":is(.case, .hero-case):visible tbody td[tabindex='0']").first
    cell.focus()
    shown.keyboard.press("Enter")
    drawer = shown.locator(".drawer")
    assert drawer.is_visible()
    title = drawer.locator("h3").inner_text()
    reference = drawer.locator(".ref:visible").first
    if reference.count():
        reference.focus()
        shown.keyboard.press("Enter")
        assert drawer.locator("h3").inner_text() != title
    shown.keyboard.press("Escape")
    assert not drawer.is_visible()
    assert cell.evaluate("(cell) => document.activeElement === cell")


def test_figures_can_be_saved(browser: Browser, any_typical_revision: Path, tmp_path: Path) -> None:
    """A figure's SVG is valid XML, its PNG is a picture, and its CSV names each panel and holds every digit."""
    shown = open_lesson(browser, any_typical_revision, accept_downloads=True)
    figure = shown.locator("figure.matrix:visible").first
    figure.locator(".save summary").click()
    files = {}
    for kind in ("SVG", "PNG", "CSV"):
        with shown.expect_download() as arrived:
            figure.locator(".save button", has_text=kind).first.click()
        files[kind] = tmp_path / arrived.value.suggested_filename
        arrived.value.save_as(files[kind])
    assert files["PNG"].read_bytes().startswith(b"\x89PNG")
    assert shown.evaluate(
        "(text) => new DOMParser().parseFromString(text, 'image/svg+xml').querySelector('parsererror') === null",
        files["SVG"].read_text(encoding="utf-8"),
    )
    tables = [table.split("\r\n") for table in files["CSV"].read_bytes().decode().strip().split("\r\n\r\n")]
    rows = [line.split(",") for table in tables for line in table[1:]]
    matrices = read_manifest(any_typical_revision)["experiment"]["cases"][0]["matrices"]
    recorded = next(each["values"] for each in matrices if each["id"] == figure.get_attribute("data-matrix"))
    assert [float(cell) for row in rows for cell in row[1:]] == leaves(recorded)
    assert len({table[0].split(",")[0] for table in tables}) == len(tables)


# -- the graph, the source, the words ------------------------------------------------------------------------------


def test_the_graph_is_used_by_keyboard(browser: Browser, any_typical_revision: Path) -> None:
    """Arrow keys go from node to node, Enter lights one in graph and source, plus and minus zoom, F folds."""
    shown = open_lesson(browser, any_typical_revision)
    node = shown.locator('.graph g.node[tabindex="0"]')
    node.focus()
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("Enter")
    chosen = shown.locator(".graph g.node.on").get_attribute("data-id")
    assert chosen == shown.evaluate("document.activeElement.dataset.id")
    assert shown.url.endswith(f"node={quote(str(chosen), safe='')}")
    width = "document.querySelector('.graph svg').getBoundingClientRect().width"
    before = shown.evaluate(width)
    shown.locator(".graph").focus()
    shown.keyboard.press("-")
    assert shown.evaluate(width) < before
    folders = shown.locator(".folder")
    if folders.count():
        count = shown.locator(".graph g.node").count()
        folders.first.press("Enter")
        assert shown.locator(".graph g.node").count() != count
        folders.first.press("Enter")
        assert shown.locator(".graph g.node").count() == count


def test_a_call_in_the_source_finds_its_node(browser: Browser, any_typical_revision: Path) -> None:
    """N in the source goes to the next call and lights its node; a click finds the innermost call at that column."""
    shown = open_lesson(browser, any_typical_revision)
    listing = shown.locator(".listing pre.numbered").first
    listing.focus()
    shown.keyboard.press("n")
    assert shown.locator(".graph .on").count() == 1
    assert shown.locator(".numbered .lit").count() >= 1
    assert shown.evaluate("CSS.highlights.get('called').size") >= 1


def test_a_word_explains_itself_at_the_readers_level(browser: Browser, any_typical_revision: Path) -> None:
    """A term shows its meaning on focus, in the words of the chosen level, which is remembered."""
    shown = open_lesson(browser, any_typical_revision)
    if not shown.locator("a.term").count():
        pytest.skip("no term of the glossary occurs in this lesson's prose")
    term = shown.locator("a.term").first
    entry = shown.locator(str(term.get_attribute("href")))
    shown.get_by_role("button", name="Expert").click()
    term.focus()
    assert shown.locator(".tip").inner_text().endswith(entry.locator("dd.expert").inner_text())
    shown.keyboard.press("Escape")
    assert not shown.locator(".tip").is_visible()
    shown.reload()
    assert shown.evaluate("document.documentElement.dataset.level") == "expert"


# -- what must hold of every page ----------------------------------------------------------------------------------


def states(shown: Page) -> Iterator[str]:
    """Bring a page into each of its states, one after the other."""
    yield "at first"
    for part in shown.locator("details.more, details.one-by-one").all():
        part.evaluate("(part) => { part.open = true; }")
    for choice in shown.locator('.chooser input[type="radio"]').all():
        choice.check()
        yield f"case {choice.get_attribute('value')}"
    shown.select_option("#versus", index=1)
    yield "compared"
    if shown.locator(".knob input[type=range]").count():
        shown.locator(".knob input[type=range]").first.focus()
        shown.keyboard.press("PageUp")
        shown.wait_for_selector("#example.live")
        yield "live"
    for part in shown.locator("details").all():
        part.evaluate("(part) => { part.open = true; }")
    yield "everything unfolded"
    shown.locator(":is(.case, .hero-case):visible tbody td[tabindex='0']").first.press("Enter")
    yield "one number"
    shown.keyboard.press("Escape")
    shown.locator(".node-info button").first.click()
    yield "one node"
    shown.keyboard.press("Escape")
    for folder in shown.locator(".folder").all():
        folder.click()
        yield "folded"
    if shown.locator("a.term").count():
        shown.locator("a.term").first.focus()
        yield "a word"


SCHEMES = ("light", "dark")
# With every push the smallest page in light and a large one in dark; at night every page in both.
BY_DAY = set(zip(TYPICAL, SCHEMES, strict=True))


@pytest.mark.parametrize(
    ("any_typical_revision", "scheme"),
    [
        pytest.param(lesson, scheme, id=f"{lesson.name}-{scheme}",
                     marks=() if (lesson.name, scheme) in BY_DAY else pytest.mark.nightly)
        for lesson in EVERY for scheme in SCHEMES
    ],
    indirect=["any_typical_revision"],
)  # fmt: skip
def test_axe_finds_nothing_in_any_state(browser: Browser, any_typical_revision: Path, scheme: Any) -> None:
    """axe-core has no complaint about any state of the page; by day one state of each kind is looked at."""
    shown = open_lesson(browser, any_typical_revision, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce")
    shown.add_script_tag(path=AXE)
    broken: dict[str, Any] = {}
    for state in states(shown):
        kind = "a case" if state.startswith("case ") else state
        if tiers.NIGHTLY or kind not in broken:
            broken[kind] = broken.get(kind, []) + shown.evaluate(RULES)
    assert {state: rules for state, rules in broken.items() if rules} == {}
    assert len(broken) >= 7


def test_the_page_asks_for_nothing_and_breaks_no_rule(
    browser: Browser, any_typical_revision: Path, complaints: list[str]
) -> None:
    """Through all its states, with the network off and its policy in force, a page requests and violates nothing."""
    address = (any_typical_revision / "index.html").as_uri()
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    shown = context.new_page()
    shown.set_default_timeout(8000)
    shown.on("console", lambda message: complaints.append(message.text))
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    shown.on("request", lambda request: complaints.append(request.url))
    shown.goto(address)
    shown.wait_for_selector(".self-test:not(:empty)", state="attached")
    assert list(states(shown))
    assert complaints == [address]
    # The policy itself: a style attribute and a script that is not ours are refused.
    shown.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\" id=\"odd\">x</p>')")
    assert shown.evaluate("getComputedStyle(document.getElementById('odd')).color") != "rgb(255, 0, 0)"


def test_without_scripts_all_content_is_there(browser: Browser, any_typical_revision: Path) -> None:
    """With scripts off every case, step, check, file and term can be read, and no empty control is shown."""
    shown = open_page(browser, (any_typical_revision / "index.html").as_uri(), java_script_enabled=False)
    manifest = read_manifest(any_typical_revision)
    for case in manifest["experiment"]["cases"]:
        section = shown.locator(f'[data-case="{case["id"]}"], [data-shows="{case["id"]}"]')
        rows = sum(len(leaves(vector["values"])) for vector in case["vectors"])
        assert section.locator(".bars tbody tr").count() == rows
    assert shown.locator(".step").count() == len(manifest["steps"])
    assert shown.locator(".checks > li").count() == len(manifest["checks"])
    assert shown.locator(".glossary dt").count() == len(manifest["glossary"])
    assert shown.locator("button, .play, .tools").count() == 0
    assert shown.locator(".files tbody tr").count() >= len(manifest["files"]) - 1


def test_the_page_is_valid_html(any_revision: Path) -> None:
    """A strict HTML5 parser has no complaint, and the picture is XML."""
    text = (any_revision / "index.html").read_text(encoding="utf-8")
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    assert parser.parse(text) is not None


def test_the_page_is_light(any_revision: Path) -> None:
    """A page has at most 300 kB, 90 kB compressed, and so much more for what its model has beyond a small one's."""
    data = (any_revision / "index.html").read_bytes()
    embedded = json.loads(re.findall(rb'id="page-data">(.*?)</script>', data, re.DOTALL)[0])["live"]
    cases = embedded["cases"].values()
    groups = [embedded["tensors"], *(case[kind] for case in cases for kind in ("inputs", "tensors"))]
    numbers = max(0, sum(math.prod(shape) for group in groups for _, shape, _ in group.values()) - 1300)
    steps = max(0, len(embedded["program"]["steps"]) - 50)
    assert len(data) <= 300_000 + 6 * numbers + 650 * steps
    assert len(gzip.compress(data, 9, mtime=0)) <= 90_000 + 4.5 * numbers + 120 * steps


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_no_state_scrolls_sideways(browser: Browser, any_typical_revision: Path, width: int) -> None:
    """On a phone, a tablet and a desk, no state of the page is wider than the window."""
    shown = open_lesson(browser, any_typical_revision, viewport={"width": width, "height": 700})
    wide = {state: shown.evaluate("document.documentElement.scrollWidth") for state in states(shown)}
    assert {state: pixels for state, pixels in wide.items() if pixels > width} == {}


def test_every_control_is_reached_by_tab(browser: Browser, any_typical_revision: Path) -> None:
    """The Tab key reaches every button, field, slider and link that is shown, but those that arrow keys reach."""
    shown = open_lesson(browser, any_typical_revision)
    shown.evaluate("""() => { window.reached = new Set();
      addEventListener("focusin", (event) => reached.add(event.target)); }""")
    shown.keyboard.press("Tab")
    for _ in range(400):
        shown.keyboard.press("Tab")
        if shown.evaluate("document.activeElement === document.body || document.activeElement.matches('.skip')"):
            break
    missed = shown.evaluate("""() => [...document.querySelectorAll("a[href], button, input, select, summary")]
      .filter((each) => each.checkVisibility({visibilityProperty: true}) && each.tabIndex >= 0 && !reached.has(each))
      .filter((each) => each.type !== "radio" || each.checked)
      .filter((each) => !each.closest("details:not([open]) > :not(summary)"))
      .map((each) => each.outerHTML.slice(0, 120))""")
    assert missed == []


def test_there_is_a_lesson_to_test() -> None:
    """The tests above are run for the lessons of this repository and for a lesson of the tests' own."""
    assert {path.parent.parent.name for path in LESSONS} >= {"tests"} or len(LESSONS) > 1
