"""Opens pages in Debian's Chromium the same way in every browser test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser import previewing

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PROJECT = Path(__file__).resolve().parents[2]
RECIPES = sorted(path for at in ("lessons", "tests/lessons") for path in PROJECT.glob(f"{at}/*/lesson.yaml"))
# Those that a reader can move; a page of recorded values only is opened from a sample.
LESSONS = [path.parent for path in RECIPES if "  control:" in path.read_text(encoding="utf-8")]
# What a page does is tried with these on every push, and with every lesson at night: a lesson of few operations and one
# of many, the first in lessons/. Its numbers are tried with every lesson always.
TYPICAL = ("tiny-affine", LESSONS[0].name)
# All whose cases can be compared.
EVERY = [path.parent for path in RECIPES if path.parent in LESSONS or path.parents[1] == PROJECT / "lessons"]


def typical(lessons: list[Path]) -> list[Any]:
    """Parameters of a fixture: these lessons, of which all but the typical ones are for the night."""
    return [
        pytest.param(lesson, id=lesson.name, marks=() if lesson.name in TYPICAL else pytest.mark.nightly)
        for lesson in lessons
    ]


def open_page(browser: Browser, address: str, complaints: list[str] | None = None, **options: Any) -> Page:
    """A fresh page that notes errors, policy violations and requests beyond the page itself."""
    shown = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options}).new_page()
    if complaints is not None:
        shown.on("console", lambda message: complaints.append(message.text))
        shown.on("pageerror", lambda error: complaints.append(str(error)))
        shown.on("request", lambda request: complaints.append(request.url))
    shown.set_default_timeout(8000)
    shown.goto(address)
    return shown


def make_preview(lesson: Path, out: Path) -> Path:
    """A lesson's complete revision folder."""
    previewing.make(lesson, out)
    return out


def read_manifest(revision: Path) -> dict[str, Any]:
    """A revision's manifest."""
    manifest: dict[str, Any] = json.loads((revision / "manifest.json").read_text(encoding="utf-8"))
    return manifest
