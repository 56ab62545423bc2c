"""A lesson's page says everything that was recorded, and nothing that it should not."""

import json
import re
from decimal import Decimal
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.core.errors import LessonError
from lessonpress.lesson.recipe import Vector
from lessonpress.web.page import (
    arrays,
    heatmap,
    lesson_page,
    maths_font,
    numbers,
    rendering,
    scales,
    site_pages,
    volatile,
)
from lessonpress.web.page.scales import Scale
from tests.page_sample import BARE, GRAPH, RECIPE, REVISION, SOURCE, VOLATILE, manifest

VOID = {"meta", "link", "input", "img", "br", "hr"}


class Outline(HTMLParser):
    """Reads a page: elements with attributes, headings, ids; an element left open or closed twice is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element and remember that it is open."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element that closes itself."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element, which must be of this kind."""
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        """Keep the text that is shown."""
        if not {"style", "script"} & set(self.open):
            self.text.append(data)

    def values(self, attribute: str) -> list[str]:
        """Every value of an attribute in the page."""
        return [attributes[attribute] or "" for _, attributes in self.elements if attribute in attributes]

    def words(self) -> str:
        """The text that a reader meets, with single spaces."""
        return re.sub(r"\s+", " ", "".join(self.text))


def render(sample: dict[str, Any] | None = None, **sources: str) -> str:
    """The page of the sample, or of a changed one."""
    shown = sources or {"model.py": SOURCE}
    return lesson_page.render_page(sample or manifest(), recipe=RECIPE, graph_svg=GRAPH, sources=shown)


def bare() -> str:
    """The page of a lesson that says next to nothing."""
    sample = {"title": "Bare", "slug": "bare", "revision": REVISION, "files": {}, "experiment": None}
    return lesson_page.render_page(sample, recipe=BARE, graph_svg="", sources={})


# -- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-0.010182755237456913, "-0.01018"), (0.28697952455997605, "0.287"), (0.3599568286633815, "0.36"),
        (-0.32190792116523237, "-0.3219"), (-0.006486028054295113, "-0.006486"), (0.06695, "0.06695"),
        (0.9999999999999999, "1"), (0.0, "0"), (-0.0, "0"), (3.0, "3"), (12345.0, "12350"), (1000.5, "1001"),
        (-1000.5, "-1001"), (1e-6, "0.000001"), (1.5e-7, "1.5e-7"), (1e21, "1e+21"), (1.2e20, "120000000000000000000"),
        (12345, "12345"), (True, "true"),
        ((0.5, -2.0), "0.5-2i"), ((1.0, 0.25), "1+0.25i"), ("NaN", "NaN"), ("-Infinity", "-Infinity"),
    ],
)  # fmt: skip
def test_numbers_have_four_significant_digits(value: Any, shown: str) -> None:
    """Values are written as in the recorded tables; integers and what is no number are kept as they are."""
    assert numbers.format_short(value) == shown


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_short_number_is_near_the_value(value: float) -> None:
    """The shown number differs from the value by at most half a unit of the fourth digit."""
    exact, shown = Decimal(value), Decimal(numbers.format_short(value))
    unit = Decimal(1).scaleb(exact.adjusted() - 3) if exact else Decimal(0)
    assert abs(exact - shown) <= unit / 2


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_an_exact_number_comes_back(value: float) -> None:
    """Reading the full-precision text gives the same float64."""
    assert float(numbers.format_exact(value)) == value


# -- figures -------------------------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, by the formula of WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


UNIT = Scale(-1.0, 1.0)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_zero_is_the_lightest_and_more_is_darker(one: float, other: float) -> None:
    """A larger magnitude of one sign is never lighter, and nothing is lighter than zero."""
    small, large = sorted([one, other], key=abs)
    assert luminance(heatmap.choose_colour(small, UNIT)) <= luminance(heatmap.choose_colour(0.0, UNIT))
    if small * large > 0:
        assert luminance(heatmap.choose_colour(large, UNIT)) <= luminance(heatmap.choose_colour(small, UNIT))


