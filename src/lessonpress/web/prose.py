"""A lesson's words: Markdown with TeX maths, turned into HTML that carries no script, no image and no raw markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lessonpress.web import mathml

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

# What may stand before the first colon of a link; a link without a scheme must be relative to the page.
_SCHEMES = re.compile(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)
_RELATIVE = re.compile(r"#[^\s]*|(?:\./)?[A-Za-z0-9_][^\s:\\]*")
# Characters that reorder or hide text: C0 and C1 controls but tab and line feed, bidirectional overrides, surrogates.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def to_html(text: str, *, where: str = "prose") -> str:
    """Markdown paragraphs, lists, tables and maths as HTML blocks.

    `where` names the place for an error. Raises LessonError for TeX that cannot be rendered.
    """
    return make_visible(str(_make_reader().render(text, {"where": where}))).strip()


def to_inline(text: str, *, where: str = "prose") -> str:
    """One line of Markdown as HTML without a paragraph around it. Raises LessonError as `to_html` does."""
    return make_visible(str(_make_reader().renderInline(text, {"where": where}))).strip()


def to_text(text: str) -> str:
    """The words of a Markdown text alone, for titles, alternatives and feeds; maths stays as its TeX source.

    A single line is read as `to_inline` reads it, so that a title such as `1. Start` keeps its number.
    """
    read = _make_reader().parse if "\n" in text.strip() else _make_reader().parseInline
    words = "".join(_collect_words(read(text)))
    return make_visible(re.sub(r"\s+", " ", words)).strip()


def make_visible(text: str) -> str:
    """The text with control characters, bidirectional overrides and lone surrogates replaced by signs one can see."""
    return _UNSEEN.sub(lambda character: _replace_sign(ord(character.group())), text)


def is_web_address(address: str) -> bool:
    """Whether a text is one address on the web, fit to be linked."""
    return bool(_SCHEMES.fullmatch(address)) and not address.lower().startswith("mailto:")


def _replace_sign(code: int) -> str:
    """A visible stand-in for a character that has no picture of its own."""
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\u27e8U+{code:04X}\u27e9"


def _collect_words(tokens: Sequence[Token]) -> list[str]:
    """The text content of Markdown tokens, blocks apart by a space."""
    words: list[str] = []
    for token in tokens:
        if token.children is not None:
            words += [*_collect_words(token.children), " "]
        elif token.type in {"softbreak", "hardbreak"}:
            words.append(" ")
        elif token.type == "maths":
            words.append(f"{token.content} " if token.block else token.content)
        else:
            words.append(token.content)
    return words


@lru_cache(maxsize=1)
def _make_reader() -> MarkdownIt:
    """The one Markdown reader: CommonMark with tables and dollar maths, without raw HTML and images."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image"])
    # Replacing the method is markdown-it-py's documented way to say which links are safe.
    reader.validateLink = _is_safe_link  # type: ignore[method-assign, assignment]
    reader.inline.ruler.before("escape", "maths", _inline_maths)
    reader.block.ruler.before("fence", "maths_block", _block_maths, {"alt": ["paragraph", "blockquote", "list"]})
    reader.add_render_rule("maths", _render_maths)
    reader.add_render_rule("th_open", _render_cell)
    reader.add_render_rule("td_open", _render_cell)
    return reader


def _is_safe_link(address: str) -> bool:
    """Whether a link leads to the web, to a mailbox, or to a place beside the page."""
    return bool(_SCHEMES.fullmatch(address) or _RELATIVE.fullmatch(address))


def _render_maths(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, env: Any) -> str:
    """MathML for one maths token."""
    token = tokens[index]
    return mathml.to_mathml(token.content, block=token.markup == "$$", where=env.get("where", "prose"))


def _render_cell(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """A table cell's opening tag; its alignment is a class, since the page's policy forbids style attributes."""
    token = tokens[index]
    side = str(token.attrGet("style") or "").removeprefix("text-align:")
    return f'<{token.tag} class="{side}">' if side else f"<{token.tag}>"


def _inline_maths(state: StateInline, silent: bool) -> bool:
    """Read `$…$` or `$$…$$` at the cursor, by pandoc's rule: no space inside the dollars, no digit behind them.

    A sign that ends a clause right behind displayed maths belongs to it: else it would begin the next line.
    """
    source, start = state.src, state.pos
    mark = "$$" if source.startswith("$$", start) else "$"
    maths = _MATHS[mark].match(source, start)
    if not maths:
        return False
    if not silent:
        token = state.push("maths", "math", 0)
        token.content, token.markup = "".join(part.strip() for part in maths.groups()), mark
    state.pos = maths.end()
    return True


_MATHS = {
    "$": re.compile(r"\$(?![\s$])((?:\\.|[^\\$])+?)(?<!\s)\$(?!\d)", re.DOTALL),
    "$$": re.compile(r"\$\$((?:\\.|[^\\$])+?)\$\$([,.;:]?)", re.DOTALL),
}


def _block_maths(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a block that opens with `$$` at a line's start and closes with `$$` at a line's end."""
    if not _read_line(state, first).startswith("$$"):
        return False
    text, line = _read_line(state, first), first
    while not (text.endswith("$$") and len(text) > 3):
        line += 1
        if line >= last or state.isEmpty(line):
            return False
        text += "\n" + _read_line(state, line)
    maths = _MATHS["$$"].fullmatch(text)
    if maths and not silent:
        token = state.push("maths", "math", 0)
        token.block, token.content, token.markup, token.map = True, maths.group(1).strip(), "$$", [first, line + 1]
        state.line = line + 1
    return bool(maths)


def _read_line(state: StateBlock, number: int) -> str:
    """A line of the source without its indentation and trailing space."""
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].rstrip()
