"""The upgrade from this repository's torch to the next one, with real runs of both: what it changes, and what stays."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from lessonpress.core import canonical_json
from lessonpress.publishing import upgrade
from lessonpress.revision import history
from tests import actions
from tests.workflow import test_actions
from tests.workflow.owners import good, run

pytestmark = [pytest.mark.workflow, pytest.mark.nightly]

TORCH = "2.14"
COMPARED = 3  # lessons whose bundles run


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory, project: Path) -> actions.Job:
    """Give the nightly workflow's job for this Python and the next torch, done in a clone."""
    clone = test_actions.make_clone(project, tmp_path_factory.mktemp("torch") / "clone")
    workflow = actions.read_workflow(clone / ".github" / "workflows" / "nightly.yml")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    matrix = workflow["jobs"]["versions"]["strategy"]["matrix"]
    assert python in matrix["python"]
    assert TORCH in matrix["torch"]
    around = test_actions.surroundings(clone)
    done = actions.Job(workflow, "versions", clone, {"matrix": {"python": python, "torch": TORCH}}, around)
    assert done.run(), [(step.name, step.output[-4000:]) for step in done.done]
    return done


def test_every_lesson_says_what_another_torch_changes(job: actions.Job) -> None:
    """The job's page names each published lesson; numbers are the same, or within its tolerance."""
    lines = job.summary.splitlines()
    published = sorted(path.name for path in (job.folder / "results" / "models").iterdir())
    assert [line.split()[0] for line in lines[: len(published)]] == published
    outcomes = {re.split(r"  +", line)[1] for line in lines[: len(published)]}
    assert outcomes <= {upgrade.IDENTICAL, upgrade.WITHIN}
    assert re.search(rf"\(torch 2\.13\.0 → {re.escape(TORCH)}\.\d+\)\.$", lines[-1])


def test_an_upgrade_publishes_beside_what_was_there(job: actions.Job) -> None:
    """The reason is the environment; all is verified under the new torch, and what was there under its own."""
    python, folder = str(job.folder / ".venv" / "bin" / "python"), job.folder
    shutil.rmtree(folder / ".git")  # what this repository's own commits hold is the subject of other tests
    slugs = sorted(path.name for path in (folder / "results" / "models").iterdir())
    before = {path: path.read_bytes() for path in (folder / "results" / "models").glob("*/*/**/*") if path.is_file()}
    old = {slug: history.read_history(folder / "results" / "models" / slug, slug)["current"] for slug in slugs}
    good(run([python, "-m", "lessonpress", "upgrade"], folder))
    assert {path: path.read_bytes() for path in before} == before
    for slug, revision in old.items():
        place = folder / "results" / "models" / slug
        last = history.read_history(place, slug)["revisions"][-1]
        assert re.fullmatch(rf"torch 2\.13\.0 → {re.escape(TORCH)}\.\d+", str(last["note"]))
        assert set(last["reasons"]) - {"numbers", "templates"} == {"environment"}
        assert f"torch=={TORCH}." in (place / last["revision"] / "requirements.txt").read_text("utf-8")
        assert canonical_json.read(place / last["revision"] / "manifest.json")["provenance"]["torch"].startswith(TORCH)
        runs = ((str(revision), sys.executable), (last["revision"], python))
        for name, which in runs if slug in slugs[:COMPARED] else ():
            done = run([which, "-I", "run.py", "--compare"], place / name)
            assert done.returncode == 0, done.stdout + done.stderr
    assert "All is good" in good(run([python, "-m", "snakemake", "--cores", "2", "verify"], folder))
    assert upgrade.SAME in good(run([python, "-m", "lessonpress", "upgrade", "--dry-run"], folder))
