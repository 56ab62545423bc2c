"""Scripts made lighter for the page: without comments and spare white space; every name stays as it is written.

A script is taken apart into the tokens of JavaScript, as far as white space depends on them: strings, templates and
regular expressions stay as they are. Whether a slash begins a regular expression follows from what stands before it;
where that cannot be known without parsing (after a closing brace), the script is refused. The library that is kept up,
rjsmin (tried: 1.3.0), makes `5.toFixed()` of `5 .toFixed()` and takes spaces out of an expression that follows `=>`; so
tests/test_shrink.py holds this module against a parser, on every script of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

_SPACE = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""", re.DOTALL)
_EXPRESSION = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_NUMBER = re.compile(r"0[xXbBoO]\w+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?n?")
_WORD = re.compile(r"[#\w$]+")
_SIGN = re.compile(r"\+\+|--|=>|\?\.(?!\d)|\.\.\.|[^\w\s'\"`]")
_TEMPLATE_TEXT = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
# After these words and signs a value begins, so a slash begins a regular expression.
_BEFORE_VALUE = frozenset([
    "return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do", "else", "yield",
    "await", "=>", "...", *";,([{=+-*%&|^!~?:<>/",
])  # fmt: skip
_KEPT_AFTER = frozenset(["", ";", "{", "}", ":", "else", "do"])  # a semicolon after these is a statement of its own
_HEADS = frozenset(["if", "while", "for", "with"])  # what follows their closing parenthesis begins anew


def join_scripts(parts: Iterable[str]) -> str:
    """Scripts one after the other, each made lighter; the same file is worked on once, whatever pages it stands in."""
    out = ""
    for part in map(shrink_script, parts):
        out = out.removesuffix(";") if part.startswith("}") else out
        out += " " + part if _runs_together(out[-2:], part) else part
    return out


@lru_cache(maxsize=1024)
def shrink_script(script: str) -> str:
    """A script with the same effect and fewer bytes; it must end its statements with semicolons.

    Raises ValueError, with the line, for what is no token and for a slash after a closing brace.
    """
    out, before = [], ""
    for token in split_tokens(script):
        out.append(" " + token if _runs_together(before, token) else token)
        before = token
    return "".join(out)


def split_tokens(script: str) -> Iterator[str]:
    """The tokens of a script, without comments, white space, and semicolons that a closing brace makes superfluous.

    A template is one token.
    """
    at, before = 0, ""
    held = False  # whether a semicolon waits for what follows: before a closing brace it is left out
    heads: list[str] = []  # for each open parenthesis the word before it
    after_head = False  # whether the parenthesis that was just closed belongs to an `if` or the like
    while at < len(script):
        if space := _SPACE.match(script, at):
            at = space.end()
            continue
        token = _template(script, at) if script[at] == "`" else _next(script, at, before, after_head)
        if held and token != "}":
            yield ";"
        held = token == ";" and not after_head and before not in _KEPT_AFTER
        if not held:
            yield token
        after_head = False
        if token == "(":
            heads.append(before)
        elif token == ")":
            after_head = bool(heads) and heads.pop() in _HEADS
        at += len(token)
        before = "a property" if before in (".", "?.") else token
    if held:
        yield ";"


def _next(script: str, at: int, before: str, after_head: bool) -> str:
    """The token that begins at a place; `before` is the one before it."""
    if script[at] == "/" and before == "}":
        raise ValueError(f"line {_line(script, at)}: a slash after a closing brace; put parentheses around one side")
    value = not before or before in _BEFORE_VALUE or after_head
    kinds = [_STRING, _NUMBER, _WORD, *([_EXPRESSION] if value else []), _SIGN]
    for kind in kinds:
        if token := kind.match(script, at):
            return token[0]
    raise ValueError(f"line {_line(script, at)}: {script[at]!r} begins no token")


def _template(script: str, start: int) -> str:
    """A whole template, whose text and expressions stay as they are."""
    at = start + 1
    while True:
        text = _TEMPLATE_TEXT.match(script, at)
        at = text.end() if text else at
        if at >= len(script):
            raise ValueError(f"line {_line(script, start)}: a template that does not end")
        if script[at] == "`":
            return script[start : at + 1]
        at = _closing_brace(script, at + 2)


def _closing_brace(script: str, at: int) -> int:
    """The place after the brace that closes an expression inside a template."""
    depth = 1
    while depth:
        if at >= len(script):
            raise ValueError("a template that does not end")
        if script[at] == "`":
            at += len(_template(script, at))
        elif string := _STRING.match(script, at):
            at = string.end()
        else:
            depth += {"{": 1, "}": -1}.get(script[at], 0)
            at += 1
    return at


def _line(script: str, at: int) -> int:
    return script.count("\n", 0, at) + 1


def _runs_together(last: str, following: str) -> bool:
    """Whether two tokens would be read as others without a space between them."""
    if not last or not following:
        return False
    end, first = last[-1], following[0]
    if _wordy(end) and (_wordy(first) or first == "."):
        return first != "." or end.isdigit()  # 5 .toFixed()
    if end == "/":
        return first in "/*" or (len(last) > 1 and _wordy(first))  # what follows would be a comment, or flags
    html = end + first == "<!" or last + first == "-->"  # in an inline script these begin and end an HTML comment
    return html or (end == first and end in "+-")


def _wordy(sign: str) -> bool:
    return sign.isalnum() or (sign != "" and sign in "_$#")
