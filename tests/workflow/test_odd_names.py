"""Whatever files and folders are called, the other lessons are published, and each odd one gets a message."""

from __future__ import annotations

import pytest

from tests.test_file_names import write_odd_lessons
from tests.workflow.conftest import House

pytestmark = pytest.mark.workflow


def test_an_odd_name_stops_its_own_lesson_alone(house: House) -> None:
    """Names that are not UTF-8, links to themselves, links to lessons, names that other systems cannot have."""
    odd = write_odd_lessons(house.folder / "lessons")
    done = house.snakemake("--keep-going")
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "Traceback" not in said
    assert len(house.revisions()) == 1  # the good one is published
    published = {path.name for path in (house.folder / "results" / "models").iterdir() if path.is_dir()}
    assert published & odd.keys() == set()
    for slug, words in odd.items():
        assert any(f"lessons/{slug}" in line and words in line for line in said.splitlines()), (slug, said)
    assert r"lessons/bad\udcff" in said
