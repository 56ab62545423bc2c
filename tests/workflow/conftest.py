"""A small house of its own for each test: our rules, one tiny lesson, and Snakemake as a curator runs it."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from lessonpress import sandbox
from lessonpress.build import code_digest
from lessonpress.core import config
from lessonpress.core.settings import Config
from tests.workflow import swift

TINY = "tiny-affine"
MODEL, JUDGE = "lessonpress.worker.program", "lessonpress.worker.judge"  # as the servers' logs name them


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

    @property
    def settings(self) -> Config:
        """The house's settings with absolute folders, so that no test needs another working directory."""
        folders = {name: str(self.folder / name) for name in ("lessons", "results", "work")}
        return config.read(self.folder / "config.yaml").model_copy(update=folders)

    def state(self, slug: str = TINY) -> Path:
        """Where the steps of a lesson's present state leave what they make."""
        return self.folder / "work" / slug / code_digest.compute_present_key(self.settings, slug)

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake with one core."""
        return self.run("snakemake", "--cores", "1", *arguments)

    def run(
        self, module: str, *arguments: str, around: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run Snakemake or our own command line in the house, in a process that need not import them first."""
        return swift.run(self.folder, [module, *arguments], {**os.environ, **(around or {})})

    def publish(self, *arguments: str) -> str:
        """Run Snakemake, which must succeed; answers all that it said."""
        done = self.snakemake(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def add(self, slug: str) -> Path:
        """Put a second lesson, the tiny one under another name, into the house; answers its folder."""
        folder = self.folder / "lessons" / slug
        shutil.copytree(self.lesson, folder)
        recipe = folder / "lesson.yaml"
        recipe.write_text(recipe.read_text(encoding="utf-8").replace(f"slug: {TINY}", f"slug: {slug}"), "utf-8")
        return folder

    def served(self) -> list[str]:
        """What the servers of the last run noted, line by line; nothing where none was started."""
        logs = sorted((self.folder / ".snakemake" / "log").glob("lessonpress-run-*.log"), key=os.path.getmtime)
        return logs[-1].read_text(encoding="utf-8").splitlines() if logs else []

    def forget_logs(self) -> None:
        """Remove the servers' logs, so that the next one is that of the next run."""
        for log in (self.folder / ".snakemake" / "log").glob("lessonpress-run-*.log"):
            log.unlink()

    def edit(self, file: str, old: str, new: str, slug: str = TINY) -> None:
        """Replace text that stands once in a file of a lesson, by default the tiny one."""
        path = self.folder / "lessons" / slug / file
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


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    """Let what a module's tests run in this process load torch once, as a run of many lessons does."""
    with sandbox.keep_servers():
        yield


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
