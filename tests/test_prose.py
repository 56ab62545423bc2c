"""A lesson's words become HTML that shows what was meant and can do nothing else."""

from html import unescape
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.core.errors import LessonError
from lessonpress.web import prose


def test_markdown_becomes_html() -> None:
    """Emphasis, code and lists are rendered; a line is rendered without a paragraph."""
    assert prose.to_html("a *b* `c`\n\n- d") == "<p>a <em>b</em> <code>c</code></p>\n<ul>\n<li>d</li>\n</ul>"
    assert prose.to_inline("a **b**") == "a <strong>b</strong>"


def test_maths_becomes_mathml() -> None:
    """Dollars hold TeX, which becomes MathML with the symbol itself and an index."""
    assert "<msub><mi>α</mi><mi>j</mi></msub>" in prose.to_inline(r"weights $\alpha_j$")


@pytest.mark.parametrize("text", ["$$x$$", "before $$x$$ after", "$$\nx\n$$", "text\n$$x$$\ntext", "- item\n\n  $$x$$"])
def test_double_dollars_make_a_block(text: str) -> None:
    """Display maths is recognised in a line, in lines of its own, and inside a list."""
    assert '<math display="block"><mi>x</mi></math>' in prose.to_html(text)


@pytest.mark.parametrize("sign", [",", ".", ";", ":"])
def test_a_sign_behind_displayed_maths_stays_with_it(sign: str) -> None:
    """It stands inside the display, not at the beginning of the next line; a word behind it stays outside."""
    text_html = prose.to_html(f"So $$x = 10$${sign} and $y${sign}")
    display, after = text_html.split("</math>", 1)
    assert f">{sign}</m" in display
    assert after.startswith(" and ")
    assert text_html.endswith(f"</math>{sign}</p>")
    assert prose.to_html("So $$x$$ and").endswith("<mi>x</mi></math> and</p>")
    assert f">{sign}</m" in prose.to_html(f"$$\nx\n$${sign}")



def test_a_block_of_maths_is_not_read_as_markdown() -> None:
    """A minus at the start of a line of maths is no list, an underscore no emphasis."""
    made = prose.to_html("$$\na_1\n- b_2\n$$")
    assert "<li>" not in made
    assert "<em>" not in made


@pytest.mark.parametrize("text", ["costs $5 and $6", r"\$x\$", "a $ b $ c", "one $ only", "`$x$`"])
def test_money_is_no_maths(text: str) -> None:
    """Dollars that are prices, escaped, spaced or inside code stay dollars."""
    assert "<math" not in prose.to_html(text)
    assert "$" in prose.to_html(text)


@pytest.mark.parametrize("text", ["<script>x</script>", '<b onclick="x">y</b>', "<!-- x -->", "[a]: <b>", "&lt;i&gt;"])
def test_raw_html_is_shown_as_text(text: str) -> None:
    """Markup in prose reaches the reader as the characters that were typed."""
    made = prose.to_html(text)
    assert "<script" not in made
    assert "<b" not in made
    assert "<!--" not in made
    assert "<i>" not in made


@pytest.mark.parametrize(
    "address", ["https://example.org/a", "http://example.org", "mailto:a@example.org", "#part", "model.py"]
)
def test_links_to_the_web_and_beside_the_page(address: str) -> None:
    """Web, mail and relative addresses are links."""
    assert f'href="{address}"' in prose.to_html(f"[a]({address})")


@pytest.mark.parametrize(
    "address",
    ["javascript:x", "JavaScript:x", "data:text/html,x", "file:///x", "//example.org", "java\tscript:x", "/x", "c:\\x"],
)
def test_other_links_stay_text(address: str) -> None:
    """No other scheme becomes a link."""
    assert "href" not in prose.to_html(f"[a](<{address}>)")


def test_images_are_not_loaded() -> None:
    """A picture's address becomes a link at most, since a page loads nothing."""
    assert "<img" not in prose.to_html("![a](https://example.org/a.png)")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a�b"), ("a\x07b", "a␇b"), ("a\u202eb", "a⟨U+202E⟩b"), ("a\u2066b", "a⟨U+2066⟩b"), ("a\x7fb", "a␡b"),
        ("&#x202e;", "⟨U+202E⟩"),
    ],
)  # fmt: skip
def test_unseen_characters_are_made_visible(text: str, shown: str) -> None:
    """Control characters and direction overrides cannot disguise a text; each is replaced by a sign."""
    assert shown in prose.to_inline(text)


def test_tables_are_aligned_by_class() -> None:
    """A table's alignment is a class, because the page forbids style attributes."""
    made = prose.to_html("| a | b |\n|--:|---|\n| 1 | 2 |")
    assert '<td class="right">1</td>' in made
    assert "style" not in made


def test_plain_text_keeps_the_words() -> None:
    """Titles and alternatives get the words without marks, and maths as it was typed."""
    text = "A *very* `small` [model](https://example.org), $\\alpha$\n\nand more"
    assert prose.to_text(text) == "A very small model, \\alpha and more"


@pytest.mark.parametrize("title", ["1. Start", "- minus", "# hash", "> quote"])
def test_a_title_is_no_list(title: str) -> None:
    """A single line keeps the signs that would open a block in a longer text, in both renderings."""
    assert prose.to_text(title) == title
    assert unescape(prose.to_inline(title)) == title


@given(st.text(max_size=60))
def test_no_text_opens_an_element_of_its_own(text: str) -> None:
    """For any text the result holds only elements that Markdown and MathML make."""
    try:
        made = prose.to_html(text)
    except LessonError:
        return
    tree = ElementTree.fromstring(f"<div>{made}</div>")
    assert not {element.tag for element in tree.iter()} & {"script", "style", "img", "iframe", "object", "svg"}
