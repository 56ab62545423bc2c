"""Maths is what TeX means: MathML by its grammar, or an error; and the page's font holds every sign of it."""

import base64
import io
import re
from xml.etree import ElementTree

import pytest
from fontTools import ttLib
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.core import packaged_files
from lessonpress.core.errors import LessonError
from lessonpress.web import mathml, prose
from lessonpress.web.page import maths_font, site_pages
from tests import page_sample, test_page

# How many children MathML Core 1.0 (section 3) gives each element that has a fixed number, and what tables hold.
ARITY = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3}
HOLDS = {"mtable": {"mtr"}, "mtr": {"mtd"}, "mi": set(), "mn": set(), "mo": set(), "mtext": set(), "mspace": set()}
FORMULAS = [
    r"\tanh^2(x)", r"\begin{aligned} a &= b \\ c &= d \end{aligned}", r"\operatorname*{argmax}_x f(x)",
    r"f(x) = \begin{cases} 1 & x > 0 \\ 0 & \text{else} \end{cases}", r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
    r"\left( \frac{a}{b} \right)^2", r"\overbrace{a + b}^{c} \underbrace{d}_{e}", r"\sum_{i=1}^n \prod_j \int_0^1 x",
    r"\sqrt[3]{x} + \sqrt{y}", r"\hat x_i' + \tilde{\mathbf{s}} + \bar h", r"\mathbb{R}^{n \times m} \ni \mathcal{L}",
    r"\lVert x \rVert_2 \le \left\lVert \frac{a}{b} \right\rVert",
    r"\begin{array}{|l|c|r|} \hline a & b & c \end{array}",
    r"\begin{align*} a &= b \\ c &= d \end{align*}",
    r"a \! b \, c \quad d", r"\boxed{x} \color{red} y", r"\cfrac{1}{2}",
    r"\overline{AB} + \underline{cd}", r"\textbf{here} \textit{there}",
]  # fmt: skip


def read(tex: str, *, block: bool = True) -> ElementTree.Element:
    """The MathML of TeX as a tree."""
    return ElementTree.fromstring(mathml.to_mathml(tex, block=block))


def find_breach(tree: ElementTree.Element) -> str:
    """The first element that breaks MathML's grammar or the page's policy, or nothing."""
    for element in tree.iter():
        counted = len(element) == ARITY.get(element.tag, len(element))
        held = {child.tag for child in element} <= HOLDS.get(element.tag, {child.tag for child in element})
        if not (counted and held) or set(element.attrib) & {"style", "href", "onclick", "id"}:
            return ElementTree.tostring(element, encoding="unicode")
    return ""


def test_formulas_keep_to_the_grammar() -> None:
    """Every kind of formula has elements with as many parts as MathML gives them, and no style attribute."""
    assert {tex: find_breach(read(tex)) for tex in FORMULAS} == dict.fromkeys(FORMULAS, "")


def test_a_power_of_a_function_is_one() -> None:
    """The square of tanh is a superscript of two parts with the argument behind it; exp is set apart as TeX does."""
    power = read(r"\tanh^2(x)").find(".//msup")
    assert power is not None
    assert ["".join(part.itertext()) for part in power] == ["tanh", "2"]
    assert read(r"\exp x").find(".//mo[@lspace]") is not None


def test_tables_keep_rows_cells_and_sides() -> None:
    """aligned has two rows of two cells that meet at the sign; cases and pmatrix stand between signs that grow."""
    rows = read(r"\begin{aligned} a &= b \\ c &= d \end{aligned}").findall(".//mtr")
    assert [[("".join(cell.itertext()), cell.get("class")) for cell in row] for row in rows] == [
        [("a", "m-right m-close-right"), ("=b", "m-left m-close-left")],
        [("c", "m-right m-close-right"), ("=d", "m-left m-close-left")],
    ]
    for name, fences in (("cases", ["{"]), ("pmatrix", ["(", ")"]), ("bmatrix", ["[", "]"])):
        signs = [sign for sign in read(rf"\begin{{{name}}} a & b \\ c & d \end{{{name}}}").iter("mo")
                 if (sign.text or "") in "{()[]"]  # fmt: skip
        assert [sign.text for sign in signs] == fences
        assert {sign.get("stretchy", "true") for sign in signs} == {"true"}


def test_limits_stand_below_an_operator_in_a_display() -> None:
    r"""With `\operatorname*` they stand below in a display, and beside in a sentence."""
    assert read(r"\operatorname*{argmax}_x f").find(".//munder") is not None
    assert read(r"\operatorname*{argmax}_x f", block=False).find(".//msub") is not None