def test_positive_is_teal_and_negative_is_rust() -> None:
    """Above zero green and blue exceed red, below zero red leads."""
    red, green, blue = (int(heatmap.choose_colour(1.0, UNIT)[at : at + 2], 16) for at in (1, 3, 5))
    assert red < min(green, blue)
    red, green, blue = (int(heatmap.choose_colour(-1.0, UNIT)[at : at + 2], 16) for at in (1, 3, 5))
    assert red > green > blue


def test_a_heatmap_counts_its_cells_in_squares_and_signs() -> None:
    """Every cell has a square; without space for numbers every cell but zero has a sign."""
    grid = arrays.make_grids([[1.0, -2.0, 0.0], [3.0, "NaN", -4.0]])[0]
    drawn = str(heatmap.draw(grid, scale=Scale(-4e9, 4e9), description="d"))
    squares = "".join(re.findall(r'<path fill="[^"]*" d="([^"]*)"', drawn))
    marks = "".join(re.findall(r'<path class="mark[^"]*" d="([^"]*)"', drawn))
    assert squares.count("M") == 6
    assert marks.count("h") == 4  # 1, -2, 3, -4
    assert marks.count("v") == 2  # 1, 3
    assert marks.count("l") == 2  # NaN


def test_a_small_heatmap_holds_its_numbers() -> None:
    """Each cell has its number at three digits of the scale's end, light on what is dark; none without space."""
    grid = arrays.make_grids([[0.19, -0.2049, 0.0], [0.6, "NaN", 1e-9]])[0]
    drawn = str(heatmap.draw(grid, scale=Scale(-0.6, 0.6), description="d"))
    cells = re.findall(r'<text class="cell( pale)?" x="\d+" y="\d+">([^<]*)<', drawn)
    assert cells == [("", "0.190"), ("", "−0.205"), ("", "0"), (" pale", "0.600"), ("", "NaN"), ("", "0.000")]
    assert 'class="mark' not in drawn
    assert heatmap.choose_decimals(Scale(0.0, 0.5), columns=20, cells=100) is None
    assert heatmap.choose_decimals(Scale(0.0, 0.5), columns=5, cells=161) is None
    assert heatmap.choose_decimals(Scale(0.0, 1e-5), columns=2, cells=2) is None
    assert heatmap.format_cell(0.125, 2) == "0.13"
    assert heatmap.format_cell(7, 2) == "7"


def test_a_figure_says_in_words_what_it_shows() -> None:
    """The alternative text holds size, extremes with their place, and signs."""
    text = unescape(render())
    assert (
        "Words, w_i: 3 by 2 (word by feature). Smallest -1 at word cats, feature 1; largest 1 at word cats, feature 0."
        " 3 positive, 2 negative, 1 zero." in text
    )


def test_further_axes_are_panels() -> None:
    """An array of three axes is shown as one table for each position of the first."""
    grids = arrays.make_grids([[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]]])
    assert [grid.panel for grid in grids] == ["panel 0", "panel 1", "panel 2"]
    assert [grid.values for grid in grids] == [((1.0, 2.0),), ((3.0, 4.0),), ((5.0, 6.0),)]


def test_complex_numbers_are_one_number_each() -> None:
    """A complex array, recorded as pairs, is a table of complex numbers and has no heatmap."""
    sample = manifest()
    values = [[[0.5, -2.0], [1.0, 0.0]], [[0.0, 3.0], [0.0, 0.0]]]
    sample["experiment"]["cases"][0]["matrices"] = [{"label": "Z", "dtype": "complex128", "values": values}]
    text = render(sample)
    assert "<td>0.5-2i</td><td>1+0i</td>" in text
    assert text.count('class="heatmap"') == 2  # the other case's


