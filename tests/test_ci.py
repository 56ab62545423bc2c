"""The check of a committed site works as a plain script, and the reusable workflow is well-formed."""

import html
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lessonpress.authoring import repository
from lessonpress.publishing import site
from tests import tiny
from tests.workflow.conftest import House, build

WORKFLOW = Path(".github") / "workflows" / "publish-check.yml"


@pytest.fixture(scope="module")
def reusable() -> dict[str, Any]:
    """Give the reusable workflow."""
    project = Path(__file__).resolve().parents[1]
    return dict(YAML(typ="safe", pure=True).load((project / WORKFLOW).read_text(encoding="utf-8")))


def test_every_input_that_is_used_is_declared(reusable: dict[str, Any], project: Path) -> None:
    """An input has a type, a default and a sentence, and each is used."""
    inputs = reusable["on"]["workflow_call"]["inputs"]
    assert all(entry.keys() == {"description", "type", "default"} for entry in inputs.values())
    used = set(re.findall(r"inputs\.([\w-]+)", (project / WORKFLOW).read_text(encoding="utf-8")))
    assert used == set(inputs)


def test_no_expression_stands_in_a_shell_command(reusable: dict[str, Any]) -> None:
    """What a caller gives reaches the shell by the environment, so that it cannot become code by accident."""
    for job in reusable["jobs"].values():
        commands = [step["run"] for step in job["steps"] if "run" in step]
        assert commands
        for command in commands:
            assert "${{" not in command
            subprocess.run(["bash", "-n"], input=command, text=True, check=True)
    assert reusable["permissions"] == {"contents": "read"}


def list_workflows(project: Path) -> dict[str, str]:
    """Every workflow of this repository, and the one that `init` writes, by name."""
    ours = {path.name: path.read_text("utf-8") for path in sorted((project / ".github" / "workflows").glob("*.yml"))}
    return {**ours, "of init": repository.make_files()[repository.SITE]}


def test_actions_are_pinned_by_digest(project: Path) -> None:
    """A tag can be moved to other code; a digest cannot. What it was called stands beside it."""
    for name, text in list_workflows(project).items():
        for used in re.findall(r"uses: (\S+@.*)", text):
            if not used.startswith(("OWNER/", "./")):
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", used), (name, used)


def test_only_the_job_that_deploys_may_write_pages(project: Path) -> None:
    """It runs nothing but the action that deploys what the check has built; one deployment at a time."""
    workflow = YAML(typ="safe", pure=True).load(list_workflows(project)["of init"])
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    assert "permissions" not in jobs["site"]
    assert jobs["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert [step["uses"].partition("@")[0] for step in jobs["deploy"]["steps"]] == ["actions/deploy-pages"]
    assert jobs["deploy"]["concurrency"] == {"group": "pages", "cancel-in-progress": False}
    assert jobs["deploy"]["if"] in jobs["site"]["with"]["pages"]  # what is built is what is deployed


def test_the_site_is_built_as_pages_takes_it(reusable: dict[str, Any], tmp_path: Path) -> None:
    """The step's own command gives one archive with the site at its top, dotfiles too, and no links."""
    [step] = [step for step in reusable["jobs"]["check"]["steps"] if step.get("name") == "Build the site"]
    tiny.published(tiny.at(tmp_path), "One")
    site.write_site(tiny.at(tmp_path))
    surroundings = {**os.environ, "PYTHON": sys.executable, "SITE": str(tmp_path / "site"),
                    "ARCHIVE": str(tmp_path / "artifact.tar")}  # fmt: skip
    subprocess.run(["bash", "-euo", "pipefail", "-c", step["run"]], cwd=tmp_path, env=surroundings, check=True,
                   timeout=120)  # fmt: skip
    with tarfile.open(tmp_path / "artifact.tar") as archive:
        entries = archive.getmembers()
    names = {entry.name for entry in entries}
    assert {"./index.html", "./.nojekyll", "./models/echo/index.html"} <= names
    assert any(name.endswith("/.vscode/tasks.json") for name in names)
    assert all(entry.isreg() or entry.isdir() for entry in entries)


def git(folder: Path, *arguments: str) -> None:
    """Run git as somebody."""
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)


def check(house: House, project: Path) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run the script in a house; answers what it said, and the summary for the job's page."""
    page = house.folder.parent / "step-summary.md"
    environment = {**os.environ, "PYTHON": sys.executable, "CORES": "1", "GITHUB_STEP_SUMMARY": str(page)}
    done = subprocess.run(["bash", str(project / "scripts" / "check_site.sh")], cwd=house.folder, env=environment,
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    return done, page.read_text(encoding="utf-8") if page.exists() else ""


@pytest.mark.workflow
def test_the_script_passes_and_fails_with_the_site(tmp_path: Path, project: Path) -> None:
    """Exit 0 for what is committed; 1 with a summary once a lesson was edited and not published."""
    house = build(tmp_path / "a house", project)
    (house.folder / ".gitignore").write_text("work/\n.snakemake/\n__pycache__/\n", encoding="utf-8")
    assert house.snakemake().returncode == 0
    git(house.folder, "init", "--quiet")
    git(house.folder, "add", "--all")
    git(house.folder, "commit", "--quiet", "--message", "publish")
    done, summary = check(house, project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All is good: 1 lesson verified." in summary
    house.edit("lesson.yaml", "What does a shift", "What can a shift")
    done, summary = check(house, project)
    assert done.returncode == 1
    assert "is not what is committed" in done.stdout
    assert "prose (1 key)" in html.unescape(summary)
    assert "Publishing again changed" in summary
