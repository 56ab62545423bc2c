"""Every shell command of this repository's own workflows runs, as far as one machine allows.

By day what installs, tests for hours or changes the system is asked what it would do; at night it is done.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lessonpress import __version__
from tests import actions

pytestmark = pytest.mark.workflow

WORKFLOWS = ("ci.yml", "nightly.yml", "publish-check.yml", "release.yml")
# A tool that says what it would do: make all commands, pytest the names of all tests, Snakemake all jobs.
ASKED = """\
#!/bin/sh
case "$(basename "$0") $*" in
    'apt-get update'*) exit 0 ;;
    apt-get*) exec /usr/bin/apt-get --simulate "$@" ;;
    make*) exec /usr/bin/make --dry-run "$@" ;;
    *'-m pytest'*) exec PYTHON "$@" --collect-only -qq ;;
    *'-m snakemake'*) exec PYTHON "$@" --dry-run ;;
    gh*)
        for file in "$@"; do
            case "$file" in *.whl | *.gz | *.md) test -s "$file" || exit 1 ;; esac
        done
        echo "gh $*" ;;
    *) exec PYTHON "$@" ;;
esac
"""


@pytest.fixture
def clone(tmp_path: Path, project: Path) -> Path:
    """Give a fresh clone."""
    return make_clone(project, tmp_path / "clone")


def make_clone(project: Path, folder: Path) -> Path:
    """A fresh clone of the last commit, with the working tree's files over it."""
    subprocess.run(["git", "clone", "--quiet", "--shared", project, folder], check=True, timeout=300)
    for listed in (["diff", "--name-only", "--diff-filter=d", "HEAD"], ["ls-files", "--others", "--exclude-standard"]):
        names = subprocess.run(["git", *listed, "-z"], cwd=project, check=True, capture_output=True, timeout=60).stdout
        for name in filter(None, names.decode().split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(project / name, folder / name)
    return folder


def ask(folder: Path) -> Path:
    """Put tools before the system's that say what they would do; where they lie."""
    tools = folder.parent / "asked"
    for path in (tools / "make", tools / "apt-get", tools / "gh", folder / ".venv" / "bin" / "python"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ASKED.replace("PYTHON", f"'{sys.executable}'"), encoding="utf-8")
        path.chmod(0o755)
    return tools


def surroundings(folder: Path, *tools: Path) -> dict[str, str]:
    """The environment of a runner: a home of its own, and no variable of these tests."""
    path = ":".join([*map(str, tools), os.path.dirname(sys.executable), "/usr/local/bin", "/usr/bin", "/bin"])
    fetched = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}  # where packages come from
    return {"PATH": path, "HOME": str(folder.parent), "LC_ALL": "C.UTF-8", **fetched}


def list_jobs(project: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every job of a workflow that has steps, with each entry of its matrix."""
    workflow = actions.read_workflow(project / ".github" / "workflows" / name)
    for job, said in workflow["jobs"].items():
        matrix = said.get("strategy", {}).get("matrix", {})
        crossed = {key: values[0] for key, values in matrix.items() if key != "include"}
        for entry in matrix.get("include", [crossed]) if "steps" in said else []:
            yield job, entry


@pytest.mark.skipif(not Path("/usr/bin/apt-get").exists(), reason="the workflows run on Debian")
def test_what_runs_for_hours_begins(clone: Path, project: Path) -> None:
    """Each job of ci and of the nightly tests: its tools are found and know what they are asked for."""
    around, said = surroundings(clone, ask(clone)), []
    for name, job, entry in [("ci.yml", "test", {}), ("ci.yml", "standards", {}),
                             *(("nightly.yml", job, entry) for job, entry in list_jobs(project, "nightly.yml")
                               if job == "heavy")]:  # fmt: skip
        workflow = actions.read_workflow(clone / ".github" / "workflows" / name)
        one = actions.Job(workflow, job, clone, {"matrix": entry}, around)
        assert one.run(), one.done
        said.append(one.done[-1].output)
    assert "-m pytest --numprocesses" in said[0]
    assert "check_standards.py" in said[1]
    whole = "\n".join(said)
    for word in ("test_crash.py", "test_no_edit_is_lost.py", "repeat_training", "-m tests.processors"):
        assert word in whole
    assert str(clone) in (clone.parent / ".gitconfig").read_text(encoding="utf-8")  # git may read the folder


def test_a_release_is_built_and_handed_over(clone: Path) -> None:
    """Tag, notes, two equal builds and the wheel's own tests; then the files of the release are there for `gh`."""
    tools = ask(clone)
    workflow = actions.read_workflow(clone / ".github" / "workflows" / "release.yml")
    steps = workflow["jobs"]["build"]["steps"]
    tests = next(step for step in steps if step.get("name") == "Run the fast tests on the wheel")
    assert tests["run"].endswith("make fast\n")
    tests["run"] = "make fast"  # the wheel is installed at night only
    steps[:] = [step for step in steps if step.get("name") != "Install"]
    github = {"ref_name": f"v{__version__}", "token": "none", "repository": "somebody/lessonpress"}
    build = actions.Job(workflow, "build", clone, {"github": github}, surroundings(clone, tools))
    assert build.run(), build.done
    made = [step.given for step in build.done if "path" in step.given]
    assert [(given["name"], given["files"]) for given in made] == [("dist", "dist"), ("notes", "release/notes.md")]
    shutil.copy(clone / "release" / "notes.md", clone)  # as actions/download-artifact lays it
    release = actions.Job(workflow, "release", clone, {"github": github}, surroundings(clone, tools))
    assert release.run(), release.done
    assert f"gh release create v{__version__} dist/lessonpress-{__version__}" in release.done[-1].output
    pypi = actions.Job(workflow, "pypi", clone, {"github": github, "vars": {"PYPI": "true"}}, {})
    assert (pypi.runs(), pypi.run()) == (True, True)
    assert not actions.Job(workflow, "pypi", clone, {"github": github}, {}).runs()


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "job"), [("ci.yml", "standards"), ("release.yml", "build")])
def test_what_fetches_packages_does_its_work(clone: Path, name: str, job: str) -> None:
    """The job whole, in an environment that it makes itself."""
    workflow = actions.read_workflow(clone / ".github" / "workflows" / name)
    github = {"ref_name": f"v{__version__}"}
    one = actions.Job(workflow, job, clone, {"github": github}, surroundings(clone))
    assert one.run(), [(step.name, step.output[-2000:]) for step in one.done]


def test_every_step_is_run_somewhere(project: Path) -> None:
    """A job that is added to a workflow is added to these tests."""
    ours = {(name, job) for name in WORKFLOWS for job, _ in list_jobs(project, name)}
    assert ours == {
        ("ci.yml", "test"), ("ci.yml", "standards"), ("nightly.yml", "heavy"), ("release.yml", "build"),
        ("release.yml", "release"), ("release.yml", "pypi"),
        ("nightly.yml", "versions"),  # test_other_torch.py
        ("publish-check.yml", "check"),  # test_init.py
    }  # fmt: skip
