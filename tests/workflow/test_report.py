"""Snakemake's own report shows previews, checks and drift, each with its caption and labels."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.conftest import TINY, House

pytestmark = pytest.mark.workflow


def read_report(report: Path, name: str) -> Any:
    """What a report of Snakemake holds under a name."""
    text = report.read_text(encoding="utf-8").rpartition(f"var {name} = ")[2]
    return json.JSONDecoder().raw_decode(text.lstrip())[0]


def test_the_report_shows_previews_checks_and_drift(published: House) -> None:
    """Also when verification fails: the job that finds the drift keeps its page, the one that judges it ends in 1."""
    published.edit("lesson.yaml", "What does a shift", "What can a shift")
    done = published.snakemake("verify")
    assert done.returncode == 1
    assert f"{TINY}: prose (1 key)" in done.stdout + done.stderr
    published.publish("--report", "drift.html", "verify")
    verified = {"work/verify/report.html": {"lesson": "all lessons", "found by": "verify"}}
    shown = read_report(published.folder / "drift.html", "results")
    assert {name: entry["labels"] for name, entry in shown.items()} == verified

    published.publish()
    published.publish("--report", "report.html", "all", "verify")
    state = published.state().relative_to(published.folder)
    shown = read_report(published.folder / "report.html", "results")
    assert {name: entry["labels"] for name, entry in shown.items()} == {
        f"{state}/checks.json": {"lesson": TINY},
        f"{state}/published.json": {"lesson": TINY, "found by": "publish"},
        f"{state}/revision/preview.svg": {"lesson": TINY},
        **verified,
    }
    assert all(entry["caption"].startswith("<p>") for entry in shown.values())
    assert all(TINY in entry["caption"] for name, entry in shown.items() if name not in verified)


def test_the_report_knows_the_time_and_the_provenance_of_every_step(published: House) -> None:
    """Each rule with how long it took, when, what it was made from, and the command."""
    published.publish("--report", "report.html")
    steps = {"hash", "execute", "record", "check", "render", "publish", "site", "mistakes"}
    report = published.folder / "report.html"
    for name, keys in (("runtimes_spec", {"runtime"}), ("timeline_spec", {"starttime", "endtime"})):
        values = read_report(report, name)["data"]["values"]
        assert {value["rule"] for value in values} >= steps
        assert all(value.keys() >= keys for value in values)
    rules = read_report(report, "rules")
    assert rules.keys() >= steps
    assert all(rules[step]["input"] and rules[step]["output"] and rules[step]["code"] for step in steps)


def test_verification_is_done_whenever_it_is_asked_for(published: House) -> None:
    """Each `snakemake verify` regenerates, and says what is so now; a plain run never does, and has nothing to do."""
    summary = published.folder / "work" / "verify" / "summary.md"
    for old, new, good in (("does", "can", False), ("can", "does", True)):
        published.edit("lesson.yaml", f"What {old} a shift", f"What {new} a shift")
        done = published.snakemake("verify")
        assert (done.returncode, "All is good: 1 lesson verified." in done.stdout) == (int(not good), good)
        assert ("byte for byte" in summary.read_text(encoding="utf-8")) is good
    done = published.snakemake()
    assert "Nothing to be done" in done.stdout + done.stderr
