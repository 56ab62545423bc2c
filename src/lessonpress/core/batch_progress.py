"""Says how far a long job is: a bar on a terminal, a plain line now and then elsewhere, and every failure at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

PAUSE = 10.0  # seconds between two plain lines
FEW = 2  # so many lessons need no counting


class BatchProgress:
    """The state of a job of `total` lessons; `doing` is what is done to them."""

    def __init__(self, doing: str, total: int, log: TextIO | None = None, bar: Any = None) -> None:
        self.doing, self.total, self.log, self.bar = doing, total, log, bar
        self.done, self.failed, self.begin = 0, 0, time.monotonic()
        self.said = self.begin
        self.task = bar.add_task(doing, total=total, rate="", failed="") if bar else None

    def advance(self, words: str = "", *, failed: bool = False) -> None:
        """One lesson more is done; `words` are what there is to say about it."""
        self.done, self.failed = self.done + 1, self.failed + failed
        if words:
            self.say(words)
        if self.bar:
            failures = f"[red]{self.failed} failed" if self.failed else ""
            self.bar.update(self.task, completed=self.done, rate=f"{self.rate():.1f}/s", failed=failures)
        elif self.total > FEW and self.done < self.total and time.monotonic() - self.said >= PAUSE:
            self.said = time.monotonic()
            self.say(self.line())

    def rate(self) -> float:
        """Lessons a second."""
        return self.done / max(time.monotonic() - self.begin, 1e-9)

    def line(self) -> str:
        """How far the job is, in words."""
        failures = f", {self.failed} failed" if self.failed else ""
        speed = f"{self.rate():.1f} a second, {(self.total - self.done) / self.rate():.0f} s left"
        return f"{self.doing}: {self.done} of {self.total} lessons{failures}, {speed}"

    def say(self, words: str) -> None:
        """Words to the terminal and the log, above the bar where there is one."""
        if self.bar:
            self.bar.console.print(words, markup=False, highlight=False, soft_wrap=True)
        else:
            print(words, flush=True)
        if self.log:
            print(words, file=self.log, flush=True)

    def end(self) -> None:
        """Say how the whole job went, where there was more than a lesson or two."""
        if self.total > FEW:
            failures = f", {self.failed} failed" if self.failed else ""
            seconds = time.monotonic() - self.begin
            self.say(f"{self.doing}: {self.done} lessons{failures}, {seconds:.1f} s, {self.rate():.1f} a second")


@contextmanager
def track(doing: str, total: int, log: Path | None = None) -> Iterator[BatchProgress]:
    """Show the progress of a job while it lasts; a bar only on a terminal, and only where there is much to do."""
    with ExitStack() as stack:
        file = None
        if log:
            log.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(log.open("w", encoding="utf-8"))
        bar = stack.enter_context(_bar()) if total > FEW and sys.stderr.isatty() else None
        progress = BatchProgress(doing, total, file, bar)
        yield progress
        progress.end()


def _bar() -> Any:
    """A bar of rich's, on standard error as Snakemake's own words; imported only where somebody sees it."""
    from rich import console, progress

    return progress.Progress(
        progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}"), progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[failed]}"), console=console.Console(stderr=True),
    )  # fmt: skip