def test_panels_carry_the_names_of_their_axes() -> None:
    """Where the leading axes have names and labels, a panel is called by them."""
    heads = {"name": "head", "labels": ["left", "right"]}
    grids = arrays.make_grids([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]], panels=[heads, {"name": "step"}])
    names = [f"head {head}, step {step}" for head in ("left", "right") for step in (0, 1)]
    assert [grid.panel for grid in grids] == names


def test_large_arrays_are_cropped_and_it_is_said() -> None:
    """A page shows a corner of a large matrix with the number of rows and columns in all."""
    sample = manifest()
    sample["experiment"]["cases"][0]["matrices"][0]["values"] = [[0.5] * 70 for _ in range(100)]
    assert "The first 48 by 48 of 100 by 70 values are shown" in Outline(render(sample)).words()


def test_arrays_in_files_are_linked() -> None:
    """An array that lives in a file of its own is described by shape, link and sample."""
    sample = manifest()
    apart = {"file": "values/quiet.npy", "shape": [200, 100], "sample": [0.123456, -1.0]}
    sample["experiment"]["cases"][0]["matrices"][0]["values"] = apart
    outline = Outline(render(sample))
    assert "./values/quiet.npy" in outline.values("href")
    assert "[200,100]" in outline.words()
    assert "It begins: 0.1235, -1" in outline.words()


@pytest.mark.parametrize(
    "values", [[], [[]], [["NaN", "Infinity"]], [[1e308, -1e308]], [[5e-324]], [[0.0]], 5.0, [True, False], [[[[1.0]]]]]
)
def test_odd_arrays_are_shown(values: Any) -> None:
    """Empty, non-finite, extreme, constant and many-axed arrays make a page as well."""
    sample = manifest()
    for case in sample["experiment"]["cases"]:
        case["matrices"][0]["values"] = values
        case["vectors"][0]["values"] = list(arrays.flatten(values))
    Outline(render(sample))


def test_a_figure_has_one_scale_over_all_cases() -> None:
    """A value twice as large has a bar twice as long, in whichever case it is; each figure has a scale of its own."""
    sample = manifest()
    for case, value in zip(sample["experiment"]["cases"], (1.0, 2.0), strict=True):
        case["vectors"] = [{"id": "a", "label": "A", "values": [value], "unit": "nats"},
                           {"id": "b", "label": "B", "values": [-500 * value, 0.0]}]  # fmt: skip
        case["matrices"] = [{"id": "m", "label": "M", "values": [[value, -4 * value]]}]
    text = render(sample)
    bars = re.findall(r'<rect class="(?:above|below|at)" x="[\d.]+%" width="([\d.]+)%"', text)
    assert [float(width) for width in bars] == [50, 50, 0, 100, 100, 0]
    assert re.findall(r'class="ends"><span>([^<]*)</span><span>([^<]*)<', text) == [("0", "2"), ("-1000", "0")] * 2
    assert text.count('<th scope="col">nats</th>') == 2
    assert len(set(re.findall(r"Scale −8 to 8", text))) == 1
    fills = re.findall(r'<path fill="(#\w+)"', "".join(re.findall(r'<svg class="heatmap".*?</svg>', text)))
    assert heatmap.choose_colour(1.0, Scale(-8.0, 8.0)) in fills


def test_scales_end_at_round_numbers_and_zero_stays_visible() -> None:
    """A scale ends at the next round number, whatever the last digits; near numbers far from zero get their own."""
    assert [scales.round_up(x) for x in (0.23, 1.0, 1 + 1e-12, 1.01, 7.5, 0.00101)] == [0.25, 1, 1, 1.2, 8, 0.0012]
    assert scales.make_scale((-0.1, 0.23), (-0.1, 0.23)) == Scale(-0.25, 0.25)
    assert scales.make_scale((0.0, 0.23), (0.0, 0.23)) == Scale(0.0, 0.25)
    narrow = scales.make_scale((0.19, 0.21), (0.187, 0.214))
    assert narrow == Scale(0.18, 0.22)
    assert not narrow.has_zero
    assert narrow.share(0.19) == pytest.approx(0.25)
    assert luminance(heatmap.choose_colour(0.19, narrow)) - luminance(heatmap.choose_colour(0.21, narrow)) > 0.2
    assert scales.make_scale((0.19, 0.21), (0.19, 0.21), bars=True) == Scale(0.0, 0.25)
    # The control's range widens it, up to twice the record: beyond, an arrow says so.
    assert scales.make_scale((-1.0, 1.0), (-1.4, 1.3)) == Scale(-1.5, 1.5)
    assert scales.make_scale((-1.0, 1.0), (-50.0, 50.0)) == Scale(-2.0, 2.0)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.booleans())
