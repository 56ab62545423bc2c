"""The line that says how far a training is, from what the worker tells meanwhile."""

from __future__ import annotations

import shutil
import sys
import time

from pydantic import ValidationError

from lessonpress.lesson.trained_weights import Kept
from lessonpress.sandbox import capture
from lessonpress.worker.prepare import shown

PAUSE = 5.0  # seconds between two lines where no terminal rewrites them


class Line:
    """The line that says how far a training is: rewritten on a terminal, elsewhere a new one every few seconds."""

    def __init__(self, slug: str) -> None:
        self.slug, self.stream = slug, sys.stderr  # the answers of verbs go to standard output
        self.alive, self.begun = self.stream.isatty(), time.monotonic()
        self.spoke = self.begun

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        if self.alive:
            print("\r\x1b[K", end="", file=self.stream, flush=True)

    def hear(self, line: bytes) -> None:
        """Show a line of the worker's, if it is one of progress."""
        now = time.monotonic()
        if not line.startswith(b'{"progress"') or not (self.alive or now - self.spoke >= PAUSE):
            return
        try:
            told = Kept.model_validate({"name": "progress", "figures": capture.loads(line)["progress"]})
        except (capture.Malformed, ValidationError, KeyError, TypeError):
            return  # what is not the worker's is refused when the process has ended
        words = f"{self.slug}: {shown(told.figures)}, {now - self.begun:.0f} s"
        self.spoke = now
        if self.alive:
            width = shutil.get_terminal_size().columns
            print(f"\r\x1b[K{words[: width - 1]}", end="", file=self.stream, flush=True)
        else:
            print(words, file=self.stream, flush=True)
