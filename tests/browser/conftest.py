"""One Chromium for all browser tests, and every lesson's revision folder, made once."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.opening import ARGUMENTS, CHROMIUM, EVERY, LESSONS, make_preview, typical


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    if not Path(CHROMIUM).exists():
        pytest.skip("there is no Chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained of."""
    return []


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Give what makes a lesson's revision folder, once."""
    return cache(lambda lesson: make_preview(lesson, tmp_path_factory.mktemp(lesson.name) / "revision"))


@pytest.fixture(scope="session", params=EVERY, ids=lambda lesson: lesson.name)
def any_revision(request: pytest.FixtureRequest, made: Callable[[Path], Path]) -> Path:
    """A lesson's revision folder; a test that asks for it is run for every lesson, also for one without a slider."""
    return made(request.param)


@pytest.fixture(scope="session", params=typical(LESSONS))
def typical_revision(request: pytest.FixtureRequest, made: Callable[[Path], Path]) -> Path:
    """A lesson's revision folder; a test of what a slider does is run for typical lessons, at night for all."""
    return made(request.param)


@pytest.fixture(scope="session", params=typical(EVERY))
def any_typical_revision(request: pytest.FixtureRequest, made: Callable[[Path], Path]) -> Path:
    """A lesson's revision folder; a test of what a page does is run for typical lessons, at night for all."""
    return made(request.param)


@pytest.fixture(autouse=True)
def closing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close what a test has opened: a page that stays open goes on working."""
    yield
    if "browser" in request.fixturenames:
        for context in request.getfixturevalue("browser").contexts:
            context.close()
