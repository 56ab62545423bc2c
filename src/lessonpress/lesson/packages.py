"""What a lesson imports: everything must be there where a reader has installed requirements.txt and nothing else."""

from __future__ import annotations

import importlib.machinery
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache

from lessonpress.core.errors import LessonError
from lessonpress.lesson import python_ast
from lessonpress.lesson.python_ast import Source

# What torch itself requires, and what else is in its package: a reader who installs it has these.
INSTALLED = ("torch", "numpy", "safetensors")  # what readers install, by requirements.txt
WITH_TORCH = frozenset({
    "filelock", "fsspec", "functorch", "jinja2", "markupsafe", "mpmath", "networkx", "sympy", "torchgen",
    "typing_extensions",
})  # fmt: skip


def find_mistakes(files: Mapping[str, Source]) -> Iterator[LessonError]:
    """Imports of what is neither Python's own, nor a reader's by requirements.txt, nor a file of the lesson.

    `files` are all Python files of a lesson by their names, read or only skimmed. A file of the lesson that is called
    like a package that is installed here would be passed over for it, and is a mistake too.
    """
    there = sys.stdlib_module_names | WITH_TORCH | {*INSTALLED, "__main__"}
    own = {part.removesuffix(".py") for name in files for part in name.split("/")}
    for file in files.values():
        for each in file.imports:
            if each.module in there or (each.optional and each.module not in own):
                continue
            where = f"{file.where}:{each.line}"
            if each.module not in own:
                yield LessonError(where, f"{each.module} is imported",
                                  f"readers have {', '.join(INSTALLED)} and Python's own library",
                                  "Do without it, or put its file into the lesson's folder.")  # fmt: skip
            elif _installed(each.module):
                yield LessonError(where, f"{each.module} is the lesson's own and also a package that is installed here",
                                  "a name of its own, which means the same everywhere",
                                  "Call the file otherwise.")  # fmt: skip


@cache
def _installed(module: str) -> bool:
    """Whether a package of this name lies where packages are installed, and would be taken instead of a file."""
    places = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return importlib.machinery.PathFinder.find_spec(module, places) is not None


def find_lacking(files: Mapping[str, bytes], folder: str) -> list[LessonError]:
    """The same of files' bytes by name, called by `folder` and name; of what is no Python, that it is none."""
    sources, wrong = dict[str, Source](), list[LessonError]()
    for name, data in sorted(files.items()):
        if name.endswith(".py"):
            try:
                sources[name] = python_ast.skim(data, f"{folder}/{name}")
            except LessonError as error:
                wrong.append(error)
    return [*wrong, *find_mistakes(sources)]
