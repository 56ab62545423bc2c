"""The code behind each step as one digest, and a lesson's key: the digest of its files and of all that makes it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from lessonpress.core import canonical_json, packaged_files
from lessonpress.core.settings import Config
from lessonpress.lesson import lesson_files

# The steps whose results are artifacts of a lesson, and all those whose code has a digest.
StepName: TypeAlias = Literal["hash", "execute", "record", "check", "render", "rehearse"]
CodeName: TypeAlias = StepName | Literal["publish", "site"]

PACKAGE = Path(__file__).parents[1]
# The modules in which each step begins; its code is what is reached from there by imports.
AROUND = ("build.artifact", "build.lesson_build", "build.steps")  # what a lesson's steps are done with
STEPS: Mapping[CodeName, tuple[str, ...]] = {
    "hash": ("build.source_record", *AROUND), "execute": ("build.execute", *AROUND),
    "record": ("build.record", *AROUND), "check": ("build.check", *AROUND), "render": ("build.render", *AROUND),
    "rehearse": ("build.rehearse", *AROUND), "publish": ("publishing.publish", *AROUND), "site": ("publishing.site",),
}  # fmt: skip
NAMES_ALL = "build.steps"  # it imports every step, so nothing is reached through it
WHOLE = "worker"  # its files name each other without us, and are shipped together
# A module named by an import, wherever it stands, or as one to run; what is imported for its types alone runs nowhere.
_IMPORT = re.compile(rb"^\s*from lessonpress(\.[\w.]+)? import (\([^)]*\)|[^\n(]*)", re.MULTILINE)
_FOR_TYPES = re.compile(rb"^if TYPE_CHECKING:\n(?:[ \t]+[^\n]*\n|\n)+", re.MULTILINE)
_TO_RUN = re.compile(rb"\"lessonpress\.([\w.]+)\"")
# Templates of files that a person goes on to edit: what changes in them changes no page.
STARTERS = ("init", "new")
PAGES, KERNELS = "web.page.rendering", "replay.operations"
# What is installed beside us and shows in a lesson: its numbers, its pages, the versions that it names.
INSTALLED = frozenset({
    "torch", "numpy", "safetensors", "math_core", "fonttools", "brotli", "markdown_it_py", "mdit_py_plugins",
    "pygments", "jinja2",
    "pandas",
})  # fmt: skip
KEY = 16  # hexadecimal digits


def list_modules(step: CodeName) -> frozenset[str]:
    """The modules whose code decides what a step does."""
    return _follow_imports(PACKAGE, step)


def list_files(step: CodeName) -> list[Path]:
    """The files whose content decides what a step does."""
    return sorted(_list_files(PACKAGE, step).values())


def digest_step(step: CodeName) -> str:
    """The SHA-256 of a step's code; the same for an installed lessonpress and one that runs from its sources."""
    return digest_steps()[step]


def digest_steps() -> dict[CodeName, str]:
    """The SHA-256 of every step's code."""
    return _digest_all(PACKAGE)


@functools.cache
def _digest_all(package: Path) -> dict[CodeName, str]:
    out = {}
    for step in STEPS:
        whole = hashlib.sha256()
        for name, path in sorted(_list_files(package, step).items()):
            whole.update(name.encode() + b"\0" + hashlib.sha256(_read(path)).digest())
        out[step] = whole.hexdigest()
    return out


def _list_files(package: Path, step: CodeName) -> dict[str, Path]:
    """The files of a step's modules by their names in the package, with those that no import names.

    The worker enters whole; with the modules of the operations come their scripts, and with those that make pages the
    templates: an installed lessonpress carries them inside the package.
    """
    reached = _follow_imports(package, step)
    paths = {path for module in reached if (path := _find_file(package, module))}
    if any(module.startswith(WHOLE) for module in reached):
        paths |= set((package / WHOLE).rglob("*.py"))
    if any(module.startswith(KERNELS) for module in reached):
        paths |= set((package / "replay").rglob("*.js"))
    named = {path.relative_to(package).as_posix(): path for path in paths}
    if PAGES in reached:
        folder = packaged_files.path("templates")
        inside = ((path.relative_to(folder), path) for path in folder.rglob("*") if path.is_file())
        named |= {f"templates/{name.as_posix()}": path for name, path in inside if name.parts[0] not in STARTERS}
    return named


@functools.cache
def _follow_imports(package: Path, step: CodeName) -> frozenset[str]:
    seen, waiting = set[str](), [*STEPS[step]]
    while waiting:
        module = waiting.pop()
        if module not in seen and (path := _find_file(package, module)):
            seen.add(module)
            waiting += _list_named(package, path) if module != NAMES_ALL else ()
            waiting += _list_families(package) if module == KERNELS else ()
    return frozenset(seen)


def _list_families(package: Path) -> list[str]:
    """The modules with the numpy kernels, which `replay.operations` finds by their folders and no import names."""
    folder = package / KERNELS.replace(".", "/")
    return [f"{KERNELS}.{path.parent.name}.kernels" for path in folder.glob("*/kernels.py")]


@functools.cache
def _find_file(package: Path, module: str) -> Path | None:
    """The file of a module by its name inside the package; None where there is none."""
    stem = package / module.replace(".", "/")
    return next((path for path in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py") if path.is_file()), None)


@functools.cache
def _list_named(package: Path, path: Path) -> tuple[str, ...]:
    """The modules of the package that a file imports or names as one to run, and the packages that they lie in."""
    data, modules = _FOR_TYPES.sub(b"", _read(path)), set[str]()
    for home, names in _IMPORT.findall(data):
        base = home.decode().lstrip(".")
        words = (word.split(b" as ")[0].strip(b" ()\n\t") for word in names.split(b"#")[0].split(b","))
        for word in filter(None, words):
            inner = f"{base}.{word.decode()}".lstrip(".")
            modules.add(inner if _find_file(package, inner) else base)
    modules |= {name.decode() for name in _TO_RUN.findall(data)}
    above = {name.rsplit(".", depth)[0] for name in modules for depth in range(1, name.count(".") + 1)}
    return tuple(name for name in modules | above if name)


@functools.cache
def _read(path: Path) -> bytes:
    return path.read_bytes()


@functools.cache
def list_installed() -> dict[str, str]:
    """The versions of what shows in a lesson, Python's without its patch.

    Read off the names of the folders that every installer writes: `importlib.metadata` reads a file for each, which
    takes as long as all the rest of what is asked while the rules are read.
    """
    versions = {"python": ".".join(map(str, sys.version_info[:2]))}
    for folder in reversed(sys.path):
        with contextlib.suppress(OSError):
            for name in os.listdir(folder or "."):
                project, _, number = name.removesuffix(".dist-info").partition("-")
                if name.endswith(".dist-info") and project.lower() in INSTALLED:
                    versions[project.lower()] = number.partition("+")[0]
    return versions


def describe_environment(config: Config) -> list[object]:
    """What decides, beside a lesson's files and a step's code, whether a run succeeds and what it gives."""
    return [list_installed(), config.limits.model_dump(exclude={"prepare_seconds"}), config.isolation.model_dump()]


def compute_key(config: Config, files: Iterable[lesson_files.Entry]) -> str:
    """The name of a lesson's state: a digest of its files, of every step's code, and of what these run in."""
    steps = {step: value for step, value in digest_steps().items() if step != "site"}
    return canonical_json.digest_of([lesson_files.digest(files), steps, describe_environment(config)])[:KEY]


def compute_present_key(config: Config, slug: str) -> str:
    """The key of a lesson as its files are now."""
    return compute_key(config, lesson_files.entries(config.lesson(slug)))
