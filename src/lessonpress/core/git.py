"""What git knows of the published site: whether a path is in a commit, and how it stands in the last one."""

from __future__ import annotations

import subprocess
from pathlib import Path


def has_commits(folder: Path) -> bool:
    """Whether a folder lies in a git repository that has a commit."""
    return _git(folder, "rev-parse", "--verify", "--quiet", "HEAD") is not None


def holds(folder: Path, path: Path) -> bool:
    """Whether any commit of any branch or tag holds something below `path`."""
    return bool(_git(folder, "rev-list", "-n", "1", "--all", "--", str(path.resolve())))


def read_at_head(folder: Path, path: Path) -> bytes | None:
    """A file's bytes in the last commit, or None when it is not there."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return None
    name = path.resolve().relative_to(Path(top.decode().rstrip("\n")).resolve()).as_posix()
    return _git(folder, "cat-file", "blob", f"HEAD:{name}")


def list_changes(folder: Path) -> list[tuple[str, str]]:
    """Committed files below `folder` that the working tree has changed (`M`) or deleted (`D`), by relative name."""
    listing = _git(folder, "diff", "--name-status", "-z", "--no-renames", "--relative", "HEAD", "--", ".")
    parts = (listing or b"").decode("utf-8", "replace").split("\0")
    return list(zip(parts[0::2], parts[1::2], strict=False))


def _git(folder: Path, *arguments: str) -> bytes | None:
    """A git command's output; None when it fails, or when there is no git."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
