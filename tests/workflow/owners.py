"""Somebody with a repository of their own, and a Python that has lessonpress from a wheel."""

from __future__ import annotations

import email
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from lessonpress.authoring import repository
from tests.workflow import environments

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
    """The Python of a new environment with our dependencies, and with lessonpress from a wheel only."""
    python = make_without(folder, wheel)
    command = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([python, *command], check=True, capture_output=True, timeout=300)
    return python


def make_without(folder: Path, wheel: Path) -> Path:
    """The Python of a new environment with what a wheel of lessonpress requires, and without lessonpress.

    The dependencies are this environment's own files under a second name.
    """
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        described = email.message_from_bytes(archive.read(name))
    needed = [each for each in described.get_all("Requires-Dist", []) if "extra ==" not in each]
    return environments.make(folder, [*needed, "pip"])


if __name__ == "__main__":  # as `python -m venv FOLDER`, for commands that would then fetch what a wheel requires
    make_without(*(Path(argument).resolve() for argument in sys.argv[1:]))
