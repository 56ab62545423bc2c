"""The site on this machine: right types, nothing listed, nothing from outside, a taken port explained in words."""

from __future__ import annotations

import errno
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from lessonpress.core.errors import LessonError
from lessonpress.web import dev_server


@pytest.fixture
def site(tmp_path: Path) -> Iterator[dev_server.Server]:
    """A small site that is served, with a secret beside it."""
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "results"
    (folder / "models").mkdir(parents=True)
    (folder / "bare").mkdir()
    files = {"index.html": "front", "404.html": "lost", "models/index.html": "models", "a.json": "{}",
             "a.svg": "<svg/>", "run.py": "print()", "SHA256SUMS": "x", "cases.csv": "a", "bundle.zip": "z",
             "w.safetensors": "w", "odd.xyz": "o", "feed.xml": "<feed/>", "lesson.yaml": "schema: 1"}  # fmt: skip
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "way-out").symlink_to(tmp_path)
    (folder / "leak.txt").symlink_to(tmp_path / "secret.txt")
    server = dev_server.open_site(folder, 0)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def request(server: dev_server.Server, path: str, method: str = "GET") -> tuple[int, dict[str, str], str]:
    """What the server answers to a path that is sent as it is: status, headers, text."""
    line = HTTPConnection(dev_server.HOST, server.server_port, timeout=5)
    line.request(method, path)
    answer = line.getresponse()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    response = answer.status, headers, answer.read().decode()
    line.close()
    return response


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200), ("127.0.0.1:8000", 200), ("localhost", 200), ("LOCALHOST:80", 200), ("[::1]:8000", 200),
        (None, 200), ("evil.example", 403), ("evil.example:8000", 403), ("localhost.evil.example", 403), ("", 403),
    ],
)  # fmt: skip
def test_only_who_calls_this_machine_by_its_name_is_answered(
    site: dev_server.Server, host: str | None, status: int
) -> None:
    """A page elsewhere whose name was made to point here reads nothing."""
    line = HTTPConnection(dev_server.HOST, site.server_port, timeout=5)
    line.putrequest("GET", "/", skip_host=True)
    if host is not None:
        line.putheader("Host", host)
    line.endheaders()
    assert line.getresponse().status == status
    line.close()


@pytest.mark.parametrize(
    ("path", "kind", "text"),
    [
        ("/", "text/html; charset=utf-8", "front"),
        ("/models/", "text/html; charset=utf-8", "models"),
        ("/index.html?x=1", "text/html; charset=utf-8", "front"),
        ("/a.json", "application/json", "{}"),
        ("/a.svg", "image/svg+xml", "<svg/>"),
        ("/run.py", "text/plain; charset=utf-8", "print()"),
        ("/lesson.yaml", "text/plain; charset=utf-8", "schema: 1"),
        ("/SHA256SUMS", "text/plain; charset=utf-8", "x"),
        ("/cases.csv", "text/csv; charset=utf-8", "a"),
        ("/bundle.zip", "application/zip", "z"),
        ("/w.safetensors", "application/octet-stream", "w"),
        ("/odd.xyz", "application/octet-stream", "o"),
        ("/feed.xml", "application/xml", "<feed/>"),
    ],
)
def test_every_file_has_its_type(site: dev_server.Server, path: str, kind: str, text: str) -> None:
    """Whatever the system's own table of types says; and a page is never an old one."""
    status, headers, body = request(site, path)
    assert (status, headers["content-type"], body) == (200, kind, text)
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    ["/secret.txt", "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//secret.txt", "/way-out/secret.txt",
     "/leak.txt", "/bare/", "/models/../../secret.txt", "/nowhere", "/%00", "/a%0ab"],
)  # fmt: skip
def test_nothing_is_listed_and_nothing_comes_from_outside(site: dev_server.Server, path: str) -> None:
    """Neither by dots, nor by links; what is not there gets the site's own page for it."""
    status, _, text = request(site, path)
    assert (status, text) == (404, "lost")


def test_a_folder_without_a_slash_leads_to_the_folder(site: dev_server.Server) -> None:
    """Relative links on its page must start from inside it."""
    status, headers, _ = request(site, "/models")
    assert (status, headers["location"]) == (301, "/models/")


def test_only_reading_is_answered(site: dev_server.Server) -> None:
    """HEAD has no body, and nothing can be sent."""
    assert request(site, "/", "HEAD")[::2] == (200, "")
    assert request(site, "/nowhere", "HEAD")[::2] == (404, "")
    assert request(site, "/", "POST")[0] == 501


def test_the_server_listens_to_this_machine_alone(site: dev_server.Server) -> None:
    """Nobody else on the network can read what is not published yet."""
    assert site.server_address[0] == "127.0.0.1"
    assert site.address() == f"http://127.0.0.1:{site.server_port}/"
    assert urllib.request.urlopen(site.address(), timeout=5).read() == b"front"


def test_a_taken_port_is_reported_with_what_to_type(site: dev_server.Server, tmp_path: Path) -> None:
    """Two previews side by side need two ports."""
    with pytest.raises(LessonError) as caught:
        dev_server.open_site(tmp_path / "results", site.server_port)
    port = site.server_port
    assert caught.value.message() == (
        f"127.0.0.1:{port}: another program uses this port. Type --port {port + 1}, or --port 0 for any free one.")


def test_a_port_that_the_system_refuses_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below 1024 it may not be had by everybody."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(dev_server, "Server", refuse)
    (tmp_path / "index.html").touch()
    with pytest.raises(LessonError) as caught:
        dev_server.open_site(tmp_path, 80)
    assert caught.value.message() == (
        "127.0.0.1:80: the system refuses: Permission denied. Type --port 8000, or --port 0 for any free one.")


def test_an_empty_site_is_reported_with_what_to_type(tmp_path: Path) -> None:
    """Before the first publication there is nothing to see."""
    with pytest.raises(LessonError, match="nothing is published here"):
        dev_server.open_site(tmp_path, 0)
