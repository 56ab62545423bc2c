"""The live preview in a browser: a mistake appears in the page and goes, and every save brings the new page."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests import tiny
from tests.browser.opening import open_page

pytestmark = pytest.mark.browser
PATIENCE = 60_000  # milliseconds for a page to be made on a busy machine


@pytest.fixture
def lesson(tmp_path: Path) -> Path:
    """A lesson in a repository."""
    return Path(shutil.copytree(tiny.LESSON, tmp_path / "lessons" / tiny.SLUG))


@pytest.fixture
def address(lesson: Path) -> Iterator[str]:
    """A live preview of the lesson, interrupted at the end."""
    command = [sys.executable, "-m", "lessonpress", "preview", tiny.SLUG, "--watch", "--port", "0"]
    pipe = subprocess.PIPE
    started = subprocess.Popen(command, cwd=lesson.parents[1], stdout=pipe, stderr=pipe, text=True)
    with started:
        assert started.stdout
        assert started.stderr
        yield started.stdout.readline().split()[0]
        started.send_signal(signal.SIGINT)
        assert started.wait(timeout=30) == 0
        assert started.stderr.read() == ""
    assert not list(lesson.parents[1].glob("preview-*"))


def edit(path: Path, old: str, new: str) -> None:
    """Replace what stands once in a file, as an editor does: by a new file in its place."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    (path.parent / ".new").write_text(text.replace(old, new), encoding="utf-8")
    (path.parent / ".new").replace(path)


def test_the_page_follows_what_is_saved(browser: Browser, lesson: Path, address: str, complaints: list[str]) -> None:
    """First page, a mistake in the recipe, mended with another title, a check that fails, mended again."""
    shown = open_page(browser, address)
    shown.on("console", lambda message: complaints.append(message.text))
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    notice = shown.locator("#lessonpress-notice")
    expect(shown).to_have_title(re.compile("What does a shift do"), timeout=PATIENCE)
    expect(notice).to_be_hidden()

    edit(lesson / "lesson.yaml", "question: Does every", "qestion: Does every")
    expect(notice).to_contain_text(f"lessons/{tiny.SLUG}/lesson.yaml:4: qestion: unknown key", timeout=PATIENCE)
    expect(notice).to_contain_text("Did you mean question?")
    assert "What does a shift do" in shown.title()  # the last good page stays in view

    edit(lesson / "lesson.yaml", "qestion: Does every", "question: Will every")
    expect(shown.locator("header .question")).to_contain_text("Will every", timeout=PATIENCE)
    expect(notice).to_be_hidden()

    edit(lesson / "checks.py", '"bound": 0.5', '"bound": 500.0')
    expect(notice).to_contain_text("the check fails: measured", timeout=PATIENCE)
    edit(lesson / "checks.py", '"bound": 500.0', '"bound": 0.5')
    expect(notice).to_be_hidden(timeout=PATIENCE)
    assert complaints == []


def test_a_lesson_that_is_wrong_from_the_start_shows_why(browser: Browser, lesson: Path, address: str) -> None:
    """Without any page yet, the mistake stands in the page that waits, and the lesson comes once it is mended."""
    shown = open_page(browser, address)
    edit(lesson / "model.py", "def forward(self, points, shift):", "def forward(self, points, shift:")
    expect(shown).to_have_title(re.compile("What does|no page yet"))
    expect(shown.get_by_role("alert")).to_contain_text("model.py:15", timeout=PATIENCE)
    edit(lesson / "model.py", "def forward(self, points, shift:", "def forward(self, points, shift):")
    expect(shown).to_have_title(re.compile("What does a shift do"), timeout=PATIENCE)
    expect(shown.locator("#lessonpress-notice")).to_be_hidden(timeout=PATIENCE)


def test_place_and_state_stay(browser: Browser, lesson: Path, address: str) -> None:
    """A save loses neither the place on the page, nor what was unfolded, nor the numbers that the reader moved."""
    shown = open_page(browser, address)
    expect(shown).to_have_title(re.compile("What does a shift do"), timeout=PATIENCE)
    field = shown.locator(".play input[type=number]").first
    field.fill("1.25")
    field.press("Enter")
    expect(shown.get_by_role("button", name="Back to the record")).to_be_visible()
    folded = shown.locator("main details.layers")
    folded.evaluate("part => { part.open = true; }")
    shown.evaluate("document.getElementById('source').scrollIntoView({ behavior: 'instant' })")
    before = shown.evaluate("document.getElementById('source').getBoundingClientRect().top")
    edit(lesson / "lesson.yaml", "question: Does every", "question: Will, after a longer question than before, every")
    expect(shown.locator("header .question")).to_contain_text("Will, after", timeout=PATIENCE)
    expect(folded).to_have_attribute("open", "")
    expect(field).to_have_value("1.25")
    expect(shown.get_by_role("button", name="Back to the record")).to_be_visible()
    deadline = time.monotonic() + 5
    while abs(shown.evaluate("document.getElementById('source').getBoundingClientRect().top") - before) > 4:
        assert time.monotonic() < deadline
        time.sleep(0.1)
