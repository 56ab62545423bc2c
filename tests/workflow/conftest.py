"""A small house of its own for each test: our rules, one tiny lesson, and Snakemake as a curator runs it."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

TINY = "tiny-affine"


@dataclass(frozen=True)
class House:
    """A repository with lessons, and what one can do in it."""

    folder: Path

    @property
    def lesson(self) -> Path:
        """The tiny lesson's folder."""
        return self.folder / "lessons" / TINY

    @property
    def published(self) -> Path:
        """Where the tiny lesson is published."""
        return self.folder / "results" / "models" / TINY

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake with one core."""
        return self.run("snakemake", "--cores", "1", *arguments)

    def run(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a module of the test's own Python in the house."""
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300, check=False)

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace text that stands once in a file of the tiny lesson."""
        path = self.lesson / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def revisions(self) -> list[str]:
        """The ids of the published revision folders."""
        return sorted(path.name for path in self.published.iterdir() if path.is_dir())

    def bytes(self) -> dict[str, bytes]:
        """Every published file's bytes."""
        results = self.folder / "results"
        return {str(path.relative_to(results)): path.read_bytes() for path in results.rglob("*") if path.is_file()}


def build(folder: Path, project: Path) -> House:
    """Put our rules and the tiny lesson into a new folder."""
    folder.mkdir()
    for name in ("workflow", "profiles"):
        shutil.copytree(project / name, folder / name)
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(project / name, folder / name)
    shutil.copytree(project / "tests" / "lessons" / TINY, folder / "lessons" / TINY)
    return House(folder)


@pytest.fixture
def house(tmp_path: Path, project: Path) -> House:
    """Give a house whose folder's name has a space and a quote, because adopters' have."""
    return build(tmp_path / "a curator's house", project)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, project: Path) -> House:
    """Publish one house, for `published` to copy."""
    house = build(tmp_path_factory.mktemp("template") / "house", project)
    done = house.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    return house


@pytest.fixture
def published(template: House, tmp_path: Path) -> House:
    """Give a house that has published its lesson once."""
    shutil.copytree(template.folder, tmp_path / "house")
    return House(tmp_path / "house")
