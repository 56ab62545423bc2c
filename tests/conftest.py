"""What every test shares: the project's folder, and property tests that repeat themselves exactly."""

from pathlib import Path

import hypothesis
import pytest

# The same examples on every run and machine; no deadline, because a busy machine is no failure.
hypothesis.settings.register_profile("lessonpress", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.load_profile("lessonpress")


@pytest.fixture(scope="session")
def project() -> Path:
    """Give the project's root folder."""
    return Path(__file__).resolve().parents[1]
