"""The line that says how far a training has come, from what the worker reports meanwhile."""

from __future__ import annotations

import shutil
import sys
import time

from pydantic import ValidationError

from lessonpress.lesson.trained_weights import Kept
from lessonpress.sandbox import capture
from lessonpress.worker.prepare import format_figures

PAUSE = 5.0  # seconds between two lines where no terminal rewrites them


class ProgressLine:
    """How far a training has come: one line that is rewritten on a terminal, elsewhere one every few seconds."""

    def __init__(self, slug: str) -> None:
        self.slug, self.stream = slug, sys.stderr  # standard output is for the command's result
        self.rewrites, self.begun = self.stream.isatty(), time.monotonic()
        self.last = self.begun  # when a line was shown last

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self.rewrites:
            print("\r\x1b[K", end="", file=self.stream, flush=True)

    def show(self, line: bytes) -> None:
        """Show what the worker wrote, if it is a line about its progress."""
        now = time.monotonic()
        if not line.startswith(b'{"progress"') or not (self.rewrites or now - self.last >= PAUSE):
            return
        try:
            progress = Kept.model_validate({"name": "progress", "figures": capture.loads(line)["progress"]})
        except (capture.Malformed, ValidationError, KeyError, TypeError):
            return  # a forged line is refused when the process has ended
        words = f"{self.slug}: {format_figures(progress.figures)}, {now - self.begun:.0f} s"
        self.last = now
        if self.rewrites:
            width = shutil.get_terminal_size().columns
            print(f"\r\x1b[K{words[: width - 1]}", end="", file=self.stream, flush=True)
        else:
            print(words, file=self.stream, flush=True)
