"""How long an author waits: from a save to the page that shows it, and one picture of a model."""

import http.client
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import generated
from benchmarks.watched import Took

EVENTS = "/.lessonpress/events"


def measure_saves(folder: Path, lesson: Path, times: int) -> dict[str, list[Took]]:
    """Save a lesson's words, then its model, several times each; until the open preview can show the new page.

    `folder` is a scratch repository. The page is asked for as a browser does, so its sending counts too.
    """
    [slug] = generated.make_lessons(folder / "lessons", 1, [lesson])
    copied = folder / "lessons" / slug
    took: dict[str, list[Took]] = {f"{name} saved, until the page shows it": [] for name in ("words", "model")}
    with _preview(folder, slug) as (host, port):
        events = http.client.HTTPConnection(host, port, timeout=120)
        events.request("GET", EVENTS)
        answer = events.getresponse()
        build = _next_build(answer, "")
        for number in range(times + 1):
            for name, path, change in (
                ("words", copied / "lesson.yaml",
                 lambda text, n: re.sub(r"(?m)^title:.*$", f"title: Title {n}", text)),
                ("model", copied / "model.py", lambda text, n: f"{text}# {n}\n"),
            ):
                time.sleep(1)  # as long as nobody saves, nothing is done
                text = change(path.read_text(encoding="utf-8"), number)
                start = time.perf_counter()
                path.write_text(text, encoding="utf-8")
                build = _next_build(answer, build)
                _fetch(host, port)
                if number:  # the first turn fills caches
                    took[f"{name} saved, until the page shows it"].append(Took(time.perf_counter() - start, 0.0, 0.0))
    return took


@contextmanager
def _preview(folder: Path, slug: str) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "lessonpress", "preview", slug, "--watch", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        host, port = re.search(r"//([\d.]+):(\d+)", process.stdout.readline()).groups()  # type: ignore[union-attr]
        try:
            yield host, int(port)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def _next_build(answer: http.client.HTTPResponse, before: str) -> str:
    """The name of the next page of which the preview tells."""
    while True:
        line = answer.readline().decode()
        if line.startswith("data: "):
            now = json.loads(line.removeprefix("data: "))
            if now["build"] not in ("", before):
                return str(now["build"])


def _fetch(host: str, port: int) -> None:
    connection = http.client.HTTPConnection(host, port, timeout=30)
    connection.request("GET", "/")
    connection.getresponse().read()
    connection.close()
