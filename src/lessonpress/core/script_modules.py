"""ES modules of ours, joined into one script for a page: imports are followed, and what nobody needs is left out.

No bundler is needed where a page is made, because our modules keep to a small part of the language:

- imports stand at the top, name what they take, and rename nothing: `import { a, b } from "./file.js";`
- `#page/file.js` is a file of templates/script/, `#replay/file.js` one of replay/ (package.json says the same to tools)
- a definition begins at the left margin: `const NAME`, `let NAME`, with or without `export`, or `TABLE.NAME =`
- no two modules define the same name, and no import runs in a circle: joined, they stand in one scope

The files in replay/ hold nothing but definitions; only those that are needed enter a page. The modules of a page enter
as they are. tests/test_script_modules.py holds every file against this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lessonpress.core import packaged_files

REPLAY = Path(__file__).parents[1] / "replay"
TABLES = ("op", "EXPLAIN", "EXPLAIN_FAMILY", "GIVEN", "STATISTICS")  # objects that modules fill, entry by entry
_IMPORT = re.compile(r"^import (?:\{([^}]*)\} from )?\"([^\"]+)\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const |let )", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*(?:[^*]|\*(?!/))*\*/)\n", re.MULTILINE)
_DEFINITION = re.compile(rf"^(?:(?:const|let) (\w+)|((?:{'|'.join(TABLES)})\.\w+) =)", re.MULTILINE)
_WORD = re.compile(rf"(?:(?<![.\w])|(?<=\.\.\.))(?:(?:{'|'.join(TABLES)})\.\w+|\w+)")


@dataclass(frozen=True)
class Module:
    """One file: the names that it imports from others, and its text without imports, exports and lines of comment."""

    path: Path
    imports: Mapping[Path, tuple[str, ...]]
    text: str

    @property
    def is_library(self) -> bool:
        """Whether it holds nothing but definitions, of which a page takes those that it needs."""
        return self.path.is_relative_to(REPLAY)


def page_module(name: str) -> Path:
    """A module of a page by its name: `live` for templates/script/live.js."""
    return packaged_files.path("templates") / "script" / f"{name}.js"


@cache
def read_module(path: Path) -> Module:
    """Read a module. Raises ValueError for an import of a file that is not there."""
    text = path.read_text(encoding="utf-8")
    imports: dict[Path, tuple[str, ...]] = {}
    for names, address in _IMPORT.findall(text):
        imports[_find_file(path, address)] = tuple(name.strip() for name in names.split(",") if name.strip())
    return Module(path, imports, _COMMENT.sub("", _EXPORT.sub("", _IMPORT.sub("", text))))


def _find_file(importer: Path, address: str) -> Path:
    """The file that an import names."""
    for prefix, folder in (("#page/", page_module("").parent), ("#replay/", REPLAY)):
        if address.startswith(prefix):
            file = folder / address.removeprefix(prefix)
            break
    else:
        file = (importer.parent / address).resolve()
    if not file.is_file():
        raise ValueError(f'{importer}: import from "{address}", and there is no such file')
    return file


@cache
def read_definitions(path: Path) -> dict[str, str]:
    """The definitions of a module by name, in their order: `erf`, or `op.erf` for an entry of the table `op`.

    Raises ValueError for a name that is defined twice.
    """
    text = read_module(path).text
    starts = list(_DEFINITION.finditer(text))
    definitions: dict[str, str] = {}
    ends = [*(start.start() for start in starts[1:]), len(text)]
    for here, end in zip(starts, ends, strict=False):  # a module may define nothing
        name = here[1] or here[2]
        if name in definitions:
            raise ValueError(f"{path}: {name} is defined twice")
        definitions[name] = text[here.start() : end].rstrip()
    return definitions


def order_modules(entries: Iterable[Path]) -> list[Path]:
    """Some modules and all that they import, each after those that it imports, as the language orders them."""
    ordered: dict[Path, None] = {}

    def visit(path: Path) -> None:
        for imported in read_module(path).imports:
            if imported not in ordered:
                visit(imported)
        ordered[path] = None

    for entry in entries:
        visit(entry)
    return list(ordered)


def join_modules(entries: Iterable[Path], *, wanted: Iterable[str] = (), libraries: Iterable[Path] = ()) -> list[str]:
    """The texts that make one script of some modules and all that they import, in an order that works.

    `wanted` names definitions of the files `libraries` (`op.add`) that are needed besides.
    Raises ValueError for a wanted name that no module defines, and for one that a page's module defines which
    `entries` do not reach.
    """
    modules = order_modules([*libraries, *(entries := list(entries))])
    owners = {name: path for path in modules for name in read_definitions(path)}
    entered = [path for path in order_modules(entries) if not read_module(path).is_library]
    imported = (name for path in entered for names in read_module(path).imports.values() for name in names)
    needed = _collect_needed([*wanted, *imported], owners, frozenset(entered))
    return [text for path in modules for text in _kept_texts(path, needed, path in entered)]


def _collect_needed(wanted: list[str], owners: Mapping[str, Path], entered: frozenset[Path]) -> set[str]:
    """The wanted names and what their definitions mention, as far as it stands in libraries."""
    waiting, needed = wanted, set[str]()
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        path = owners.get(name)
        if path is None or not (path in entered or read_module(path).is_library):
            why = f"the page does not import {path.name}" if path else "no module defines it"
            raise ValueError(f"{name} is needed, and {why}")
        waiting += sorted(_mentioned(path, name)) if path not in entered else ()
    return needed


@cache
def _mentioned(path: Path, name: str) -> frozenset[str]:
    """What one definition of a library mentions: names of its own module, imported ones, entries of tables."""
    module, own = read_module(path), read_definitions(path)
    words = set(_WORD.findall(own[name]))
    known = own.keys() | {name for names in module.imports.values() for name in names}
    return frozenset(word for word in words if word in known or "." in word) - {name}


def _kept_texts(path: Path, needed: set[str], entered: bool) -> Iterator[str]:
    """The text of a page's module, or of a library the definitions that are needed."""
    if entered:
        yield read_module(path).text
    elif kept := [text for name, text in read_definitions(path).items() if name in needed]:
        yield "\n".join(kept) + "\n"
