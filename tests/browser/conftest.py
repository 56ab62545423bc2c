"""One Chromium for all browser tests, and every lesson's revision folder, made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.opening import ARGUMENTS, CHROMIUM, LESSONS, previewed


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    if not Path(CHROMIUM).exists():
        pytest.skip("there is no Chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained of."""
    return []


@pytest.fixture(scope="session", params=LESSONS, ids=lambda lesson: lesson.name)
def revision(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lesson's revision folder; a test that asks for it is run for every lesson."""
    lesson: Path = request.param
    return previewed(lesson, tmp_path_factory.mktemp(lesson.name) / "revision")