def test_every_recorded_number_is_on_its_scale(values: list[float], bars: bool) -> None:
    """Whatever was recorded, the ends of the scale hold all of it, and its shares lie between 0 and 1."""
    scale = scales.make_scale((min(values), max(values)), (min(values), max(values)), bars=bars)
    slack = 2e-9 * max(map(abs, values))
    assert scale.low - slack <= min(values) <= max(values) <= scale.high + slack
    assert all(0 <= scale.share(value) <= 1 for value in values)
    assert scale.has_zero or not bars


def test_a_recipe_may_choose_a_scale_and_share_it() -> None:
    """`range` is taken as it is; `same_scale_as` gives two figures the ends that both need."""
    entries = [Vector.model_validate({"id": "a", "tensor": "x"}),
               Vector.model_validate({"id": "b", "tensor": "x", "same_scale_as": "a"}),
               Vector.model_validate({"id": "c", "tensor": "x", "range": [-1, 3]})]  # fmt: skip
    cases = [{"id": "one", "vectors": [{"label": "", "values": [number]} for number in (1.0, -8.0, 0.5)]}]
    keys = [f"vectors/{at}" for at in range(3)]
    chosen = scales.choose_scales(cases, {}, list(zip(keys, entries, strict=True)))  # type: ignore[arg-type]
    assert [chosen[key] for key in keys] == [Scale(-8.0, 1.0), Scale(-8.0, 1.0), Scale(-1.0, 3.0)]


# -- the page ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [render(), bare()], ids=["full", "bare"])
def test_the_page_is_well_formed(text: str) -> None:
    """Elements are closed in order, ids are unique, there is one h1, no heading level is skipped."""
    outline = Outline(text)
    assert not outline.open
    ids = outline.values("id")
    assert len(ids) == len(set(ids))
    levels = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert [tag for tag, _ in outline.elements].count("main") == 1


@pytest.mark.parametrize("text", [render(), bare()], ids=["full", "bare"])
def test_links_are_relative_or_lead_to_papers(text: str) -> None:
    """Files lie beside the page; every anchor leads to an element that exists."""
    outline = Outline(text)
    ids = set(outline.values("id"))
    for tag, attributes in outline.elements:
        address = attributes.get("href")
        if tag != "a" or not address or address in {"https://example.org/paper", maths_font.LICENSE_URL}:
            continue
        assert address.startswith(("./", "../", "#"))
        assert not address.startswith("#") or address[1:] in ids
    assert {"../revisions.html", "../../../index.html"} <= set(outline.values("href"))


def test_nothing_is_loaded_and_nothing_is_styled_inline() -> None:
    """A lesson's page has no address to load from, no style attribute and no inline handler."""
    outline = Outline(render())
    assert not outline.values("src")
    assert not outline.values("style")
    assert not [name for _, attributes in outline.elements for name in attributes if name.startswith("on")]