@pytest.mark.parametrize(
    "tex",
    [r"\foo x", r"x + \undefinedcommand", r"\frac{a}{", r"\href{javascript:x}{y}", r"\style{color:red}{x}", "a & b",
     r"\begin{align} a &= b \end{align}", r"\begin{aligned} a \\[2pt] b \end{aligned}", r"\cancel{x}", r"\eqref{a}",
     r"\hspace{-9em} x", "x^", r"\begin{foo} a \end{foo}", r"\htmlClass{a}{b}", r"\text{$x$}"],
)  # fmt: skip
def test_what_cannot_be_shown_is_an_error(tex: str) -> None:
    """Unknown TeX, TeX that would be read as something else, and what browsers do not draw name place and maths."""
    with pytest.raises(LessonError) as caught:
        prose.to_html(f"${tex}$" if "$" not in tex else f"$${tex}$$", where="lesson.yaml:7")
    assert str(caught.value).startswith("lesson.yaml:7: ")
    assert "the maths" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_markup_in_maths_text_stays_text() -> None:
    """Text inside TeX cannot open an element."""
    assert "<img" not in prose.to_html(r"$\text{<img src=x onerror=y>}$")
    assert "<mo>\\</mo>" in prose.to_inline(r"$\backslash$")


@given(st.text(alphabet="\\{}^_&<>abfrac12 ", max_size=24), st.booleans())
def test_maths_is_well_formed_or_refused(tex: str, block: bool) -> None:
    """Whatever stands in TeX, the result is well-formed MathML by its grammar, or a LessonError."""
    try:
        made = mathml.to_mathml(tex, block=block)
    except LessonError:
        return
    tree = ElementTree.fromstring(f"<p>{prose.make_visible(made)}</p>")
    assert {child.tag for child in tree} == {"math"}
    assert not find_breach(tree)


def test_a_long_formula_may_end_a_line_before_a_relation_or_a_sum() -> None:
    """In a sentence it is several pieces that are read in order; brackets, short formulas and displays stay whole."""
    tex = r"c_t = f_t \odot c_{t-1} + i_t \odot g_t + (a + b + c + d + e + f + g)"
    pieces = re.findall(r"<math>.*?</math>", mathml.to_mathml(tex))
    words = ["".join(ElementTree.fromstring(piece).itertext()) for piece in pieces]
    assert len(words) > 2
    assert "".join(words) == "".join(read(tex).itertext())
    assert {word[0] for word in words[1:]} == {"+"}
    assert words[-1] == "+(a+b+c+d+e+f+g)"
    assert all('<mo form="infix"' in piece or "form" not in piece for piece in pieces)
    assert mathml.to_mathml("a = b + c").count("<math") == 1
    assert mathml.to_mathml(tex, block=True).count("<math") == 1


def read_font(page: str) -> ttLib.TTFont:
    """The font that a page carries."""
    data = re.search(r"url\(data:font/woff2;base64,([^)]+)\)", page)
    assert data
    return ttLib.TTFont(io.BytesIO(base64.b64decode(data[1])))


def test_the_font_of_a_page_has_what_its_formulas_draw() -> None:
    """Every character, italics too, with MathML's measures and larger brackets; nothing where there is no maths."""
    markup = prose.to_html(r"$$h_j = \left( \frac{\alpha}{\sqrt{2}} \right) \sum_i \tanh \text{ of } x$$")
    drawn = mathml.list_characters(markup)
    assert {"ℎ", "𝑗", "𝛼", "√", "∑", "(", "t", "𝑥", "2", "="} <= drawn
    font = read_font(maths_font.make_style(frozenset(drawn)))
    whole = ttLib.TTFont(packaged_files.path("templates") / maths_font.FILE)
    assert {ord(sign) for sign in drawn} & set(whole.getBestCmap()) <= set(font.getBestCmap())
    assert len(font.getGlyphOrder()) < 150
    assert font["MATH"].table.MathVariants.VertGlyphCoverage.glyphs
    assert not font["name"].getDebugName(1)
    assert maths_font.make_style(frozenset()) == ""
    assert len(maths_font.cut_font(frozenset(drawn))) < 9000


def test_the_font_is_the_same_bytes_every_time() -> None:
    """The order in which characters come, the clock and earlier fonts change nothing."""
    signs = frozenset("𝑥𝑦=∑()")
    first = maths_font.cut_font(signs)
    maths_font.cut_font(frozenset("𝑧"))
    maths_font.cut_font.cache_clear()
    assert maths_font.cut_font(frozenset(reversed("𝑥𝑦=∑()"))) == first


def test_only_a_page_with_maths_may_load_a_font() -> None:
    """The policy admits fonts from the page itself, where there is one, and from nowhere else."""
    for page, admitted in ((site_pages.render_missing(), False), (test_page.render(page_sample.manifest()), True)):
        assert ("font-src data:;" in page.replace('">', ";")) is admitted
        assert ("SIL Open Font License" in page) is admitted
        assert "{{maths" not in page
