"""The JavaScript side of the table: the interpreter and just those kernels that a program uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
_COMMENT = re.compile(r"^\s*//.*\n", re.MULTILINE)


def interpreter() -> str:
    """The array type and the interpreter that every page with a replay needs."""
    return (_HERE / "interpreter.js").read_text(encoding="utf-8")


@cache
def definitions() -> dict[str, str]:
    """Every definition of the kernel files by name: `op.add` for a kernel, `erf` for what kernels share."""
    return parted("op", sorted(_HERE.glob("*/kernels.js")))


@cache
def explanations() -> dict[str, str]:
    """Every definition of the families' explanations by name: `EXPLAIN.sum` for an operation."""
    return parted("EXPLAIN", sorted(_HERE.glob("*/explain.js")))


def parted(table: str, paths: Iterable[Path]) -> dict[str, str]:
    """The definitions of script files by name, in their order: `op.add` for an entry of the table `op`.

    A definition starts at the left margin with `op.NAME =` or `const NAME` and ends at the next one.
    Raises ValueError for a name that is defined twice.
    """
    start = re.compile(rf"^(?:{table}\.(\w+) =|const (\w+))", re.MULTILINE)
    found: dict[str, str] = {}
    for path in paths:
        text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
        starts = list(start.finditer(text))
        for here, following in zip(starts, [*starts[1:], None], strict=True):
            name = f"{table}.{here[1]}" if here[1] else here[2]
            if name in found:
                raise ValueError(f"{path.parent.name}/{path.name}: {name} is defined twice")
            found[name] = text[here.start() : following.start() if following else None].rstrip()
    return found


@cache
def kernels() -> frozenset[str]:
    """The names of all operations that have a JavaScript kernel."""
    return frozenset(name.removeprefix("op.") for name in definitions() if name.startswith("op."))


@cache
def needs(name: str) -> frozenset[str]:
    """What one definition of the kernel files mentions of the others, by name."""
    return mentioned("op", definitions(), name)


def mentioned(table: str, known: Mapping[str, str], name: str) -> frozenset[str]:
    """What the definition `name` mentions of the others, by name."""
    words = set(re.findall(rf"{table}\.\w+|(?:(?<![.\w])|(?<=\.\.\.))\w+", known[name]))
    return frozenset(words & known.keys()) - {name}


def chosen(known: Mapping[str, str], names: Iterable[str], needed: Callable[[str], Iterable[str]]) -> list[str]:
    """The definitions `names` with all that they need, in their order. Raises KeyError for an unknown name."""
    wanted: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting.extend(needed(name))
    return [text for name, text in known.items() if name in wanted]


def javascript(names: Iterable[str]) -> str:
    """The interpreter and the kernels of the operations `names` with all that they need, in a fixed order.

    The text defines `runProgram`, `tensor` and `nested` in the scope where it stands.
    Raises KeyError for an operation without a kernel.
    """
    used = chosen(definitions(), (f"op.{name}" for name in names), needs)
    return "\n".join([interpreter().rstrip(), *used]) + "\n"