def test_everything_that_was_recorded_is_said() -> None:
    """Title, cases, values, range, metrics, steps, checks, commands, inputs, papers, glossary and digests are there."""
    words = Outline(render()).words()
    for expected in (
        "How are three words weighed?", "Warm-up", "Choose a case", "Quiet", "Loud", "A note on loud.",
        "Min -1 · Max 1",
        "0.1235", "Sum of shares", "Each word gets a score.", "model.py, lines 15 to 17", "The shares sum to one.",
        "measured 3.14e-17 ≤ 1e-12, holds with margin 8.765e-13, fails on 1 of 2 broken variants",
            "Shares were doubled.",
        "python3.11 -m venv .venv source .venv/bin/activate python -m pip install -r requirements.txt python run.py",
        r"py -3.11 -m venv .venv .venv\Scripts\activate", "python run.py --compare", "Expected output: [3,1]",
        "Input 1 · words: [3,2] · float32 randn", "Input 2 · bias: float32 values [0.5]", "CPU / eval · seed 3",
        "Function · 1868", "On equilibrium", "Nothing is trained.", "A softmax weight.", "Made by hand.", REVISION,
        "12" * 32, "34" * 32, "56" * 4, "6.6 kB", "412 bytes", "2031-05-06", "3.11.97", "CPULEVEL", "posix-basic",
        "OMP_NUM_THREADS", "CPU is enough", "4.44e-16", "The same in every case.",
    ):  # fmt: skip
        assert expected in words, expected


def test_each_case_can_be_chosen_without_a_script() -> None:
    """There is one radio button for each case, the first is checked, and a rule shows what is chosen."""
    text = render()
    radios = [attributes for tag, attributes in Outline(text).elements if tag == "input"]
    assert [attributes["value"] for attributes in radios] == ["quiet", "loud"]
    assert ["checked" in attributes for attributes in radios] == [True, False]
    assert text.count(":not(:checked)) :is(.case, .hero-case):nth-child(") == 2


def test_what_no_case_changes_is_shown_once() -> None:
    """A matrix with equal values in every case stands above the cases, the others stand in each."""
    outline = Outline(render())
    assert outline.values("data-matrix") == ["scores", "scores", "words"]
    assert outline.words().count("The same in every case.") == 1


def test_a_bare_lesson_has_no_empty_part() -> None:
    """What a lesson does not say leaves neither a heading nor a link in the contents."""
    words = Outline(bare()).words()
    for absent in ("Recorded example", "Walk through", "Graph", "Checks", "About", "Glossary", "Limitations"):
        assert absent not in words
    assert "Take it home" in words
    assert "<dd></dd>" not in bare()


@pytest.mark.parametrize(
    "missing", [*manifest(), "provenance.execution", "experiment.control", "milestone.kind", "milestone.papers"]
)
def test_any_part_may_be_missing(missing: str) -> None:
    """Without any one key but the title the page is still well-formed."""
    sample: Any = manifest()
    *path, last = missing.split(".")
    holder = sample
    for key in path:
        holder = holder[key]
    del holder[last]
    if missing == "title":
        with pytest.raises(KeyError):
            render(sample)
    else:
        Outline(render(sample))


def test_the_data_holds_every_digit() -> None:
    """The page's data block is JSON with the recorded values unrounded and the places of every node."""
    block = re.findall(r'<script type="application/json" id="page-data">(.*?)</script>', render())
    data = json.loads(block[0])
    assert data["figures"]["loud/vectors/0"] == [[0.12345678901234567, 0.75, 0.125]]
    assert data["places"]["share"] == [["s0-", 15, 17, 16, 10], ["s0-", 12, 12]]


def test_the_same_manifest_gives_the_same_bytes() -> None:
    """A page is a pure function of what it is given."""
    assert render() == render()


def test_a_page_is_light() -> None:
    """Without its graph and a program, a lesson with two cases weighs less than 110 kB."""
    assert len(render().encode()) - len(GRAPH) < 110_000


# -- what must not get in --------------------------------------------------------------------------------------------

# As code where it is Markdown, which takes no tags beside it.
HOSTILE = "`</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e{{ 7 * 7 }}\u2028<span data-volatile>`"


