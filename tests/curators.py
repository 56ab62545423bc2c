"""Curators with clones of one repository of small lessons, for tests of what git does to a published site.

Nothing of theirs is simulated but the runs: recorded values are hand-made, so that publishing needs no worker.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lessonpress.build import steps
from lessonpress.build.steps import Made
from lessonpress.core.settings import Config
from lessonpress.publishing import doctor, git_setup, merge, publish, site
from tests import tiny

WORDS = "title: One\n# so far apart that git merges both\n# \nquestion: Why?"
QUIET = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_EDITOR": "true", "LC_ALL": "C"}


@dataclass(frozen=True)
class Curator:
    """Somebody with a clone."""

    name: str
    folder: Path

    @property
    def config(self) -> Config:
        """The settings, by absolute paths: tests do not change their working folder."""
        return tiny.at(self.folder)

    def git(self, *words: str, good: bool = True) -> subprocess.CompletedProcess[str]:
        """Run git as this person."""
        who = ["-c", f"user.name={self.name}", "-c", f"user.email={self.name}@example.org"]
        done = subprocess.run(["git", *who, *words], cwd=self.folder, env={**os.environ, **QUIET}, text=True,
                              capture_output=True, timeout=120, check=False)  # fmt: skip
        assert not good or done.returncode == 0, (words, done.stdout, done.stderr)
        return done

    def commit(self, message: str) -> None:
        """Commit everything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)

    def edit(self, slug: str, key: str, text: str) -> None:
        """Give one key of a recipe other words; every key stands on a line of its own."""
        path = self.config.lesson(slug) / "lesson.yaml"
        words = path.read_text(encoding="utf-8")
        path.write_text(re.sub(rf"(?m)^{key}: .*$", f"{key}: {text}", words), encoding="utf-8")

    def publish(self, slug: str, note: str | None = None) -> str:
        """Publish a lesson as it stands, with the pages; answers the revision that it then has."""
        with without_worker():
            work = tiny.made(self.config, slug)
            assert not publish.publish(work, note=note).mistakes
        site.write_site(self.config)
        return tiny.revision(work)

    def merge(self) -> merge.Result:
        """Type `lessonpress merge`."""
        with without_worker():
            return merge.merge(self.config)

    def faults(self) -> str:
        """What the doctor says."""
        return "\n".join(fault.words() for fault in doctor.find_faults(self.config))

    def clone(self, name: str) -> Curator:
        """Somebody else, with a clone."""
        self.git("clone", "--quiet", str(self.folder), str(self.folder.parent / name))
        other = Curator(name, self.folder.parent / name)
        other.set_driver()
        return other

    def set_driver(self) -> None:
        """Have this clone merge as `lessonpress merge --setup` says."""
        list(git_setup.set_driver(self.folder))


@contextmanager
def without_worker() -> Iterator[None]:
    """Let runs be the hand-made ones, for every lesson."""
    captured = tiny.capture()
    checks = Made({"checks": [tiny.verdict()]})
    rehearsed = Made({"slug": "any"})
    with tiny.standing_in(execute=Made(captured, {"mutants.json": b"{}"}), check=checks, rehearse=rehearsed):
        yield


def begin(root: Path, slugs: list[str], name: str = "ada") -> Curator:
    """A repository in which somebody has published lessons, with the attributes that `init` writes."""
    curator = Curator(name, root / name)
    for slug in slugs:
        recipe = tiny.RECORDED.replace("slug: echo", f"slug: {slug}").replace("title: Echo", WORDS)
        tiny.write(curator.config.lesson(slug), recipe=recipe, checks=tiny.CHECKS)
        curator.publish(slug)
    (curator.folder / ".gitattributes").write_text(git_setup.format_attributes("results", "lessons"), "utf-8")
    (curator.folder / ".gitignore").write_text("/work/\n*.tmp-*\n", "utf-8")
    curator.git("init", "--quiet", "--initial-branch=main")
    curator.set_driver()
    curator.commit("begin")
    return curator


def state(work_slug: str, config: Config) -> str:
    """The state of a lesson's files, as the steps name it."""
    return steps.open_build(config, work_slug).key
