"""Which scripts a lesson's page carries: those that its program can use, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lessonpress import operations
from lessonpress.page import rendering

_SHOWING = ("numbers", "figures", "machine")
_COMPUTING = ("tensor", "drawer", "play")
_USING = ("cells", "cases", "compare", "source", "graph", "story", "words", "save")
EXPLAINED = ("activations", "normalisation", "products", "recurrent", "reductions")  # families with a file of their own


def lesson(live: Mapping[str, Any] | None, *, questions: bool) -> Markup:
    """The one script of a lesson's page; `live` is the page's program with its numbers, or None."""
    return rendering.script(*_parts(live, questions))


def _parts(live: Mapping[str, Any] | None, questions: bool) -> Iterator[str | Path]:
    yield Path("core.js")
    yield _machine(live) if live else "const machine = null;"
    yield from _files(_SHOWING)
    if live:
        families = set(live["families"].values())
        yield Path("explain.js")
        yield from _files(f"explain/{family}" for family in EXPLAINED if family in families)
        yield from _files(_COMPUTING)
    yield from _files(_USING)
    yield Path("start.js")
    if questions:
        yield Path("predict.js")
        yield "startPredict();"
    yield Path("console.js") if live else ""


def _files(names: Any) -> Iterator[Path]:
    return (Path(f"{name}.js") for name in names)


def _machine(live: Mapping[str, Any]) -> str:
    """The interpreter with the kernels of the program, in a closure of its own."""
    kernels = operations.javascript(live["program"]["operations"])
    return f"const machine = (() => {{\n{kernels}\nreturn {{ runProgram, decode, op, nd, flat, FLOAT, INT }};\n}})();"
