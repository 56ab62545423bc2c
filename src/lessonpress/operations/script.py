"""The JavaScript side of the table: the interpreter and just those kernels that a program uses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
_START = re.compile(r"^(?:op\.(\w+) =|(?:const|function) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^\s*//.*\n", re.MULTILINE)


def interpreter() -> str:
    """The array type and the interpreter that every page with a replay needs."""
    return (_HERE / "interpreter.js").read_text(encoding="utf-8")


@cache
def definitions() -> dict[str, str]:
    """Every definition of the kernel files by name: `op.add` for a kernel, `erf` for what kernels share.

    A definition starts at the left margin with `op.NAME =`, `const NAME` or `function NAME` and ends at the next.
    """
    found: dict[str, str] = {}
    for path in sorted(_HERE.glob("*.js")):
        if path.name == "interpreter.js":
            continue
        text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
        starts = list(_START.finditer(text))
        for start, following in zip(starts, [*starts[1:], None], strict=True):
            name = f"op.{start[1]}" if start[1] else start[2]
            if name in found:
                raise ValueError(f"{path.name}: {name} is defined twice")
            found[name] = text[start.start() : following.start() if following else None].rstrip()
    return found


@cache
def kernels() -> frozenset[str]:
    """The names of all operations that have a JavaScript kernel."""
    return frozenset(name.removeprefix("op.") for name in definitions() if name.startswith("op."))


@cache
def needs(name: str) -> frozenset[str]:
    """What one definition mentions of the others, by name."""
    words = set(re.findall(r"op\.\w+|(?:(?<![.\w])|(?<=\.\.\.))\w+", definitions()[name]))
    return frozenset(words & definitions().keys()) - {name}


def javascript(names: Iterable[str]) -> str:
    """The interpreter and the kernels of the operations `names` with all that they need, in a fixed order.

    The text defines `runProgram`, `tensor` and `nested` in the scope where it stands.
    Raises KeyError for an operation without a kernel.
    """
    wanted: set[str] = set()
    waiting = [f"op.{name}" for name in names]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting.extend(needs(name))
    chosen = [text for name, text in definitions().items() if name in wanted]
    return "\n".join([interpreter().rstrip(), *chosen]) + "\n"
