"""A plugin of pytest that prints which tests a run leaves out, each with its marks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Print a line for each."""
    for item in items:
        print("left out", item.nodeid, *sorted({mark.name for mark in item.iter_markers()}), sep="\t")