def poisoned(value: Any) -> Any:
    """The manifest with hostile text appended to every text that a lesson's author writes."""
    kept = {"id", "target", "openingStep", "file", "url", "sha256", "revision", "parent", "kind", "covered", "sense"}
    if isinstance(value, dict):
        return {key: part if key in kept else poisoned(part) for key, part in value.items()}
    if isinstance(value, list):
        return [poisoned(part) for part in value]
    return value + HOSTILE if isinstance(value, str) else value


def test_hostile_text_stays_text() -> None:
    """Markup, template syntax and direction overrides in any text of a lesson are shown, not obeyed."""
    sources = {f"a{HOSTILE}.py": f"# {HOSTILE}"}
    text = lesson_page.render_page(poisoned(manifest()), recipe=RECIPE, graph_svg=GRAPH, sources=sources)
    outline = Outline(text)
    assert [tag for tag, _ in outline.elements].count("script") == 3
    assert "img" not in {tag for tag, _ in outline.elements}
    assert "\u202e" not in text
    assert "{{ 7 * 7 }}" in outline.words()
    assert "⟨U+202E⟩" in outline.words()


@pytest.mark.parametrize("url", ["javascript:alert(1)", "//example.org", "data:text/html,x", ""])
def test_a_paper_is_linked_only_to_the_web(url: str) -> None:
    """A paper with another address keeps its title and loses the link."""
    sample = manifest()
    sample["milestone"]["papers"] = [{"title": "Paper", "url": url}]
    outline = Outline(render(sample))
    assert "Paper" in outline.words()
    assert url not in outline.values("href")


def test_file_names_cannot_be_schemes() -> None:
    """A file named like a script's address is still a file beside the page."""
    sample = manifest()
    sample["files"] = {"javascript:alert(1)": {"url": "/x", "sha256": "0" * 64, "bytes": 1}}
    assert "./javascript%3Aalert%281%29" in Outline(render(sample)).values("href")


def test_unknown_tex_stops_the_page() -> None:
    """A lesson whose maths cannot be rendered is refused, and the message says where it is."""
    sample = manifest()
    sample["question"] = r"What is $\nosuchthing$?"
    with pytest.raises(LessonError, match="question: unknown TeX command"):
        render(sample)


