"""Snakemake and our commands as processes that start in no time, because what they import is there: for tests of many.

Each is a process of its own, in a session of its own, forked from one that has imported everything.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload([
    "snakemake.cli", "snakemake.api", "lessonpress.cli.snakemake_session", "lessonpress.cli.commands",
    "lessonpress.cli.main", "lessonpress.build.steps", "lessonpress.publishing.publish", "lessonpress.publishing.site",
    "lessonpress.publishing.verify",
    # What Snakemake imports on its way, whatever it is asked for.
    "snakemake.report.html_reporter", "snakemake.assets", "snakemake.storage", "smart_open", "yte", "mimetypes",
])  # fmt: skip
PATIENCE = 300.0


class Running:
    """A command that was started; `said` is the file of what it printed, unless errors have one of their own."""

    def __init__(
        self, folder: Path, words: list[str], around: Mapping[str, str], said: Path, errors: Path | None = None
    ) -> None:
        self.said = said
        files = (str(said), str(errors or said))
        self._process = _FORKED.Process(target=_be, args=(str(folder), words, dict(around), files))
        self._process.start()
        assert self._process.pid
        self.pid = self._process.pid

    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.is_alive()

    def kill(self, number: int, *, group: bool) -> None:
        """Send a signal, to it alone or to its whole group."""
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.pid, number)

    def wait(self) -> int:
        """Wait for its end; answers its exit code. Raises AssertionError where it does not come."""
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self.kill(signal.SIGKILL, group=True)
            raise AssertionError(f"it does not end; it said:\n{self.said.read_text(errors='replace')}")
        assert self._process.exitcode is not None
        return self._process.exitcode

    def words(self) -> str:
        """All that it printed."""
        return self.said.read_text(encoding="utf-8", errors="replace")


def run(folder: Path, words: list[str], around: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. Raises AssertionError where it does not come."""
    with tempfile.TemporaryDirectory(prefix="said-") as scratch:
        out, errors = Path(scratch, "out"), Path(scratch, "errors")
        code = Running(folder, words, around, out, errors).wait()
        printed = (path.read_text(encoding="utf-8") for path in (out, errors))
        return subprocess.CompletedProcess(words, code, *printed)


def _be(folder: str, words: list[str], around: dict[str, str], files: tuple[str, str]) -> None:
    """Become a command: in its folder, with its environment and its words, and with its output in files."""
    os.setsid()
    os.environ.clear()
    os.environ.update(around)
    time.tzset()
    os.chdir(folder)
    null = os.open(os.devnull, os.O_RDONLY)
    out, errors = (os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666) for name in files)
    for number, source in ((0, null), (1, out), (2, errors)):
        os.dup2(source, number)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    module, *arguments = words
    sys.argv = [module, *arguments]
    if module == "snakemake":
        from snakemake.cli import main

        main(arguments)
    else:
        from lessonpress.cli import command_line

        command_line.main(arguments)
