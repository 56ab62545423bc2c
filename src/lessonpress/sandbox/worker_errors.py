"""What went wrong in a confined process, as a LessonError that names file, line and code."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lessonpress.core.errors import LessonError, RetryableError
from lessonpress.sandbox import WorkerResult, paths
from lessonpress.sandbox.capture import Untrusted
from lessonpress.sandbox.result import state_limit

DOING = {"import": "importing the file", "build": "building the model", "parameters": "setting the parameters",
         "inputs": "making the inputs", "call": "calling the model", "class": "looking for the class",
         "gradients": "taking gradients",
         "check": "running", "prepare": "preparing the weights", "weights": "reading the prepared weights"}  # fmt: skip
# How each limit that the kernel holds shows in an exception: a type, or words of its message.
LIMITS: Mapping[str, tuple[str, ...]] = {
    "memory_mib": ("MemoryError", "can't allocate memory", "not enough memory", "cannot allocate memory",
                   "Cannot allocate memory", "std::bad_alloc", "failed to map segment"),
    "open_files": ("[Errno 24]", "Too many open files"), "file_mib": ("[Errno 27]", "File too large"),
    "threads": ("can't start new thread",),
}  # fmt: skip
IMPORTING = ("ModuleNotFoundError", "ImportError")
MISSING = re.compile(r"No module named '([A-Za-z_]\w*)")
# Where bubblewrap runs, what a lesson must not read is not there.
DENIED = ("PermissionError", "FileNotFoundError", "gaierror")
DENIALS = ("[Errno 1]", "[Errno 13]", "[Errno 30]", "[Errno 38]", "Operation not permitted", "Permission denied")
RUNS = "a broken variant runs to its end, so that the checks can fail on its numbers (lesson.yaml: mutants)"
MAY = ("a lesson may read its own folder and the Python installation; it may not read other files, write, use the "
       "network, or start or signal processes")  # fmt: skip


def lesson_error(error: Untrusted, folder: Path, what: str, ended: WorkerResult, at: str = "") -> LessonError:
    """An exception that the lesson's code raised; `what` is the class or file that was being run.

    `at` is the place to name when none of the lesson's own lines took part: a recipe's line, say.
    """
    foreign = find_foreign_package(clean_text(error.get("type")), clean_text(error.get("message")))
    if foreign:
        return foreign
    place = error.get("place")
    where = at or os.path.relpath(folder)
    if isinstance(place, dict):
        where = f"{os.path.relpath(folder)}/{clean_text(place.get('file'))}:{clean_text(place.get('line'))}"
    stage, kind, message = (clean_text(error.get(key)) for key in ("stage", "type", "message"))
    mutant = f" in the broken variant {clean_text(error.get('mutant'))}" if error.get("mutant") else ""
    if kind == "Refused":
        fix = f"Run `lessonpress prepare {folder.name}`." if stage == "weights" and not mutant else ""
        fix = (fix + format_printed(ended)).strip()
        return LessonError(where, f"{message}{mutant}", clean_text(error.get("expected")), fix)
    run = f" (run {clean_text(error.get('run'))})" if error.get("run") and error.get("run") != "execution" else ""
    subject = clean_text(error.get("run")) if stage == "check" else f"of {what}"
    seen = f"{DOING.get(stage, stage)} {subject}{mutant}{'' if stage == 'check' else run}: {kind}: {message}"
    if clean_text(error.get("context")):
        seen += f"; {clean_text(error.get('context'))}"
    if error.get("code"):
        seen += f"; the line reads `{clean_text(error.get('code'))}`"
    limits = ended.confinement.limits
    because = _because(kind, message, limits) or clean_text(error.get("expected")) or (RUNS if mutant else "")
    made = RetryableError if _held(kind, message, limits) else LessonError  # a limit is no mistake of the lesson's
    return made(where, seen, because, format_printed(ended))


def find_foreign_package(kind: str, message: str) -> RetryableError | None:
    """The error of an environment whose packages the worker cannot read, where an import failed for that reason.

    Such a package is found by this process, but lies outside of this Python's own folders: in another environment that
    PYTHONPATH or a .pth file leads to. No line of a lesson is to blame for that.
    """
    match = MISSING.search(message) if kind in IMPORTING else None
    name = match[1] if match else ""
    place = _locate_package(name) if name else message.rpartition(": ")[2].strip("'\"") if kind in DENIED else ""
    if not place or ("site-packages" not in place and not name):
        return None
    path = Path(os.path.realpath(place))
    if any(path.is_relative_to(os.path.realpath(folder)) for folder in paths.readable()):
        return None
    what = f"the package {name}" if name else "a package"
    return RetryableError(place, f"the worker cannot read {what}, which lies in another environment",
                          f"packages in the environment that runs lessonpress ({sys.prefix})",
                          f"Install it there: {sys.executable} -m pip install {name or '…'}. (The lesson itself may be "
                          "right.)")  # fmt: skip


def _locate_package(name: str) -> str:
    """Where this process would import a package from; empty where it has none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return ""
    if spec is None or spec.origin in (None, "built-in", "frozen"):
        return next(iter(spec.submodule_search_locations or []), "") if spec else ""
    return str(spec.origin)


def _because(kind: str, message: str, limits: Mapping[str, int]) -> str:
    """What in the worker's confinement made an exception arise, in words; empty when nothing did."""
    if kind in DENIED or any(mark in message for mark in DENIALS):
        return MAY
    return _held(kind, message, limits)


def _held(kind: str, message: str, limits: Mapping[str, int]) -> str:
    """The limit by which the kernel made an exception arise, in words; empty when none did."""
    for limit, marks in LIMITS.items():
        if kind in marks or any(mark in message for mark in marks):
            return f"the {state_limit(limit, limits)} (config.yaml: limits.{limit})"
    return ""


def process_error(folder: Path, what: str, ended: WorkerResult) -> RetryableError:
    """A process that ended without an answer, or with one that cannot be read.

    Whether the lesson did that or somebody killed it, nobody can tell: it is tried again.
    """
    # Before its first line no lesson code has run: what was printed then is the interpreter's own.
    last = next((line for line in reversed(ended.printed.splitlines()) if line.strip()), "")
    kind, _, message = last.partition(": ")
    if not ended.lines and (foreign := find_foreign_package(kind, message)):
        return foreign
    early = "" if ended.limit or ended.lines else _held("", ended.printed, ended.confinement.limits)
    fix = "Raise it in config.yaml under limits, or make the lesson smaller." if ended.limit or early else ""
    seen = f"running {what}: {ended.reason()}"
    return RetryableError(os.path.relpath(folder), seen, early, (fix + format_printed(ended)).strip())


def format_printed(ended: WorkerResult) -> str:
    """The last lines that a lesson printed, bounded, control characters shown as `?`."""
    lines = [line for line in ended.printed.splitlines() if line.strip()][-5:]
    shown = ["".join(c if c.isprintable() else "?" for c in line[:200]) for line in lines]
    return "".join(f"\n  it printed: {line}" for line in shown)


def clean_text(value: Any) -> str:
    """A bounded text without what could steer a terminal: control characters and changes of direction become `?`."""
    return "" if value is None else "".join(c if c.isprintable() or c == "\n" else "?" for c in str(value)[:4000])