@given(st.recursive(st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_data_cannot_leave_its_script(value: Any) -> None:
    """JSON for a script element has no sign that HTML or an old parser of JavaScript acts on, and reads back equal."""
    text = str(rendering.embed_json(value))
    assert not re.search("[<>&\u2028\u2029\u202e]", text)
    assert json.loads(text) == value


# -- identity ------------------------------------------------------------------------------------------------------


def test_blanked_empties_volatile_elements_and_the_revision() -> None:
    """The words of volatile elements and the id go, everything else stays."""
    html = f'<p>kept <span data-volatile>gone</span> <dd data-volatile class="x">too</dd> {REVISION} data-volatile</p>'
    assert volatile.blank_page(html, REVISION) == (
        '<p>kept <span data-volatile></span> <dd data-volatile class="x"></dd> 0000000000000000 data-volatile</p>'
    )


def test_blanking_twice_changes_nothing_more() -> None:
    """A blanked page is its own blanked page, also for a lesson whose text imitates the mark."""
    once = volatile.blank_page(render(poisoned(manifest())), REVISION)
    assert volatile.blank_page(once, REVISION) == once


def test_volatile_facts_are_in_volatile_elements_only() -> None:
    """A page shows the facts of machine and moment, and a blanked one has none of them left."""
    text = render()
    for fact in VOLATILE:
        assert fact in text, fact
        assert fact not in volatile.blank_page(text, REVISION), fact


def test_another_machine_gives_the_same_blanked_page() -> None:
    """Where only the machine, the moment and the measured values differ, identity sees no difference."""
    sample = manifest()
    sample["provenance"] |= {
        "capturedAt": "2040-01-01T00:00:00Z", "productRevision": None, "python": "3.11.2", "torch": "2.13.0+cpu",
        "host": {"system": "Linux", "kernel": "9"}, "cpu": {"capability": "x"}, "isolation": {"profile": "y"},
    }  # fmt: skip
    sample["checks"][0] |= {"measured": 0.0, "margin": 1e-12}
    sample["replay"]["maxDifference"] = 0.0
    sample["revision"] = "f" * 16
    sample["files"]["run.py"]["bytes"] = 1
    assert render(sample) != render()
    assert volatile.blank_page(render(sample), "f" * 16) == volatile.blank_page(render(), REVISION)


def test_a_changed_word_changes_the_blanked_page() -> None:
    """What a reader sees is part of the identity."""
    sample = manifest()
    sample["limitations"] = "Something is trained."
    assert volatile.blank_page(render(sample), REVISION) != volatile.blank_page(render(), REVISION)


# -- the pages around ------------------------------------------------------------------------------------------------


def test_the_catalogue_lists_every_lesson() -> None:
    """Each lesson has its title, question, year, tags, preview and links, below its category."""
    other = manifest() | {"slug": "other", "title": "Another <one>", "category": "", "current": "a" * 16}
    outline = Outline(site_pages.render_catalogue([other, manifest()]))
    links = set(outline.values("href"))
    assert {f"models/weigher/{REVISION}/index.html", f"models/other/{'a' * 16}/index.html"} <= links
    assert f"models/weigher/{REVISION}/preview.svg" in outline.values("src")
    words = outline.words()
    assert "2 lessons" in words
    assert words.index("Warm-up") < words.index("Other lessons")
    assert "Another <one>" in words


def test_the_catalogue_does_not_depend_on_order() -> None:
    """Lessons are sorted, so that the order in which they are read does not show."""
    lessons = [manifest() | {"slug": slug, "title": slug} for slug in ("c", "a", "b")]
    assert site_pages.render_catalogue(lessons) == site_pages.render_catalogue(lessons[::-1])


@pytest.mark.parametrize("missing", sorted(manifest().keys() - {"slug"}))
def test_the_catalogue_needs_no_key_but_the_slug(missing: str) -> None:
    """Whatever an older manifest lacks, its lesson has a card."""
    lesson = {key: value for key, value in manifest().items() if key != missing}
    assert "models/weigher/revisions.html" in Outline(site_pages.render_catalogue([lesson])).values("href")


def test_an_empty_catalogue_says_so() -> None:
    """A new site has a front page as well."""
    assert "There is no lesson yet." in site_pages.render_catalogue([])


def test_the_history_shows_current_and_earlier_revisions() -> None:
    """Every event has date, reasons, note and link; the newest comes first, the current one is marked."""
    events = [
        {"revision": "a" * 16, "publishedAt": "2030-01-02T03:04:05Z", "reasons": ["source"], "note": "The *first*"},
        {"revision": "b" * 16, "publishedAt": "2031-01-02T03:04:05Z", "reasons": ["prose", "templates"], "note": None},
    ]
    sample = {"slug": "weigher", "current": "b" * 16, "pinned": None, "revisions": events}
    outline = Outline(site_pages.render_history("weigher", "How?", sample, {"b" * 16: manifest()}))
    words = outline.words()
    assert words.index("2031-01-02") < words.index("2030-01-02")
    assert "Changed: prose, templates" in words
    assert "The first" in words
    assert {f"{'a' * 16}.html", f"{'b' * 16}/index.html", "../../index.html"} <= set(outline.values("href"))
    assert re.findall(r"(\w{16}) current", words) == ["b" * 16]


def test_a_held_lesson_is_said_to_be_held() -> None:
    """A pinned lesson tells its readers that later revisions exist."""
    sample = {"current": "a" * 16, "pinned": "a" * 16, "revisions": [{"revision": "a" * 16}]}
    assert "held at revision" in Outline(site_pages.render_history("s", "T", sample, {})).words()
