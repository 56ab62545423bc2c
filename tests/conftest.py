"""What every test shares: the project's folder, its tiers, and property tests that repeat themselves exactly."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from tests import tiers

TESTS = Path(__file__).resolve().parent
# The same examples on every run and machine; no deadline, because a busy machine is no failure.
hypothesis.settings.register_profile("lessonpress", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.load_profile("lessonpress")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch of `make fast`."""
    parser.addoption("--fast", action="store_true", help="only the tests without torch, a browser or Snakemake")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse what is slow, in every process that runs fast tests; let what tests start be interrupted."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background, for all that is started there
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--fast"):
        tiers.hold_to_fast()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave whole folders and modules out of the fast tests: importing them is slow already."""
    if not config.getoption("--fast") or collection_path.parent != TESTS:
        return None
    if collection_path.suffix == ".py":
        return True if tiers.SLOW_MODULE.search(collection_path.read_text(encoding="utf-8")) else None
    return True if collection_path.name in tiers.SLOW_FOLDERS else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave marked tests out: slow ones of the fast ones, and those of the night by day."""
    unwanted = tiers.SLOW_MARKS if config.getoption("--fast") else frozenset()
    unwanted |= frozenset() if tiers.NIGHTLY else {"nightly"}
    out = [item for item in items if unwanted.intersection(mark.name for mark in item.iter_markers())]
    config.hook.pytest_deselected(items=out)
    left_out = set(out)
    items[:] = sorted((item for item in items if item not in left_out), key=lambda item: tiers.rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByUnit:
    """Give tests that share what is expensive to one process, where there are several."""
    return ByUnit(config, log)


class ByUnit(LoadScopeScheduling):
    """Hands out the units of the tests, one after the other, to whichever process has nothing to do."""

    def _split_scope(self, nodeid: str) -> str:
        return tiers.unit(nodeid)


@pytest.fixture(scope="session")
def project() -> Path:
    """Give the project's root folder."""
    return TESTS.parent
