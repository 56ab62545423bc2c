"""Serves a folder of pages to this machine alone: right types, no listings, nothing outside the folder."""

from __future__ import annotations

import contextlib
import errno
import re
import socketserver
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

from lessonpress.core.errors import LessonError, WrongUsage
from lessonpress.revision import packed

HOST = "127.0.0.1"
NAMES = frozenset({HOST, "localhost", "[::1]"})  # the names that a browser on this machine may use
PORT = re.compile(r":\d*$")
TEXT = "text/plain; charset=utf-8"
# Fixed here, because the system's own table differs from machine to machine.
TYPES = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".json": "application/json", ".svg": "image/svg+xml", ".xml": "application/xml", ".csv": "text/csv; charset=utf-8",
    ".zip": "application/zip", ".npy": "application/octet-stream", ".safetensors": "application/octet-stream",
    **dict.fromkeys(["", ".py", ".txt", ".md", ".yaml", ".yml", ".cff"], TEXT),
}  # fmt: skip
REVISION = re.compile(r"(models/[a-z0-9-]+/[0-9a-f]{16})(?:/(.*))?")  # of a site: it may be packed


class Handler(SimpleHTTPRequestHandler):
    """Answers GET and HEAD from one folder; a folder is its index.html, and nothing is listed."""

    extensions_map = TYPES

    def translate_path(self, path: str) -> str:
        """The file of an address; an address that leads out of the folder, also by a link, has none."""
        file = Path(super().translate_path(path))
        inside = file.resolve().is_relative_to(Path(self.directory).resolve())
        if not inside:
            return str(Path(self.directory) / "\0")
        if match := REVISION.match(file.relative_to(self.directory).as_posix()):
            place = Path(self.directory) / match[1]
            with contextlib.suppress(LessonError):
                unpacked = packed.open_revision(place)
                return str(unpacked / (match[2] or "")) if unpacked != place else super().translate_path(path)
        return super().translate_path(path)

    def parse_request(self) -> bool:
        """Refuse a request for another machine's name: a page elsewhere may have had its name point here."""
        if not super().parse_request():
            return False
        if PORT.sub("", self.headers.get("Host", HOST)).lower() in NAMES:
            return True
        self.send_error(HTTPStatus.FORBIDDEN)
        return False

    def send_head(self) -> Any:
        """Open what is asked for; an address that no file can have is not there."""
        try:
            return super().send_head()
        except ValueError:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None

    def guess_type(self, path: Any) -> str:
        """The type of a file by its ending; bytes where the ending is not known."""
        return TYPES.get(Path(str(path)).suffix.lower(), "application/octet-stream")

    def list_directory(self, path: Any) -> None:
        """Refuse to list a folder."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is not there with the site's own page for it, where it has one."""
        page = Path(self.directory) / "404.html"
        if code == HTTPStatus.NOT_FOUND and page.is_file():
            self.send_body(page.read_bytes(), TYPES[".html"], HTTPStatus.NOT_FOUND)
        else:
            super().send_error(code, message, explain)

    def send_body(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        """Send one whole body."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def end_headers(self) -> None:
        """Send the headers that every answer has: a page is never older than its file."""
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def handle(self) -> None:
        """Answer a connection; that a browser closes it in the middle is not an error."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: requests are no news."""


class Server(socketserver.ThreadingMixIn, HTTPServer):
    """A server on this machine's own address."""

    daemon_threads = True

    def server_bind(self) -> None:
        """Take the port, without asking the network for this machine's name as HTTPServer does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, int(self.server_address[1])

    def address(self) -> str:
        """Where the server is."""
        return f"http://{HOST}:{self.server_port}/"


def open_server(handler: Any, port: int) -> Server:
    """A server on a port of this machine (0 takes a free one). Raises WrongUsage when the port cannot be had."""
    try:
        return Server((HOST, port), handler)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        seen = "another program uses this port" if taken else f"the system refuses: {error.strerror}"
        fix = f"Type --port {port + 1 if taken else 8000}, or --port 0 for any free one."
        raise WrongUsage(f"{HOST}:{port}", seen, "", fix) from None


def open_site(results: Path, port: int) -> Server:
    """A server for the published site. Raises LessonError where nothing is published."""
    if not (results / "index.html").is_file():
        raise LessonError(str(results), "nothing is published here", "a folder with index.html",
                          "Publish first: snakemake --cores 1.")  # fmt: skip
    return open_server(partial(Handler, directory=str(results)), port)


def serve_forever(server: Server, begin: Callable[[], None]) -> None:
    """Say where the server is, then answer until Ctrl-C, which is no error."""
    with server, contextlib.suppress(KeyboardInterrupt):
        begin()
        server.serve_forever()
