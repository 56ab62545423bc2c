"""Which scripts a lesson's page carries: those that its program can use, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lessonpress.replay import operations
from lessonpress.replay.operations import script
from lessonpress.web.page import rendering

_SHOWING = ("figures", "machine")
_COMPUTING = ("tensor", "drawer", "play")
_USING = ("cells", "cases", "compare", "source", "graph", "story", "words", "save")


def lesson(live: Mapping[str, Any] | None, *, questions: bool) -> Markup:
    """The one script of a lesson's page; `live` is the page's program with its numbers, or None."""
    return rendering.script(*_parts(live, questions))


def _parts(live: Mapping[str, Any] | None, questions: bool) -> Iterator[str | Path]:
    yield Path("core.js")
    yield from explaining(live) if live else ("const machine = null;", Path("numbers.js"))
    yield from _files((*_SHOWING, *(_COMPUTING if live else ()), *_USING))
    yield Path("start.js")
    if questions:
        yield Path("predict.js")
        yield "startPredict();"
    yield Path("console.js") if live else ""


def explaining(live: Mapping[str, Any]) -> Iterator[str | Path]:
    """The machine of the page's program, and what writes out how each of its numbers arises."""
    yield _machine(live)
    yield from _files(("numbers", "explain"))
    yield from _explanations(live)


def _files(names: Any) -> Iterator[Path]:
    return (Path(f"{name}.js") for name in names)


def _machine(live: Mapping[str, Any]) -> str:
    """The interpreter with the kernels of the program, in a closure of its own."""
    kernels = operations.javascript(live["program"]["operations"])
    return f"const machine = (() => {{\n{kernels}\nreturn {{ runProgram, decode, op, nd, flat, FLOAT, INT }};\n}})();"


def _explanations(live: Mapping[str, Any]) -> list[str]:
    """How single numbers of the program's operations arise, for those that explain.js alone cannot write out."""
    known = script.explanations()
    names = [name for name in (f"EXPLAIN.{each}" for each in live["program"]["operations"]) if name in known]
    return script.chosen(known, names, lambda name: script.mentioned("EXPLAIN", known, name))
