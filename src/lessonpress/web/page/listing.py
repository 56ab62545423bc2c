"""Source files as highlighted lines that can be linked to and lit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from lessonpress.web import prose

_COLOURS = (
    (Keyword, "k"), (Operator.Word, "k"), (String, "s"), (Number, "m"), (Comment, "c"), (Name.Function, "n"),
    (Name.Class, "n"), (Name.Tag, "k"),
)  # fmt: skip
_SPANNED = re.compile(r"\S.*")  # what a span is put around: from the first sign of a line to its end
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml", ".md": "markdown"}


@dataclass(frozen=True)
class Line:
    """One line of source: its number from 1, its anchor in the page and its highlighted text."""

    number: int
    anchor: str
    html: Markup


@dataclass(frozen=True)
class Listing:
    """One source file as lines."""

    name: str
    lines: tuple[Line, ...]


def make_listings(sources: Mapping[str, str]) -> tuple[Listing, ...]:
    """Every source file, in the order given, highlighted by what its name ends in."""
    return tuple(_make_listing(name, at, text) for at, (name, text) in enumerate(sources.items()))


def make_anchors(sources: Mapping[str, str]) -> dict[str, str]:
    """The start of each file's line anchors; the file's place stands for its name, which may hold any character."""
    return {name: f"s{at}-" for at, name in enumerate(sources)}


def cut_excerpt(lines: Sequence[Line]) -> tuple[Line, ...]:
    """A few lines without the indentation that they share."""
    depths = [len(line.html) - len(line.html.lstrip(" ")) for line in lines if line.html.strip()]
    return tuple(replace(line, html=line.html[min(depths, default=0) :]) for line in lines)


def _make_listing(name: str, at: int, text: str) -> Listing:
    clean = prose.make_visible(text.replace("\r\n", "\n").replace("\r", "\n")).rstrip("\n")
    lines = _colour_text(clean, _choose_lexer(name)).rstrip("\n").split("\n")
    return Listing(name, tuple(Line(n, f"s{at}-{n}", Markup(line)) for n, line in enumerate(lines, start=1)))


def _colour_text(text: str, lexer: Lexer) -> str:
    """The text with a span around what has a colour; a span never crosses a line's end, so lines may be cut apart."""
    parts = []
    for colour, tokens in groupby(lexer.get_tokens(text), key=lambda token: _choose_class(token[0])):
        run = str(escape("".join(value for _, value in tokens)))
        parts.append(_SPANNED.sub(rf'<span class="{colour}">\g<0></span>', run) if colour else run)
    return "".join(parts)


def _choose_class(kind: tuple[str, ...]) -> str:
    """The class of a token, the first that fits; most tokens have none, which keeps the page light."""
    return next((name for parent, name in _COLOURS if kind in parent), "")


def _choose_lexer(name: str) -> Lexer:
    language = next((word for ending, word in _LANGUAGES.items() if name.endswith(ending)), "text")
    return get_lexer_by_name(language, stripnl=False)
