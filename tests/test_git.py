"""What git says of the published site does not depend on what is around: hooks, replaced commits, settings."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lessonpress.core import git


def run(folder: Path, *words: str) -> str:
    """Run git in a folder as somebody."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def repository(folder: Path, *texts: str) -> Path:
    """A repository with a commit for each text of one file; answers the folder of that file."""
    results = folder / "results"
    results.mkdir(parents=True)
    run(folder, "init", "-q", "-b", "main")
    for text in texts:
        (results / "x").write_text(text)
        run(folder, "add", "-A")
        run(folder, "commit", "-q", "-m", text)
    return results


def test_a_hook_of_another_repository_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """git tells a hook by the environment where its repository is; what is asked is the folder's."""
    here, other = repository(tmp_path / "here", "1", "2"), repository(tmp_path / "other", "a")
    head = run(here, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other.parent / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.parent))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert git.read_head(here) == head
    assert [kind for kind, _, _ in git.list_committed_changes(here)] == ["A", "M"]
    assert git.list_changes(here) == []
    assert git.has_commits(tmp_path) is False


def test_a_replaced_commit_hides_nothing(tmp_path: Path) -> None:
    """`git replace` and grafts show other commits than there are: a publication could so never have been."""
    here = repository(tmp_path, "1", "2", "3")
    run(here, "replace", "--graft", "HEAD")
    assert run(here, "rev-list", "--count", "HEAD") == "1"
    assert [kind for kind, _, _ in git.list_committed_changes(here)] == ["A", "M", "M"]
    run(here, "replace", "-d", run(here, "rev-parse", "HEAD"))
    info = tmp_path / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "grafts").write_text(run(here, "rev-parse", "HEAD") + "\n")
    assert run(here, "rev-list", "--count", "HEAD") == "1"
    assert [kind for kind, _, _ in git.list_committed_changes(here)] == ["A", "M", "M"]
    assert not git.is_shallow(here)
