"""Snakemake's own report shows previews, checks and drift, each with its caption and labels."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.conftest import TINY, House

pytestmark = pytest.mark.workflow


def results(report: Path) -> dict[str, dict[str, Any]]:
    """Everything that a report of Snakemake shows, by its path."""
    _, told = report.read_text(encoding="utf-8").split('<script id="results">\n    var results = ')
    return dict(json.JSONDecoder().raw_decode(told)[0])


def test_the_report_shows_previews_checks_and_drift(published: House) -> None:
    """Also when verification fails: the job that finds the drift keeps its page, the one that judges it ends in 1."""
    published.edit("lesson.yaml", "What does a shift", "What can a shift")
    assert published.snakemake("--until", "check").returncode == 0
    done = published.snakemake("verify")
    assert done.returncode == 1
    assert f"{TINY}: prose (1 key)" in done.stdout + done.stderr
    made = published.snakemake("--report", "report.html", "all", "verify")
    assert made.returncode == 0, made.stdout + made.stderr
    shown = results(published.folder / "report.html")
    assert {name: entry["labels"] for name, entry in shown.items()} == {
        f"work/{TINY}/checks.json": {"lesson": TINY},
        f"work/{TINY}/published.json": {"lesson": TINY, "found by": "publish"},
        f"work/{TINY}/revision/preview.svg": {"lesson": TINY, "picture": "preview"},
        "work/verify/report.html": {"lesson": "all lessons", "found by": "verify"},
    }
    assert all(entry["caption"].startswith("<p>") for entry in shown.values())


def test_verification_is_done_whenever_it_is_asked_for(published: House) -> None:
    """Each `snakemake verify` regenerates; a plain run never does, and has nothing to do."""
    for _ in range(2):
        done = published.snakemake("verify")
        assert (done.returncode, "byte for byte" in done.stdout + done.stderr) == (0, True)
    done = published.snakemake()
    assert "Nothing to be done" in done.stdout + done.stderr
