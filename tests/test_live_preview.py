"""The live preview: the served page follows, the file on disk stays as it is, a save is seen once it is whole."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import html5lib
import pytest

from lessonpress.authoring import live_preview
from lessonpress.core.settings import Config
from lessonpress.web import dev_server
from lessonpress.web.page import site_pages
from tests import tiny

PAGE = site_pages.render_missing()


@pytest.fixture
def live(tmp_path: Path) -> live_preview.Live:
    """The state of a preview whose folder is not there yet."""
    return live_preview.Live(tmp_path / "preview")


@pytest.fixture
def server(live: live_preview.Live) -> Iterator[dev_server.Server]:
    """The preview, served."""
    opened = dev_server.open_server(partial(live_preview.Handler, live=live), 0)
    threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield opened
    opened.shutdown()
    opened.server_close()


def get(server: dev_server.Server, path: str) -> HTTPResponse:
    """What the server answers."""
    line = HTTPConnection(dev_server.HOST, server.server_port, timeout=5)
    line.request("GET", path)
    return line.getresponse()


def made(live: live_preview.Live, text: str = PAGE) -> None:
    """Put a page into the preview's folder, as a new file."""
    live.folder.mkdir(exist_ok=True)
    beside = live.folder / "new"
    beside.write_text(text, encoding="utf-8")
    os.utime(beside, ns=(0, len(list(live.folder.iterdir())) + live.folder.stat().st_mtime_ns))
    beside.replace(live.folder / "index.html")


def event(answer: HTTPResponse) -> dict[str, str]:
    """The next message to the page."""
    line = answer.readline().decode()
    assert answer.readline() == b"\n"
    message: dict[str, str] = json.loads(line.removeprefix("data: "))
    return message


@pytest.mark.parametrize("text", [PAGE, site_pages.render_waiting("a <b>"), site_pages.render_catalogue([])])
def test_the_policy_admits_the_script_and_nothing_more(text: str) -> None:
    """By its hash, one connection to where the page came from; styles, images and scripts are what they were."""
    served = live_preview.add_script(text, "7")
    html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(served)
    [before], [after] = (re.findall(r'Policy" content="([^"]*)"', each) for each in (text, served))
    script = re.findall(r'<script data-build="7">(.*?)</script>', served, re.DOTALL)[0]
    name = "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    old, new = ({rule.split()[0]: set(rule.split()[1:]) for rule in each.replace("&#39;", "'").split("; ")}
                for each in (before, after))  # fmt: skip
    assert new.pop("connect-src") == {"'self'"}
    assert new.pop("script-src") == (old.pop("script-src") - {"'none'"}) | {f"'{name}'"}
    assert new == old


def test_before_the_first_page_there_is_one_that_waits(server: dev_server.Server, live: live_preview.Live) -> None:
    """It says what is wrong as text, and files beside it are not there."""
    live.announce("lessons/x/lesson.yaml:3: <titel>: unknown key.")
    text = get(server, "/").read().decode()
    assert "There is no page yet" in text
    assert "lessons/x/lesson.yaml:3: &lt;titel&gt;: unknown key." in text
    assert get(server, "/preview.svg").status == 404


def test_the_page_is_served_with_the_script_and_stays_as_it_is(
    server: dev_server.Server, live: live_preview.Live
) -> None:
    """What is published is never what a server has changed."""
    made(live)
    served = get(server, "/index.html").read().decode()
    assert f'<script data-build="{live.name_build()}">' in served
    assert (live.folder / "index.html").read_text(encoding="utf-8") == PAGE
    assert served.replace(re.findall(r"<script data-build.*?</script>\n", served, re.DOTALL)[0], "") != served


def test_a_page_learns_at_once_and_at_every_change(server: dev_server.Server, live: live_preview.Live) -> None:
    """A mistake, a new page, and that all is well again."""
    answer = get(server, live_preview.EVENTS)
    assert answer.getheader("Content-Type") == "text/event-stream"
    assert event(answer) == {"build": "", "message": ""}
    live.announce("wrong")
    assert event(answer) == {"build": "", "message": "wrong"}
    made(live)
    live.announce("")
    first = event(answer)
    assert first == {"build": live.name_build(), "message": ""}
    made(live)
    live.announce("")
    assert event(answer)["build"] not in ("", first["build"])


def test_a_save_is_seen_and_caches_are_not(tmp_path: Path) -> None:
    """Exactly the files of which the lesson is made."""
    folder = tiny.write(tmp_path / "echo")
    before = live_preview.list_files(folder)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "model.pyc").touch()
    (folder / ".lesson.yaml.swp").touch()
    assert live_preview.list_files(folder) == before
    (folder / "model.py").write_text("x = 1\n")
    assert live_preview.list_files(folder) != before
    assert live_preview.wait_until_settled(folder) == live_preview.list_files(folder)


def test_a_taken_port_ends_before_anything_is_made(server: dev_server.Server, tmp_path: Path) -> None:
    """The message comes at once, and no folder is left."""
    printed: list[str] = []
    with pytest.raises(live_preview.dev_server.LessonError, match="another program uses this port"):
        live_preview.run_preview(tmp_path, None, server.server_port, Config, printed.append)
    assert printed == []
