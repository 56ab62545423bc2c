"""The live preview: makes a lesson's page again whenever a file is saved, and reloads the open page.

All is made in this process, which keeps what a first preview has to load: the workers' servers with torch, the
libraries, and what the steps left, so that of a change only what follows from it is done again.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lessonpress import sandbox
from lessonpress.authoring import preview
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import lesson_files
from lessonpress.web import dev_server
from lessonpress.web.dev_server import TYPES
from lessonpress.web.page import rendering, site_pages

EVENTS = "/.lessonpress/events"
PAUSE, SETTLED = 0.05, 0.03  # seconds between looks at the files, and for which a save must have ended
KEEP_ALIVE = 15.0  # the longest silence towards the page
SCRIPT = "watch.js"
Files = Mapping[str, tuple[int, int]]  # time and size by name


@dataclass
class Live:
    """What the open page must know: which page is the newest, and what is wrong now."""

    folder: Path
    message: str = ""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def name_build(self) -> str:
        """A name of the page that is there now; empty while there is no page."""
        try:
            status = (self.folder / "index.html").stat()
        except FileNotFoundError:
            return ""
        return f"{status.st_ino}-{status.st_mtime_ns}"

    def announce(self, message: str) -> None:
        """Let the open page look again."""
        with self.changed:
            self.message = message
            self.changed.notify_all()

    def describe(self) -> str:
        """What is sent to the page, as JSON."""
        return json.dumps({"build": self.name_build(), "message": self.message})


class Handler(dev_server.Handler):
    """Serves a preview whose page follows what is saved; what lies on disk stays as it is."""

    def __init__(self, *args: Any, live: Live, **options: Any) -> None:
        self.live = live
        super().__init__(*args, directory=str(live.folder), **options)

    def do_GET(self) -> None:
        """Answer the page, the events, or a file beside the page."""
        path = self.path.partition("?")[0]
        if path == EVENTS:
            self.follow()
        elif path in ("/", "/index.html"):
            self.send_body(make_page(self.live).encode(), TYPES[".html"])
        else:
            super().do_GET()

    def follow(self) -> None:
        """Send what the page must know, now and whenever it changes, until the browser closes the connection."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        last = ""
        while True:
            with self.live.changed:
                if (now := self.live.describe()) == last:
                    self.live.changed.wait(KEEP_ALIVE)
                    now = self.live.describe()
            self.wfile.write(f"data: {now}\n\n".encode())
            last = now


def make_page(live: Live) -> str:
    """The page as it is served: the preview's own, or one that says what is missing, with the script that follows."""
    build = live.name_build()
    page = live.folder / "index.html"
    return add_script(page.read_text(encoding="utf-8") if build else site_pages.render_waiting(live.message), build)


def add_script(text: str, build: str) -> str:
    """A page with the script that follows, and a policy that admits this script and its one connection."""
    script = (rendering.templates_folder() / SCRIPT).read_text(encoding="utf-8")
    admitted = f"'{rendering.hash_source(script)}'"
    text = re.sub(r"script-src (?:'none')?", f"connect-src 'self'; script-src {admitted} ", text, count=1)
    before, end, after = text.rpartition("</body>")
    return f'{before}<script data-build="{build}">{script}</script>\n{end}{after}'


@dataclass(frozen=True)
class Maker:
    """Makes one lesson's preview, again and again; `read_settings` gives what config.yaml says now."""

    folder: Path
    live: Live
    work_dir: Path
    read_settings: Callable[[], Config]

    def make(self) -> tuple[str, list[str]]:
        """Make the preview, and let the open page know as soon as it is there.

        Returns what is wrong (nothing when all is well), and hints.
        """
        try:
            made = preview.build_preview(self.read_settings(), self.folder, self.live.folder, self.work_dir,
                                         lambda: self.live.announce(""))  # fmt: skip
        except LessonError as error:
            return error.message(), []
        except OSError as error:
            return f"{error.filename or self.folder}: {error.strerror or error}", []
        except Exception as error:  # a mistake of ours must not end what somebody works with
            return f"lessonpress itself failed: {type(error).__name__}: {error}", traceback.format_exc().splitlines()
        hints = [line for line in made.words.splitlines() if line]
        lacking = [f"not yet publishable: {fault.message()}" for fault in made.lacking]
        return made.failed.message() if made.failed else "", [*hints, *lacking]


def watch_folder(maker: Maker, server: dev_server.Server, say: Callable[[str], None]) -> None:
    """Serve a lesson's preview and make it again after every save; never returns."""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with server, sandbox.keep_servers():
        before: Files = {}
        while True:
            now = wait_until_settled(maker.folder)
            if now != before:
                before = now
                started = time.monotonic()
                message, hints = maker.make()
                maker.live.announce(message)
                say("\n".join([*hints, message or f"made in {time.monotonic() - started:.1f} s"]))
            time.sleep(PAUSE)


def wait_until_settled(folder: Path) -> Files:
    """The lesson's files with their times and sizes, once two looks in a row agree: an editor may write in steps."""
    now = list_files(folder)
    while True:
        time.sleep(SETTLED)
        again = list_files(folder)
        if again == now:
            return now
        now = again


def list_files(folder: Path) -> Files:
    """Every file that the lesson is made of, with its time and size."""
    files = {}
    for path in lesson_files.paths(folder):
        with contextlib.suppress(FileNotFoundError):
            status = (folder / path).stat()
            files[path] = (status.st_mtime_ns, status.st_size)
    return files


def run_preview(
    folder: Path, out: Path | None, port: int, read_settings: Callable[[], Config], say: Callable[[str], None]
) -> None:
    """Open the live preview of a lesson's folder until Ctrl-C; it lies in `out`, or in a folder removed afterwards.

    Raises WrongUsage when the port cannot be had.
    """
    with contextlib.suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="lessonpress-") as scratch:
        live = Live(out.resolve() if out else Path(scratch) / "preview")
        server = dev_server.open_server(partial(Handler, live=live), port)
        say(f"{server.address()}  follows what you save; Ctrl-C ends it")
        watch_folder(Maker(folder, live, Path(scratch) / "work", read_settings), server, say)
