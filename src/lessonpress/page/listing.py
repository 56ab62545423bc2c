"""Source files as highlighted lines that can be linked to and lit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name

from lessonpress import prose

_INDENT = re.compile(r"(<span[^>]*>)?( *)")  # of a highlighted line
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


def listings(sources: Mapping[str, str]) -> tuple[Listing, ...]:
    """Every source file, in the order given, highlighted by what its name ends in."""
    return tuple(_listing(name, at, text) for at, (name, text) in enumerate(sources.items()))


def anchors(sources: Mapping[str, str]) -> dict[str, str]:
    """The start of each file's line anchors; the file's place stands for its name, which may hold any character."""
    return {name: f"s{at}-" for at, name in enumerate(sources)}


def excerpt(lines: Sequence[Line]) -> tuple[Line, ...]:
    """A few lines without the indentation that they share."""
    depths = [len(found.group(2)) for line in lines if line.html and (found := _INDENT.match(line.html))]
    depth = min(depths, default=0)
    cut = re.compile(rf"(<span[^>]*>)?( {{0,{depth}}})")
    return tuple(replace(line, html=Markup(cut.sub(r"\1", str(line.html), count=1))) for line in lines)


def _listing(name: str, at: int, text: str) -> Listing:
    # Pygments closes every span at a line's end, so that its output may be cut there.
    clean = prose.visible(text.replace("\r\n", "\n").replace("\r", "\n")).rstrip("\n")
    coloured = str(highlight(clean, _lexer(name), _formatter())).rstrip("\n")
    lines = coloured.split("\n")
    return Listing(name, tuple(Line(n, f"s{at}-{n}", Markup(line)) for n, line in enumerate(lines, start=1)))


def _lexer(name: str) -> Lexer:
    language = next((word for ending, word in _LANGUAGES.items() if name.endswith(ending)), "text")
    return get_lexer_by_name(language, stripnl=False)


@lru_cache(maxsize=1)
def _formatter() -> HtmlFormatter[str]:
    return HtmlFormatter(nowrap=True)
