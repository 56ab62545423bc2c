"""A release is what it says: version, changelog and workflow files agree, and a workflow calls only what exists."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lessonpress import __version__

WORKFLOWS = ("ci.yml", "nightly.yml", "publish-check.yml", "release.yml")
VERSION = re.compile(r"^## \[(\d+\.\d+\.\d+)\]", re.MULTILINE)


def read_workflow(project: Path, name: str) -> dict[str, Any]:
    """Read a workflow file; its keys are those of GitHub Actions."""
    text = (project / ".github" / "workflows" / name).read_text(encoding="utf-8")
    return dict(YAML(typ="safe", pure=True).load(text))


def list_steps(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every step of every job."""
    for job in workflow["jobs"].values():
        yield from job.get("steps", [])


def list_commands(workflow: dict[str, Any]) -> list[str]:
    """List the shell commands of a workflow: of its steps, and of the matrix from which steps take theirs."""
    matrices = [job.get("strategy", {}).get("matrix", {}).get("include", []) for job in workflow["jobs"].values()]
    return [*(step["run"] for step in list_steps(workflow) if "run" in step),
            *(entry["command"] for matrix in matrices for entry in matrix)]  # fmt: skip


def find_step(workflow: dict[str, Any], name: str) -> str:
    """Return the shell command of the step with this name."""
    [command] = [step["run"] for step in list_steps(workflow) if step.get("name") == name]
    return str(command)


def run_step(command: str, folder: Path, tag: str) -> subprocess.CompletedProcess[str]:
    """Run a step's command as GitHub Actions does, with this Python in the place of .venv's."""
    return subprocess.run(["bash", "-e", "-c", command.replace(".venv/bin/python", f"'{sys.executable}'")], cwd=folder,
                          env={**os.environ, "TAG": tag}, capture_output=True, text=True, check=False)  # fmt: skip


def test_the_changelogs_newest_release_is_the_version(project: Path) -> None:
    """The newest version in CHANGELOG.md is the package's; what comes after it stands under *Unreleased*."""
    changelog = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    assert VERSION.findall(changelog)[0] == __version__
    assert changelog.index("## [Unreleased]") < changelog.index(f"## [{__version__}]")


def test_the_release_workflow_accepts_the_versions_tag_only(project: Path) -> None:
    """Its own check of the tag passes for this version and fails for another one."""
    command = find_step(read_workflow(project, "release.yml"), "Check that the tag is the version")
    assert run_step(command, project, f"v{__version__}").returncode == 0
    wrong = run_step(command, project, "v9.9.9")
    assert wrong.returncode == 1
    assert f"src/lessonpress/__init__.py says {__version__}" in wrong.stdout


def test_the_release_notes_are_the_changelogs_section(project: Path, tmp_path: Path) -> None:
    """The notes of a release are the section of its version alone; without one the workflow fails."""
    command = find_step(read_workflow(project, "release.yml"), "Take the changelog's words")
    changelog = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(f"{changelog}\n## [0.0.1] - 2020-01-01\n\nThe sketch.\n", encoding="utf-8")
    assert run_step(command, tmp_path, f"v{__version__}").returncode == 0
    notes = (tmp_path / "release" / "notes.md").read_text(encoding="utf-8")
    start = changelog.index("\n", changelog.index(f"## [{__version__}]"))
    assert notes.strip() == changelog[start:].strip()
    assert run_step(command, tmp_path, "v9.9.9").returncode == 1


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_file_is_well_formed(project: Path, name: str) -> None:
    """It has a name, triggers, permissions and jobs, and bash can parse each of its commands."""
    workflow = read_workflow(project, name)
    assert workflow.keys() >= {"name", "on", "permissions", "jobs"}
    for command in list_commands(workflow):
        subprocess.run(["bash", "-n"], input=command, text=True, check=True, timeout=60)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_calls_only_what_exists(project: Path, name: str) -> None:
    """Each make target, Snakemake target, Python module, script and path in its commands is there."""
    targets = set(re.findall(r"^([a-z]+):", (project / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    rules = {rule for file in (project / "workflow" / "rules").glob("*.smk")
             for rule in re.findall(r"^rule (\w+):", file.read_text(encoding="utf-8"), re.MULTILINE)}  # fmt: skip
    commands = list_commands(read_workflow(project, name))
    assert commands
    for command in commands:
        for made in re.findall(r"(?:^|&& )make((?: [a-z]+)+)", command, re.MULTILINE):
            assert set(made.split()) <= targets, command
        for module in re.findall(r"-m (\w+)", command):
            assert importlib.util.find_spec(module), command
        for target in re.findall(r"-m snakemake .*?(\w+)$", command, re.MULTILINE):
            assert target in rules, command
        for path in re.findall(r"(?<![\w/.])((?:scripts|tests|src|docs|\.ci)/[\w./-]+\w)", command):
            assert (project / path).exists(), command


def test_a_nightly_variable_is_read_by_the_tests(project: Path) -> None:
    """A variable that a workflow sets for the tests is one that the tests read."""
    text = "".join((project / ".github" / "workflows" / name).read_text(encoding="utf-8") for name in WORKFLOWS)
    names = set(re.findall(r"LESSONPRESS_[A-Z]+", text))
    tests = "".join(file.read_text(encoding="utf-8") for file in (project / "tests").rglob("*.py"))
    assert names
    assert not [name for name in names if name not in tests]
