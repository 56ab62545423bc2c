"""Imports the lesson's model class and builds it; what goes wrong is reported with the lesson's own line."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

from torch import nn

from .places import Places
from .records import Place, Position, WorkerError
from .rewriting import RewritingLoader

PACKAGE = "lesson__package"  # no installed package can have this name
SCRIPTED = (
    "traced and scripted code keeps the dtypes of its constants: trace it with inputs of the run's dtype, or say "
    "`dtype: float32` in the recipe's experiment"
)


class Refused(Exception):
    """The lesson's mistake, ready to be reported: what was seen, what was expected, and where."""

    def __init__(
        self, stage: str, seen: str, expected: str = "", place: Place | Position | None = None, *, key: str = ""
    ) -> None:
        super().__init__(seen)
        self.stage, self.seen, self.expected, self.place, self.key = stage, seen, expected, place, key


class Finder(importlib.abc.MetaPathFinder):
    """Finds the lesson's own modules, and has them rewritten as they are imported (`rewriting`).

    Top-level ones are found after every other finder, so that a `random.py` of the lesson's hides nothing; a second
    finder, which stands first, knows only what lies `inside` packages of the lesson's.
    """

    def __init__(self, *folders: str, inside: bool = False) -> None:
        self.folders, self.inside = list(folders), inside
        self.before = frozenset(sys.modules)  # torch's two thousand, which need not be looked through again

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Look in the lesson's folders."""
        if path is None:
            return None if self.inside else _rewritten(importlib.machinery.PathFinder.find_spec(fullname, self.folders))
        ours = fullname.startswith(f"{__package__}.")  # in a bundle this code lies in the lesson's folder
        within = tuple(os.path.join(folder, "") for folder in self.folders)
        if not self.inside or ours or not any(f"{place}{os.sep}".startswith(within) for place in path):
            return None
        return _rewritten(importlib.machinery.PathFinder.find_spec(fullname, path))


def _rewritten(spec: importlib.machinery.ModuleSpec | None) -> importlib.machinery.ModuleSpec | None:
    """The same module, from its source and rewritten."""
    if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
        spec.loader = RewritingLoader(spec.loader.name, spec.loader.path)
    return spec


def import_class(folder: str, file: str, name: str) -> type[nn.Module]:
    """The class `name` of the lesson's `file`.

    Raises Refused when there is no such class or it is no nn.Module; whatever the import raises passes through.
    """
    _forget()
    # Beside the model's file first, as for a script, then in the lesson's folder.
    places = os.path.join(folder, os.path.dirname(file)), folder
    sys.meta_path.append(Finder(*places))
    sys.meta_path.insert(0, Finder(*places, inside=True))
    module = _import(folder, file)
    kind = getattr(module, name, None)
    classes = [
        n for n, v in vars(module).items() if isinstance(v, type) and getattr(v, "__module__", "") == module.__name__
    ]
    if kind is None:
        raise Refused("class", f"{file} has no class {name}", f"classes found: {', '.join(classes) or 'none'}")
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise Refused("class", f"{name} in {file} is no nn.Module", "a class derived from torch.nn.Module")
    return kind


def import_function(folder: str, file: str, name: str) -> Callable[..., Any]:
    """The function `name` of one of the lesson's files, after its model class was imported.

    Raises Refused when there is no such function; whatever the import raises passes through.
    """
    path = os.path.join(folder, file)
    known = (module for module in list(sys.modules.values()) if getattr(module, "__file__", None) == path)
    module = next(known, None) or _import(folder, file)
    function = getattr(module, name, None)
    if not callable(function):
        there = [n for n, v in vars(module).items() if isinstance(v, FunctionType) and v.__module__ == module.__name__]
        raise Refused("prepare", f"{file} has no function {name}", f"functions found: {', '.join(there) or 'none'}")
    return function  # type: ignore[no-any-return]


