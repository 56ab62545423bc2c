"""From records to one HTML text: the templates, the data block and the Content-Security-Policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lessonpress.core import packaged_files, script_modules
from lessonpress.web import mathml, prose
from lessonpress.web.page import maths_font, shrink

_STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_POLICY = "{{content-security-policy}}"  # stands in the page until the hashes of its parts are known
_FONT, _NOTICE = "{{maths-font}}", "{{maths-notice}}"  # stand in the page until its formulas are known


def templates_folder() -> Path:
    """Where the templates are. Raises LessonError when this installation lacks them."""
    return packaged_files.path("templates")


def render(template: str, **view: object) -> str:
    """A template filled with a view, as a complete page with its Content-Security-Policy.

    Lesson text arrives as values and is escaped; no template text ever comes from a lesson.
    """
    text = _make_environment().get_template(template).render(
        policy=_POLICY, maths_font=_FONT, maths_notice=_NOTICE, **view
    )  # fmt: skip
    page = prose.make_visible(text)
    drawn = frozenset(mathml.list_characters(page))
    page = page.replace(_FONT, maths_font.make_style(drawn), 1).replace(_NOTICE, maths_font.make_notice(drawn), 1)
    return page.replace(_POLICY, _make_policy(page), 1)


def render_text(template: str, **view: object) -> str:
    """A template that is no page (a feed, a sitemap) filled with a view; values are escaped as in XML."""
    return prose.make_visible(_make_environment().get_template(template).render(**view))


def embed_json(value: object) -> Markup:
    """JSON that may stand inside a script element: `<`, `>`, `&` and everything outside ASCII are escaped."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=True, allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def inline_style(name: str) -> Markup:
    """One of our style sheets, to be written into the page; blank lines and whole-line comments are left out."""
    return _strip_style((templates_folder() / name).read_text(encoding="utf-8"))


@lru_cache(maxsize=16)
def _strip_style(style: str) -> Markup:
    kept = (line.strip() for line in style.splitlines())
    text = "\n".join(line for line in kept if line and not re.fullmatch(r"/\*.*\*/", line))
    return Markup(re.sub(r"(?<=[:,;{}]) | (?=[{}])|;(?= ?})", "", text))


def make_script(*parts: str) -> Markup:
    """Scripts in one closure, to stand inside the page; strict, as modules are."""
    return Markup(shrink.join_scripts(["(() => {", '"use strict";', *parts, "})();"]))


def warm_up() -> None:
    """Do what the first page of a process takes longer for: compile its template, shrink our scripts."""
    _make_environment().get_template("lesson.html.jinja")
    for path in sorted((templates_folder() / "script").rglob("*.js")):
        shrink.shrink_script(script_modules.read_module(path).text)


@lru_cache(maxsize=1)
def _make_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(templates_folder()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(inline_style=inline_style, embed_json=embed_json)
    return environment


def _make_policy(page: str) -> str:
    """No network, no plug-ins, no frames but our own; the page's styles and scripts by their hashes, nothing else."""
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "img-src 'self' data:"]
    rules += [f"style-src {_join_hashes(_STYLE.findall(page))}", f"script-src {_join_hashes(_SCRIPT.findall(page))}"]
    rules += ["font-src data:"] if any("@font-face" in style for style in _STYLE.findall(page)) else []
    rules += ["frame-src 'self'"] if "<iframe " in page else []  # lesson text is escaped, so it is ours
    return "; ".join(rules)


def _join_hashes(parts: list[str]) -> str:
    return " ".join(f"'{hash_source(part)}'" for part in dict.fromkeys(parts)) or "'none'"


def hash_source(part: str) -> str:
    """The name by which a Content-Security-Policy admits one inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
