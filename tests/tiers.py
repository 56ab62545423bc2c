"""Which tests run when: `make fast` while one works, `make test` before a push, everything at night.

`pytest --fast` takes the tests that need neither torch nor a browser nor Snakemake nor several seconds, and holds them
to it: importing one of these, or starting one, is an error there. With LESSONPRESS_NIGHTLY=1 a test that otherwise
takes a selection of its cases takes all of them; the nightly workflow sets it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
NIGHTLY = os.environ.get("LESSONPRESS_NIGHTLY", "0") not in ("", "0")
# Folders of tests and marks of tests that `make fast` leaves out.
SLOW_FOLDERS = frozenset({"browser", "hostile", "processors", "replay", "worker", "workflow"})
SLOW_MARKS = frozenset({"browser", "hostile", "workflow", "slow", "benchmark"})
# A module of tests that `make fast` leaves out as a whole: it is not even imported.
SLOW_MODULE = re.compile(rf"^pytestmark = \[?pytest\.mark\.({'|'.join(sorted(SLOW_MARKS))})\b", re.MULTILINE)
# What takes longest begins first, so that no process is left with it alone in the end.
FIRST = ("tests/processors", "tests/workflow", "tests/browser", "tests/hostile", "tests/worker", "tests/replay")
# Files whose tests share nothing that is expensive to make: each may run in another process.
SPREAD = frozenset({"tests/hostile/test_fuzz.py"})
# A test of a lesson's page, by the lesson: whoever has made its revision goes on with it.
PAGE = re.compile(r"tests/browser/test_lessons_in_browser\.py::\w+\[([\w-]+?)(?:-light|-dark|-\d+)?\]")
# What a fast test may neither import nor start.
SLOW_MODULES = frozenset({"torch", "playwright", "snakemake"})
SLOW_PROGRAMS = frozenset({*SLOW_MODULES, "chromium", "chrome", "node"})
STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.exec"})  # events whose second argument is a command line


class NotFastError(BaseException):
    """A fast test reached for something slow. No `except Exception` of the code under test swallows it."""


def some(every: Iterable[T], step: int, name: Callable[[T], str] = str) -> list[Any]:
    """Parameters of a test: all of `every`; each `step`-th is tried with every push, the others at night."""
    return [
        pytest.param(one, id=name(one), marks=pytest.mark.nightly if at % step else ()) for at, one in enumerate(every)
    ]


def amount(few: int, many: int, variable: str = "") -> int:
    """How many examples a test draws: few with every push, many at night, or what an environment variable says."""
    return int(os.environ.get(variable) or (many if NIGHTLY else few))


def unit(nodeid: str) -> str:
    """What a process takes as a whole: a file's tests, those of one lesson's page, or a test that shares nothing."""
    file = nodeid.partition("::")[0]
    if page := PAGE.match(nodeid):
        return f"{file}[{page[1]}]"
    return nodeid if file in SPREAD else file


def rank(nodeid: str) -> int:
    """Where a test stands in the order of a run."""
    return next((at for at, folder in enumerate(FIRST) if nodeid.startswith(f"{folder}/")), len(FIRST))


def refuse_slow(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit what this process does. Raises NotFastError where it imports or starts something slow."""
    if event == "import" and str(arguments[0]).partition(".")[0] in SLOW_MODULES:
        raise NotFastError(f"a fast test imports {arguments[0]}")
    if event in STARTS and (slow := SLOW_PROGRAMS.intersection(map(_name, arguments[1]))):
        raise NotFastError(f"a fast test starts {', '.join(sorted(slow))}")


def _name(word: object) -> str:
    """A program's name without its folder."""
    return Path(os.fsdecode(word)).name if isinstance(word, str | bytes | os.PathLike) else ""


def hold_to_fast() -> None:
    """Refuse what is slow from now on, in this process; there is no way back. Raises NotFastError if it is too late."""
    if loaded := SLOW_MODULES.intersection(sys.modules):
        raise NotFastError(f"{', '.join(sorted(loaded))}: imported before the first test")
    sys.addaudithook(refuse_slow)
