"""A repository of somebody's own: an installed wheel, `lessonpress init`, and the commands that its README names."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lessonpress import __version__
from lessonpress.authoring import repository
from tests import actions, tiers
from tests.workflow.owners import Owner, built, environment, good, run

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Owner:
    """Give an owner who has followed the README: installed, started, published, verified, committed."""
    folder = tmp_path_factory.mktemp("somebody") / "my own lessons"
    folder.mkdir()
    owner = Owner(environment(folder / ".venv", built(project, folder.parent / "wheel")), folder)
    owner.git("init", "--quiet")
    said = good(run([str(folder / ".venv" / "bin" / "lessonpress"), "init"], folder))
    assert "README.md names the three commands" in said
    [commands] = re.findall(r"```sh\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)[:1]
    install, publish, verify = commands.splitlines()
    assert install.endswith(".venv/bin/python -m pip install -r requirements.txt")
    said = good(run(["sh", "-c", publish], folder))
    assert f"{repository.LESSON}: published revision" in said
    said = good(run(["sh", "-c", verify], folder))
    assert "All is good: 1 lesson verified." in said
    owner.commit()
    return owner


@pytest.fixture
def another(owner: Owner, tmp_path: Path) -> Owner:
    """Give the owner a second clone, to be changed."""
    owner.git("clone", "--quiet", str(owner.folder), str(tmp_path / "clone"))
    return Owner(owner.python, tmp_path / "clone")


def test_only_the_wheels_files_are_used(owner: Owner, project: Path) -> None:
    """Package and rules lie in the new environment, and nothing there leads back to this repository."""
    code = "import sys, lessonpress.core.packaged_files as s; print(s.__file__, s.snakefile(), *sys.path, sep='\\n')"
    said = good(run([str(owner.python), "-c", code], owner.folder)).splitlines()
    package = owner.python.parent.parent.resolve()
    assert all(Path(line).resolve().is_relative_to(package) for line in said[:2])
    assert not [line for line in said if line and Path(line).resolve().is_relative_to(project / "src")]
    assert not [name for name in os.listdir(owner.folder) if name in ("src", "workflow", "templates")]


def test_what_was_published_rests(owner: Owner) -> None:
    """A second run has nothing to do, the rules are in good condition, a report is made, git sees no change."""
    assert "Nothing to be done" in owner.snakemake()
    assert "in a good condition" in good(owner.python_m("snakemake", "--lint"))
    good(owner.python_m("snakemake", "--report", "work/report.html"))
    assert "Every numerical check of" in (owner.folder / "work" / "report.html").read_text(encoding="utf-8")
    assert owner.git("status", "--porcelain") == ""


def test_the_same_lesson_is_the_same_revision(owner: Owner, tmp_path: Path) -> None:
    """The wheel publishes what this repository's own code makes of the lesson, byte for byte of its identity."""
    lesson = owner.folder / "lessons" / repository.LESSON
    command = [sys.executable, "-m", "lessonpress", "preview", str(lesson), "--out", str(tmp_path / "out")]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    [revision] = owner.revisions()
    published = owner.folder / "results" / "models" / repository.LESSON / revision / "identity.json"
    assert published.read_bytes() == (tmp_path / "out" / "identity.json").read_bytes()


def check_site(owner: Owner, project: Path, wheel: Path, event: dict[str, object]) -> actions.Job:
    """The job of the reusable workflow, as the one that `init` wrote calls it; what it would fetch is linked."""
    calling = actions.read_workflow(owner.folder / repository.SITE)
    reusable = actions.read_workflow(project / repository.WORKFLOW)
    assert calling["jobs"]["site"]["uses"].partition("@")[0] == f"{repository.OWNER}/{repository.WORKFLOW}"
    github = {"event": {"repository": {"default_branch": "main"}}, **event}
    caller = actions.Job(calling, "site", owner.folder, {"github": github}, {})
    given = {name: caller.evaluate(value) for name, value in calling["jobs"]["site"]["with"].items()}
    inputs = actions.fill_inputs(reusable, given)
    assert inputs["python-version"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    there = (owner.folder / ".venv").is_dir()
    steps = {"python": {"outputs": {"python-version": "3.11.7"}},
             "cache": {"outputs": {"cache-hit": str(there).lower()}}}  # fmt: skip
    tools = owner.folder.parent / "tools"
    if not there:
        (owner.folder / "wheels").mkdir()
        shutil.copy(wheel, owner.folder / "wheels")
        tools.mkdir()
        make = f'PYTHONPATH="{project}" exec "{sys.executable}" -P -m tests.workflow.owners "$PWD/$3" "{wheel}"'
        (tools / "python").write_text(f'#!/bin/sh\n[ "$1 $2" = "-m venv" ] && {make}\n')
        (tools / "python").chmod(0o755)
    around = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(owner.folder.parent), "LC_ALL": "C.UTF-8",
              "PIP_NO_INDEX": "1"}  # fmt: skip
    return actions.Job(reusable, "check", owner.folder, {"github": github, "inputs": inputs, "steps": steps}, around)


