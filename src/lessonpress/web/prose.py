"""A lesson's words: Markdown with TeX maths, turned into HTML that carries no script and no raw markup.

What the Markdown knows beyond CommonMark, and what is refused, stands in `markdown_rules`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lessonpress.core.errors import LessonError
from lessonpress.web import markdown_rules, mathml, surroundings

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

# What may stand before the first colon of a link; a link without a scheme must be relative to the page.
_SCHEMES = re.compile(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)
_RELATIVE = re.compile(r"#[^\s]*|(?:\./)?[A-Za-z0-9_][^\s:\\]*")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]|\t(?:heta|au|imes|an|anh|ext|ilde|op|o)\\b")
# Characters that reorder or hide text: C0 and C1 controls but tab and line feed, bidirectional overrides, surrogates.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def to_html(text: str, *, where: str = "prose") -> str:
    """Markdown paragraphs, lists, tables, figures, folded parts and maths as HTML blocks.

    `where` names the place for an error. Raises LessonError for TeX that cannot be rendered; as part of a page
    (`surroundings.within`) also for what refers to nothing there, and for markup that is not taken.
    """
    return _render(text, where, inline=False)


def to_inline(text: str, *, where: str = "prose") -> str:
    """One line of Markdown as HTML without a paragraph around it. Raises LessonError as `to_html` does."""
    return _render(text, where, inline=True)


def _render(text: str, where: str, *, inline: bool) -> str:
    """The HTML of a text; footnotes of several texts on one page have names of their own."""
    strict = surroundings.current() is not None  # what was published once is shown as it was taken then
    if strict and (lost := _CONTROLS.search(text)):
        raise LessonError(where, f"{text[lost.start() : lost.start() + 20]!r} holds a character that nobody can see",
                          "TeX in single quotes or a block: in double quotes YAML reads \\t, \\n, \\b, \\f as such")
    reader = _make_reader()
    env: dict[str, Any] = {"where": where, "docId": hashlib.sha256(f"{where} {text}".encode()).hexdigest()[:6]}
    tokens = reader.parseInline(text, env) if inline else reader.parse(text, env)
    if strict:
        markdown_rules.require_plain(tokens, env)
    return make_visible(str(reader.renderer.render(tokens, reader.options, env))).strip()


def find_labels(text: str) -> list[str]:
    """The labels of a text's equations and figures, in order."""
    return [str(token.meta["label"]) for token in _list_tokens(text) if token.meta.get("label")
            and token.type in ("maths", "figure")]  # fmt: skip


def find_images(text: str) -> list[str]:
    """The files of a text's images."""
    sources = (str(token.attrGet("src") or "") for token in _list_tokens(text) if token.type in ("image", "figure"))
    return [source.removeprefix("./") for source in sources]


def find_lessons(text: str) -> list[str]:
    """The lessons to which a text links, by slug."""
    links = (str(token.attrGet("href") or "") for token in _list_tokens(text) if token.type == "link_open")
    return [match[1] for link in links if (match := markdown_rules.LESSON.fullmatch(link))]


def _list_tokens(text: str) -> list[Token]:
    """All tokens of a text, those in its lines too."""
    return [inner for token in _make_reader().parse(text, {}) for inner in (token, *(token.children or ()))]


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
        elif token.type == "reference":
            words.append("the equation" if token.content.startswith("eq") else "the figure")
        elif token.type in ("citation", "footnote_ref", "footnote_anchor") or token.info.startswith("from "):
            continue
        else:
            words.append(token.content)
    return words


@lru_cache(maxsize=1)
def _make_reader() -> MarkdownIt:
    """The one Markdown reader: CommonMark with dollar maths and `markdown_rules`, without raw HTML."""
    reader = MarkdownIt("commonmark", {"html": False})
    markdown_rules.install(reader)
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
    known = (_SCHEMES, _RELATIVE, markdown_rules.LESSON)
    return any(pattern.fullmatch(address) for pattern in known)


def _render_maths(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, env: Any) -> str:
    """MathML for one maths token; an equation with a label has a number."""
    token, around = tokens[index], surroundings.current()
    maths = mathml.to_mathml(token.content, block=token.markup == "$$", where=env.get("where", "prose"))
    label = str(token.meta.get("label") or "")
    if not label or around is None:
        return maths
    around.used.add("equation")
    number = around.numbers.get(label, "").rpartition(" ")[2]
    return f'<div class="equation" id="{label}">{maths}<span class="number">({number})</span></div>\n'


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
    while not (len(bare := markdown_rules.LABEL.sub("", text)) > 3 and bare.endswith("$$")):
        line += 1
        if line >= last or state.isEmpty(line):
            return False
        text += "\n" + _read_line(state, line)
    maths, label = _MATHS["$$"].fullmatch(bare), markdown_rules.LABEL.search(text)
    if maths and not silent:
        token = state.push("maths", "math", 0)
        token.meta["label"] = label[1] if label else ""
        token.block, token.content, token.markup, token.map = True, maths.group(1).strip(), "$$", [first, line + 1]
        state.line = line + 1
    return bool(maths)


def _read_line(state: StateBlock, number: int) -> str:
    """A line of the source without its indentation and trailing space."""
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].rstrip()
