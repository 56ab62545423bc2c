"""The code behind each step as one digest, and a lesson's key: the digest of its files and of all that makes it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from lessonpress import canon, lesson_files, shipped
from lessonpress.settings import Config

PACKAGE = Path(__file__).parent
# The rooms (modules, folders of modules) in which each step begins; its code is what is reached from there by imports.
AROUND = ("artifact", "lesson_build", "steps")  # what a lesson's steps are done with
STEPS = {
    "hash": ("hashing", *AROUND), "execute": ("execute", *AROUND), "record": ("record", *AROUND),
    "check": ("check", *AROUND), "render": ("render", *AROUND), "publish": ("publish", *AROUND), "site": ("site",),
}  # fmt: skip
NAMES_ALL = "steps"  # it imports every step, so nothing is reached through it
# A room named by an import, wherever it stands, or as a module to run.
_NAMED = re.compile(rb"lessonpress(?: import (\([^)]*\)|.*)|\.(\w+))")
_WORD = re.compile(rb"\w+")
# Templates of files that a person goes on to edit: what changes in them changes no page.
STARTERS = ("init", "new")
# What is installed beside us and shows in a lesson: its numbers, its pages, the versions that it names.
INSTALLED = frozenset({
    "torch", "numpy", "safetensors", "latex2mathml", "markdown_it_py", "pygments", "jinja2", "pandas",
})  # fmt: skip
KEY = 16  # hexadecimal digits


def rooms(step: str) -> frozenset[str]:
    """The rooms whose code decides what a step does."""
    return _reached(PACKAGE, step)


def files(step: str) -> list[Path]:
    """The files whose content decides what a step does."""
    return sorted(path for room in rooms(step) for path in _files(PACKAGE, room).values())


def digest(step: str) -> str:
    """The SHA-256 of a step's code; the same for an installed lessonpress and one that runs from its sources."""
    return digests()[step]


def digests() -> dict[str, str]:
    """The SHA-256 of every step's code."""
    return _digests(PACKAGE)


@functools.cache
def _digests(package: Path) -> dict[str, str]:
    out = {}
    for step in STEPS:
        named = {name: path for room in _reached(package, step) for name, path in _files(package, room).items()}
        whole = hashlib.sha256()
        for name, path in sorted(named.items()):
            whole.update(name.encode() + b"\0" + _read(path)[0])
        out[step] = whole.hexdigest()
    return out


@functools.cache
def _reached(package: Path, step: str) -> frozenset[str]:
    seen, waiting = set[str](), [*STEPS[step]]
    while waiting:
        room = waiting.pop()
        if room not in seen and (found := _files(package, room)):
            seen.add(room)
            waiting += [name for path in found.values() for name in _read(path)[1] if room != NAMES_ALL]
    return frozenset(seen)


@functools.cache
def _files(package: Path, room: str) -> dict[str, Path]:
    """The files of a room by their names in the package; none where nothing is called so.

    The room that makes pages has the templates too: an installed lessonpress carries them inside the package.
    """
    if not (package / room).is_dir():
        file = f"{room}.py"
        return {file: package / file} if (package / file).is_file() else {}
    found = [path for path in (package / room).rglob("*") if path.suffix in (".py", ".js")]
    named = {path.relative_to(package).as_posix(): path for path in found}
    if room == "page":
        folder = shipped.path("templates")
        inside = ((path.relative_to(folder), path) for path in folder.rglob("*") if path.is_file())
        named |= {f"templates/{name.as_posix()}": path for name, path in inside if name.parts[0] not in STARTERS}
    return named


@functools.cache
def _read(path: Path) -> tuple[bytes, frozenset[str]]:
    """The SHA-256 of a file, and what it names of the package."""
    data = path.read_bytes()
    words = [word for names, room in _NAMED.findall(data) for word in (*_WORD.findall(names), room) if word]
    return hashlib.sha256(data).digest(), frozenset(map(bytes.decode, words if path.suffix == ".py" else ()))


@functools.cache
def installed() -> dict[str, str]:
    """The versions of what shows in a lesson, Python's without its patch.

    Read off the names of the folders that every installer writes: `importlib.metadata` reads a file for each, which
    takes as long as all the rest of what is asked while the rules are read.
    """
    found = {"python": ".".join(map(str, sys.version_info[:2]))}
    for folder in reversed(sys.path):
        with contextlib.suppress(OSError):
            for name in os.listdir(folder or "."):
                project, _, number = name.removesuffix(".dist-info").partition("-")
                if name.endswith(".dist-info") and project.lower() in INSTALLED:
                    found[project.lower()] = number.partition("+")[0]
    return found


def surroundings(config: Config) -> list[object]:
    """What decides, beside a lesson's files and a step's code, whether a run succeeds and what it gives."""
    return [installed(), config.limits.model_dump(exclude={"prepare_seconds"}), config.isolation.model_dump()]


def key(config: Config, files: Iterable[lesson_files.Entry]) -> str:
    """The name of a lesson's state: a digest of its files, of every step's code, and of what these run in."""
    steps = {step: value for step, value in digests().items() if step != "site"}
    return canon.digest_of([lesson_files.digest(files), steps, surroundings(config)])[:KEY]


def present_key(config: Config, slug: str) -> str:
    """The key of a lesson as its files are now."""
    return key(config, lesson_files.entries(config.lesson(slug)))
