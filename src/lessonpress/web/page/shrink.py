"""Scripts made lighter for the page: without comments and spare white space; every name stays as it is written."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from pygments.lexers.javascript import JavascriptLexer
from pygments.token import Comment, String


def joined(parts: Iterable[str]) -> str:
    """Scripts one after the other, each made lighter; the same file is worked on once, whatever pages it stands in."""
    out = ""
    for part in map(shrink, parts):
        out += " " + part if out and part and _needs_space(out[-1], part[0]) else part
    return out


@lru_cache(maxsize=1024)
def shrink(script: str) -> str:
    """A script with the same effect and fewer bytes; it must end its statements with semicolons."""
    out, gap = [""], False
    for kind, text in JavascriptLexer().get_tokens(script):
        if kind in Comment or not text:
            continue
        if text.isspace() and kind not in String:
            gap = True
            continue
        if gap and _needs_space(out[-1][-1:], text[0]):
            out.append(" ")
        out.append(text)
        gap = False
    return "".join(out)


def _needs_space(last: str, first: str) -> bool:
    """Whether two signs would run together into another token."""
    return (_wordy(last) and _wordy(first)) or (last == first and last in "+-/")


def _wordy(sign: str) -> bool:
    return sign.isalnum() or (sign != "" and sign in "_$#")
