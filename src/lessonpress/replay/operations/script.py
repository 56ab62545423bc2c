"""The JavaScript side of the table: the interpreter and just those kernels that a program uses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from lessonpress.core import script_modules

_HERE = Path(__file__).parent
INTERPRETER = _HERE / "interpreter.js"


def kernel_files() -> list[Path]:
    """The files with the kernels of every family."""
    return sorted(_HERE.glob("*/kernels.js"))


def explanation_files() -> list[Path]:
    """The files that say how single numbers arise, of the families that have one."""
    return sorted(_HERE.glob("*/explain.js"))


@cache
def kernels() -> frozenset[str]:
    """The names of all operations that have a JavaScript kernel."""
    return frozenset(_entries("op", kernel_files()))


@cache
def explanations() -> frozenset[str]:
    """The names of all explanations: `EXPLAIN.softmax` for an operation, `EXPLAIN_FAMILY.shapes` for a family."""
    files = explanation_files()
    return frozenset(f"{table}.{name}" for table in ("EXPLAIN", "EXPLAIN_FAMILY") for name in _entries(table, files))


def _entries(table: str, paths: Iterable[Path]) -> list[str]:
    """What the files enter into a table. Raises ValueError for an entry that is made twice."""
    start = f"{table}."
    names = [name.removeprefix(start) for path in paths for name in script_modules.read_definitions(path)
             if name.startswith(start)]  # fmt: skip
    if len(names) != len(set(names)):
        raise ValueError(f"made twice: {sorted({start + name for name in names if names.count(name) > 1})}")
    return names


def javascript(names: Iterable[str]) -> str:
    """The interpreter and the kernels of the operations `names` with all that they need, in a fixed order.

    The text defines `runProgram`, `tensor`, `op` and the array type in the scope where it stands.
    Raises ValueError for an operation without a kernel.
    """
    wanted = [*script_modules.read_definitions(INTERPRETER), *(f"op.{name}" for name in names)]
    return "".join(script_modules.join_modules([], wanted=wanted, libraries=kernel_files()))
