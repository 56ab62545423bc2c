"""Two small changes in a lesson's code as it is imported, so that what Python does with numbers can be followed.

`float(x)` can only give a plain float, `type(x)` tells a watched number from one, and `print` only takes text. The
tracer must see such calls before they happen, so `float(…)` becomes `number_of(float, …)`, and a line that only prints
stands in `with printing():`. Neither changes what the lesson computes, where a line stands, or the file; while nothing
is watched both do what was written.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from .watched_number import WatchedNumber

if TYPE_CHECKING:
    from .trace import Tracer

NUMBER, PRINTING = "__lessonpress_number__", "__lessonpress_printing__"
watching: list[tuple[Tracer, int]] = []  # the tracer at work and its thread, innermost last


def tracer_here() -> Tracer | None:
    """The tracer that watches this thread, while it listens."""
    tracer = tracer_of_thread()
    return None if tracer is None or tracer.quiet else tracer


def tracer_of_thread() -> Tracer | None:
    """The tracer that watches this thread, also while it does not listen."""
    return watching[-1][0] if watching and watching[-1][1] == threading.get_ident() else None


def number_of(kind: Any, value: Any) -> Any:
    """`kind(value)`; `float` of a watched tensor is a number that is watched too, and its type is `float`."""
    if kind is type:
        return float if type(value) is WatchedNumber else type(value)
    tracer = tracer_here() if kind is float else None
    return kind(value) if tracer is None else tracer.as_float(value)


@contextmanager
def printing() -> Iterator[None]:
    """While it is open, numbers that become text decide nothing: the text goes to the terminal."""
    tracer = tracer_of_thread()
    if tracer is None:
        yield
        return
    tracer.printing.append(tracer.places.find_frame(2))
    try:
        yield
    finally:
        tracer.printing.pop()


class _Rewritten(ast.NodeTransformer):
    """The two changes; every new node stands where the old one stood."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`float(x)` → `number_of(float, x)`, and `type(x)` likewise."""
        self.generic_visit(node)
        plain = isinstance(node.func, ast.Name) and node.func.id in ("float", "type")
        if not plain or len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
            return node
        changed = ast.Call(ast.copy_location(ast.Name(NUMBER, ast.Load()), node.func), [node.func, *node.args], [])
        return ast.copy_location(changed, node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """`print(…)` → `with printing(): print(…)`."""
        self.generic_visit(node)
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"):
            return node
        opened = ast.Call(ast.Name(PRINTING, ast.Load()), [], [])
        return ast.fix_missing_locations(ast.copy_location(ast.With([ast.withitem(opened)], [node]), node))


def _compile(source: bytes, path: str) -> CodeType:
    """The changed code of a file. Raises what compiling the file raises."""
    tree = compile(source, path, "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True)
    return compile(_Rewritten().visit(tree), path, "exec", dont_inherit=True)


class RewritingLoader(SourceFileLoader):
    """Imports a lesson's file with the two changes, always from its source."""

    def get_code(self, fullname: str) -> CodeType:
        """The changed code; nothing of it is kept in `__pycache__`, where others would find it."""
        path = self.get_filename(fullname)
        return _compile(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the file, with the two functions at hand."""
        vars(module).update({NUMBER: number_of, PRINTING: printing})
        super().exec_module(module)


