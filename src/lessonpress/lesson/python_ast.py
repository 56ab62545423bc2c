"""What a Python file of a lesson says without being run: its classes, functions, imports and calls."""

from __future__ import annotations

import ast
import inspect
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lessonpress.core.errors import LessonError

Defined = ast.FunctionDef | ast.AsyncFunctionDef
Parameter = inspect.Parameter
# Whoever catches one of these bears a package that is missing.
_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
THIS = f"code that Python {sys.version_info.major}.{sys.version_info.minor} reads"


@dataclass(frozen=True)
class Function:
    """A function: its name, line, docstring and parameters; what is decorated may take others."""

    name: str
    line: int
    docstring: str
    parameters: tuple[Parameter, ...]
    decorated: bool


@dataclass(frozen=True)
class Class:
    """A class: its name, line, the names of its bases (empty for what is no name), and its own methods."""

    name: str
    line: int
    bases: tuple[str, ...]
    methods: Mapping[str, Function]


@dataclass(frozen=True)
class Import:
    """An imported module: its topmost name, its line, and whether the file can do without it (inside a `try`)."""

    module: str
    line: int
    optional: bool


@dataclass(frozen=True)
class Call:
    """A call by its full name (`numpy.random.seed`, whatever the file calls numpy), its line and its arguments."""

    name: str
    line: int
    arguments: int


@dataclass(frozen=True)
class Source:
    """A whole file; classes and functions are those at its top level, in file order."""

    where: str  # how errors call the file
    names: frozenset[str]  # everything that is bound anywhere in it, `*` after `from x import *`
    classes: tuple[Class, ...]
    functions: tuple[Function, ...]
    imports: tuple[Import, ...]
    calls: tuple[Call, ...]

    def may_have(self, name: str) -> bool:
        """Whether running the file may bind a name: by a definition, an import or an assignment."""
        return name in self.names or "*" in self.names


def read(data: bytes, where: str) -> Source:
    """Read a Python file; `where` is what errors call it. Raises LessonError at the line that is no Python."""
    tree = _tree(data, where)
    top = tree.body
    return Source(
        where, frozenset(_bound(tree)), tuple(_class(node) for node in top if isinstance(node, ast.ClassDef)),
        tuple(_function(node) for node in top if isinstance(node, Defined)),
        tuple(_imports(top)), tuple(_calls(tree)),
    )  # fmt: skip


def skim(data: bytes, where: str) -> Source:
    """Read of a Python file only what it imports, which is quick. Raises LessonError as `read` does."""
    return Source(where, frozenset(), (), (), tuple(_imports(_tree(data, where).body)), ())


def _tree(data: bytes, where: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape is no mistake
            return ast.parse(data)
    except SyntaxError as error:
        line = (error.text or "").strip()[:100]
        code = f"; the line reads `{line}`" if line else ""
        raise LessonError(f"{where}:{error.lineno or 1}", f"this is no Python: {error.msg}{code}", THIS) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise LessonError(where, f"this is no Python: {str(error) or 'it is nested too deeply'}", THIS) from None


def _class(node: ast.ClassDef) -> Class:
    methods = {inner.name: _function(inner) for inner in node.body if isinstance(inner, Defined)}
    return Class(node.name, node.lineno, tuple(_dotted(base) for base in node.bases), methods)


def _function(node: Defined) -> Function:
    return Function(node.name, node.lineno, ast.get_docstring(node) or "", tuple(_parameters(node.args)),
                    bool(node.decorator_list))  # fmt: skip


def _parameters(given: ast.arguments) -> Iterator[Parameter]:
    positional = [*given.posonlyargs, *given.args]
    first_default = len(positional) - len(given.defaults)
    for at, arg in enumerate(positional):
        kind = Parameter.POSITIONAL_ONLY if at < len(given.posonlyargs) else Parameter.POSITIONAL_OR_KEYWORD
        yield Parameter(arg.arg, kind, default=None if at >= first_default else Parameter.empty)
    if given.vararg:
        yield Parameter(given.vararg.arg, Parameter.VAR_POSITIONAL)
    for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield Parameter(arg.arg, Parameter.KEYWORD_ONLY, default=Parameter.empty if default is None else None)
    if given.kwarg:
        yield Parameter(given.kwarg.arg, Parameter.VAR_KEYWORD)


def _imports(body: Sequence[ast.AST], *, sheltered: bool = False) -> Iterator[Import]:
    """Every import of another package, wherever it stands; relative ones are the lesson's own."""
    for node in body:
        names: Sequence[str] = ()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module]
        for name in names:
            yield Import(name.partition(".")[0], getattr(node, "lineno", 1), sheltered)
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):  # no expression holds a statement
            inside = sheltered or (part in ("body", "handlers") and _shelters(node))
            yield from _imports(getattr(node, part, ()), sheltered=inside)


def _shelters(node: ast.AST) -> bool:
    """Whether what is imported within may be missing: it is caught, or only for a checker of types."""
    if isinstance(node, ast.Try | ast.TryStar):
        caught = [name for handler in node.handlers for name in _caught(handler.type)]
        return not _MISSING.isdisjoint(caught)
    if isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        return any(_last(call.func) == "suppress" and not _MISSING.isdisjoint(map(_last, call.args)) for call in calls)
    return isinstance(node, ast.If) and _last(node.test) == "TYPE_CHECKING"


def _caught(kind: ast.expr | None) -> list[str]:
    """The names of the exceptions that a handler catches; a bare one catches all."""
    if kind is None:
        return ["BaseException"]
    return [_last(each) for each in (kind.elts if isinstance(kind, ast.Tuple) else [kind])]


def _last(node: ast.expr) -> str:
    return (_dotted(node) or "").rpartition(".")[2]


def _calls(tree: ast.Module) -> Iterator[Call]:
    known = dict(_names(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := _dotted(node.func)):
            head, dot, rest = name.partition(".")
            if head in known:
                yield Call(known[head] + dot + rest, node.lineno, len(node.args) + len(node.keywords))


def _names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What each imported name stands for: `np` for `numpy`, `time` for `time.time` after `from time import time`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | Defined):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as text; empty for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
