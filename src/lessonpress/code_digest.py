"""The code behind each step as one digest, and a lesson's key: the digest of its files and of all that makes it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from lessonpress import canon, lesson_files, shipped
from lessonpress.settings import Config

PACKAGE = Path(__file__).parent
LESSON = ("canon", "documents", "errors", "lesson", "lesson_files", "places", "recipe", "settings", "wording")
STEPS = ("artifact", "code_digest", "lesson_build", "shipped", "steps")
CONFINED = ("canon", "capture", "failures", "supervise/*", "worker/*")
RENDERED = (
    *LESSON, "bundle", "code_digest", "config", "graph", "identity", "layout/*", "manifest", "operations/*", "page/*",
    "picture", "plan", "prepared", "prose", "provenance", "render", "replay", "schema", "shipped", "weights",
    "worker/*", "templates/*",
)  # fmt: skip
# Templates of files that a person goes on to edit: what changes in them changes no page.
STARTERS = ("init", "new")
# The modules that each step runs, directly or not; a test holds this against the imports.
MODULES: Mapping[str, tuple[str, ...]] = {
    "hash": (*LESSON, "hashing", "plan", "prepared", "specs", "weights"),
    "execute": (*LESSON, *CONFINED, "execute"),
    "record": (*LESSON, *CONFINED, "axes", "judging", "record"),
    "check": (*LESSON, *CONFINED, "judging", "check"),
    "render": RENDERED,
    # Where only numbers differ, publish records and renders once more.
    "publish": (*RENDERED, *STEPS, "axes", "capture", "changes", "comparison", "failures", "history", "integrity",
                "judging", "lock", "packages", "publish", "published", "record", "standing", "supervise/*", "syntax"),
    "site": (*LESSON, *STEPS, "bundle", "config", "history", "identity", "integrity", "layout/*", "lock",
             "operations/*", "page/*", "prose", "replay", "site", "worker/*", "templates/*"),
}  # fmt: skip
# What is installed beside us and shows in a lesson: its numbers, its pages, the versions that it names.
INSTALLED = frozenset({
    "torch", "numpy", "safetensors", "latex2mathml", "markdown_it_py", "pygments", "jinja2", "pandas",
})  # fmt: skip
KEY = 16  # hexadecimal digits


def files(step: str) -> list[Path]:
    """The files whose content decides what a step does."""
    out: list[Path] = []
    for module in dict.fromkeys(MODULES[step]):
        if module == "templates/*":
            out += _templates()
        elif module.endswith("/*"):
            out += [path for path in (PACKAGE / module[:-2]).rglob("*") if path.suffix in (".py", ".js")]
        else:
            out.append(PACKAGE / f"{module}.py")
    return sorted(out)


def _templates() -> list[Path]:
    folder = shipped.path("templates")
    return [path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder).parts[0] not in STARTERS]


def digest(step: str) -> str:
    """The SHA-256 of a step's code; the same for an installed lessonpress and one that runs from its sources."""
    return digests()[step]


def digests() -> dict[str, str]:
    """The SHA-256 of every step's code."""
    return _digests(PACKAGE)


@functools.cache
def _digests(package: Path) -> dict[str, str]:
    known: dict[Path, bytes] = {}
    out = {}
    for step in MODULES:
        whole, named = hashlib.sha256(), {_name(path): path for path in files(step)}
        for name, path in sorted(named.items()):
            if path not in known:
                known[path] = hashlib.sha256(path.read_bytes()).digest()
            whole.update(name.encode() + b"\0" + known[path])
        out[step] = whole.hexdigest()
    return out


def _name(path: Path) -> str:
    """A file's name inside the package, in which an installed lessonpress carries its templates."""
    templates = shipped.path("templates")
    inside = Path("templates") / path.relative_to(templates) if templates in path.parents else path.relative_to(PACKAGE)
    return inside.as_posix()


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
