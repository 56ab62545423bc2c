"""`python -m tests.browser.previewing`: previews for many tests from one process, which keeps the workers' servers.

A process of its own, because whoever runs a worker takes every new child for the worker's: a browser would be one. Each
line of its input is a lesson's folder and where the revision is to be put, as JSON; each line that it answers says what
went wrong, and is empty where nothing did.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

from lessonpress import sandbox
from lessonpress.authoring import preview
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config

PROJECT = Path(__file__).resolve().parents[2]


@cache
def _start() -> subprocess.Popen[str]:
    """The process of this one; it ends when its input does, with this process at the latest."""
    command = [sys.executable, "-m", "tests.browser.previewing"]
    return subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def make(lesson: Path, out: Path) -> None:
    """Put the complete revision of a lesson into a folder. Raises AssertionError where it cannot be made."""
    process = _start()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([str(lesson), str(out)]) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    assert answer, "the process that makes previews has ended"
    assert not json.loads(answer), json.loads(answer)


def main() -> None:
    """Make previews for as long as somebody asks."""
    answers, sys.stdout = sys.stdout, sys.stderr
    with sandbox.keep_servers():
        for line in sys.stdin:
            lesson, out = map(Path, json.loads(line))
            try:
                preview.make_preview(Config(), lesson, out)
                wrong = ""
            except LessonError as error:
                wrong = error.message()
            print(json.dumps(wrong), file=answers, flush=True)


if __name__ == "__main__":
    main()