def _forget() -> None:
    """Drop what an earlier import brought: a variant of a lesson has modules of the same names in another folder."""
    for finder in [finder for finder in sys.meta_path if isinstance(finder, Finder)]:
        sys.meta_path.remove(finder)
        within = tuple(os.path.join(folder, "") for folder in finder.folders)
        ours_now = []
        for name in sys.modules.keys() - finder.before:
            module = sys.modules[name]
            ours = name.startswith(str(__package__))  # in a bundle this code lies in the lesson's folder
            # A folder without __init__.py is a module without a file, and holds the modules that were imported from it.
            own = getattr(module, "__dict__", {})
            places = [own.get("__file__") or "", *map(str, own.get("__path__") or ())]
            if not ours and any(f"{place}{os.sep}".startswith(within) for place in places):
                ours_now.append(name)
        for name in ours_now:  # only now: a folder in a folder asks its parent for its places
            del sys.modules[name]


def _import(folder: str, file: str) -> ModuleType:
    """Import a file of the lesson, as part of its package where its folder is one (for relative imports)."""
    parts = file.removesuffix(".py").split("/")
    if len(parts) > 1 and os.path.exists(os.path.join(folder, *parts[:-1], "__init__.py")):
        return importlib.import_module(".".join(parts))
    if os.path.exists(os.path.join(folder, "__init__.py")):
        # The folder itself is a package: give it a name.
        package = _load(PACKAGE, os.path.join(folder, "__init__.py"), [folder])
        return importlib.import_module(f"{package.__name__}." + ".".join(parts))
    if _imports_neighbours(os.path.join(folder, file)):
        # `from .parts import …` without an __init__.py: the file's folder is taken for a package all the same.
        sys.modules[PACKAGE] = ModuleType(PACKAGE)
        sys.modules[PACKAGE].__path__ = [os.path.dirname(os.path.join(folder, file))]
        return importlib.import_module(f"{PACKAGE}.{parts[-1]}")
    name = parts[-1]
    if name in sys.modules or importlib.machinery.PathFinder.find_spec(name) is not None:
        name = f"lesson__{name}"
    return _load(name, os.path.join(folder, file), None)


def _imports_neighbours(path: str) -> bool:
    """Whether a file imports with leading dots; a file that is no Python is reported when it is imported."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree))


def _load(name: str, path: str, search: list[str] | None) -> ModuleType:
    loader = RewritingLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader, submodule_search_locations=search)
    if spec is None or spec.loader is None:
        raise Refused("import", f"{os.path.basename(path)} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def describe_error(error: BaseException, stage: str, places: Places, context: str | None) -> WorkerError:
    """An exception of the lesson's as data: what, where, and the line's own text."""
    if isinstance(error, Refused):
        return {"stage": error.stage, "run": None, "type": "Refused", "message": error.seen, "expected": error.expected,
                "place": error.place, "code": None, "context": None,
                "key": error.key}  # fmt: skip
    place: Place | Position | None = places.of_traceback(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(places.prefix):
        place = {"file": error.filename[len(places.prefix) :], "line": error.lineno or 1}
    # The run's own copy of the folder is nobody's business: files are called by their names in the lesson.
    message = (error.msg if isinstance(error, SyntaxError) else str(error)).replace(places.prefix, "")
    expected = ""
    if "the TorchScript interpreter" in message:  # it adds the stack of whoever called, which is ours
        last = message.strip().splitlines()[-1]
        message = last.partition("Error: ")[2] or str(error.__cause__ or last)
        expected = SCRIPTED
    return {"stage": stage, "run": None, "type": type(error).__name__, "message": message[:4000], "expected": expected,
            "place": place, "code": _line(places.prefix, place), "context": context}  # fmt: skip


def _line(folder: str, place: Place | Position | None) -> str | None:
    if place is None:
        return None
    try:
        with open(os.path.join(folder, place["file"]), encoding="utf-8", errors="replace") as file:
            return str(file.read().splitlines()[place["line"] - 1].strip()[:400])
    except (OSError, IndexError):
        return None