def test_the_workflow_of_init_runs_step_by_step(another: Owner, owner: Owner, project: Path) -> None:
    """A push to the default branch installs, checks and builds the site; a request with an edit fails, and says why."""
    [wheel] = (owner.folder.parent / "wheel").glob("*.whl")
    push = check_site(another, project, wheel, {"event_name": "push", "ref_name": "main"})
    assert push.run(), push.done
    assert [step.name for step in push.done] == [step.get("name", step.get("uses", "").partition("@")[0])
                                                 for step in push.job["steps"]]  # fmt: skip
    assert "All is good: 1 lesson verified." in push.summary
    assert push.outputs()["summary"].strip() == push.summary.strip()
    cache, pages, reports = (step.given for step in push.done if "path" in step.given)
    assert cache["key"] == "lessonpress-Linux-X64-3.11.7-requirements.txt"
    assert pages["files"].endswith("artifact.tar")
    assert {"work/verify/report.html", "work/verify/junit.xml", "work/logs"} <= set(reports["files"].split("\n"))
    deploys = {name: actions.Job(actions.read_workflow(another.folder / repository.SITE), "deploy", another.folder,
                                 {"github": {**push.known["github"], "event_name": name}}, {}).runs()
               for name in ("push", "pull_request")}  # fmt: skip
    assert deploys == {"push": True, "pull_request": False}

    [old] = another.revisions()
    recipe = another.folder / "lessons" / repository.LESSON / "lesson.yaml"
    recipe.write_text(re.sub(r"(?m)^title:.*$", "title: Another title", recipe.read_text(encoding="utf-8")), "utf-8")
    another.git("commit", "--quiet", "--all", "--message", "another title")
    another.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
    request = check_site(another, project, wheel, {"event_name": "pull_request", "base_ref": "main"})
    assert not request.run()
    names = [step.name for step in request.done]
    assert names[-3:] == ["Check", "Hand over the summary", "Keep the reports"]
    assert "Install" not in names
    [new] = another.revisions() - {old}
    assert f"revision {old} → {new} because of: prose" in request.done[-3].output
    assert "Another title" in request.outputs()["summary"]
    assert {"work/diff/review.html", "work/diff/review.md"} <= set(request.done[-1].given["files"].split("\n"))


MISTAKES: dict[str, tuple[str, Callable[[str], str], str]] = {
    "a setting": ("config.yaml", lambda text: text.replace("title:", "titel:"), r"config\.yaml:\d+: site\.titel: unkn"),
    "a recipe": (f"lessons/{repository.LESSON}/lesson.yaml", lambda text: text.replace("tensor: score", "tensor: scor"),
                 r"lessons/first-lesson/lesson\.yaml:\d+: experiment\.record\.vectors\[0\]\.tensor: "),
}  # fmt: skip


@pytest.mark.parametrize("mistake", tiers.some(MISTAKES, len(MISTAKES)))
def test_a_mistake_is_reported_at_its_line(mistake: str, another: Owner) -> None:
    """Files are named as they lie in the owner's repository, and nothing is published."""
    file, spoil, message = MISTAKES[mistake]
    path = another.folder / file
    path.write_text(spoil(path.read_text(encoding="utf-8")), encoding="utf-8")
    done = another.python_m("snakemake", "--cores", "1")
    assert done.returncode == 1
    assert re.search(rf"(?m)^{message}", done.stdout + done.stderr), done.stdout + done.stderr
    assert another.git("status", "--porcelain", "--", "results") == ""


def later(project: Path, to: Path) -> Path:
    """The wheel of a later lessonpress, whose pages look otherwise."""
    for name in ("src", "templates", "workflow", "profiles", "scripts", "Snakefile", "pyproject.toml", "README.md",
                 "LICENSE"):  # fmt: skip
        copy = shutil.copytree if (project / name).is_dir() else shutil.copy
        copy(project / name, to / name)
    first = to / "src" / "lessonpress" / "__init__.py"
    first.write_text(first.read_text(encoding="utf-8").replace(__version__, "99.0"), encoding="utf-8")
    style = to / "templates" / "page.css"
    style.write_text(style.read_text(encoding="utf-8") + ".later { color: teal; }\n", encoding="utf-8")
    return built(to, to / "wheel")


def test_a_later_lessonpress_publishes_beside_what_an_earlier_one_did(
    another: Owner, tmp_path: Path, project: Path
) -> None:
    """After an upgrade verify names both versions; publishing adds a revision and keeps the old one's bytes."""
    (tmp_path / "later").mkdir()
    upgraded = Owner(environment(tmp_path / "venv", later(project, tmp_path / "later")), another.folder)
    done = upgraded.python_m("snakemake", "--cores", "1", "verify")
    assert done.returncode == 1
    assert f"templates (1 file), lessonpress: {__version__} → 99.0" in done.stdout
    [old] = another.revisions()
    said = upgraded.snakemake("--config", "note=lessonpress 99")
    [new] = another.revisions() - {old}
    assert f"revision {old} → {new} because of: templates" in said
    assert "All is good" in upgraded.snakemake("verify")
    assert upgraded.git("status", "--porcelain", "--", f"results/models/{repository.LESSON}/{old}") == ""
    assert "“lessonpress 99”" in good(upgraded.python_m("lessonpress", "history", repository.LESSON))
