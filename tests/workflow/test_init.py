"""A repository of somebody's own: an installed wheel, `lessonpress init`, and the commands that its README names."""

import email
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lessonpress import __version__
from lessonpress.authoring import repository
from tests import tiers
from tests.workflow import environments

pytestmark = pytest.mark.workflow

Done = subprocess.CompletedProcess[str]


def run(command: list[str], folder: Path, **around: str) -> Done:
    """Run a command in a folder with nothing of this test's own environment but what is given."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder.parent), "LC_ALL": "C.UTF-8", **around}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def good(done: Done) -> str:
    """All that a command said, once it has succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@dataclass(frozen=True)
class Owner:
    """Somebody with a Python that has lessonpress from a wheel, and with a repository."""

    python: Path
    folder: Path

    def python_m(self, *arguments: str, **around: str) -> Done:
        """Run a module of the installed packages in the repository."""
        return run([str(self.python), "-m", *arguments], self.folder, **around)

    def snakemake(self, *arguments: str) -> str:
        """Run Snakemake with one core."""
        return good(self.python_m("snakemake", "--cores", "1", *arguments))

    def git(self, *arguments: str) -> str:
        """Run git as the owner."""
        return good(run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments], self.folder))

    def commit(self) -> None:
        """Commit everything that is not ignored."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "as it stands")

    def revisions(self) -> set[str]:
        """The revisions of the first lesson."""
        return {path.name for path in (self.folder / "results" / "models" / repository.LESSON).iterdir()
                if path.is_dir()}  # fmt: skip


def built(project: Path, to: Path) -> Path:
    """The wheel of a project, made by the build tool that the lock names."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(to), "."]
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=300)
    [wheel] = to.glob("*.whl")
    return wheel


def environment(folder: Path, wheel: Path) -> Path:
    """The Python of a new environment with our dependencies, and with lessonpress from a wheel only.

    The dependencies are this environment's own files under a second name: what is fresh here is lessonpress.
    """
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        described = email.message_from_bytes(archive.read(name))
    needed = [each for each in described.get_all("Requires-Dist", []) if "extra ==" not in each]
    python = environments.make(folder, [*needed, "pip"])
    command = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([python, *command], check=True, capture_output=True, timeout=300)
    return python


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


def test_a_clone_can_be_checked_and_edited(another: Owner) -> None:
    """What CI runs passes in a fresh clone, and fails once a lesson was edited; the edit is a revision of its own."""
    script = ["bash", "scripts/check_site.sh"]
    around = {"PYTHON": str(another.python), "CORES": "1"}
    good(run(script, another.folder, **around))
    [old] = another.revisions()
    recipe = another.folder / "lessons" / repository.LESSON / "lesson.yaml"
    recipe.write_text(re.sub(r"(?m)^title:.*$", "title: Another title", recipe.read_text(encoding="utf-8")), "utf-8")
    done = run(script, another.folder, **around)
    assert done.returncode == 1
    [new] = another.revisions() - {old}
    assert f"revision {old} → {new} because of: prose" in done.stdout + done.stderr


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
