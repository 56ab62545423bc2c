"""What git knows of the published site: whether a path is in a commit, and how it stands in the last one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

# What `git rev-parse --local-env-vars` lists, but for settings.
_ELSEWHERE = frozenset({
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_NAMESPACE",
    "GIT_IMPLICIT_WORK_TREE", "GIT_INTERNAL_SUPER_PREFIX",
})  # fmt: skip


def has_commits(folder: Path) -> bool:
    """Whether a folder lies in a git repository that has a commit."""
    return _git(folder, "rev-parse", "--verify", "--quiet", "HEAD") is not None


def read_head(folder: Path) -> str | None:
    """The commit on which a folder's working tree rests; None outside git."""
    return (_git(folder, "rev-parse", "HEAD") or b"").decode().strip() or None


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


def list_commits(folder: Path, path: Path) -> list[str]:
    """The commits that changed `path`, the newest first: those before this one, then those of other branches."""
    lists = (_git(folder, "rev-list", since, "--", str(path.resolve())) for since in ("HEAD", "--all"))
    return list(dict.fromkeys(commit for listing in lists for commit in (listing or b"").decode().split()))


def read_blob(folder: Path, commit: str, path: Path) -> bytes | None:
    """A file's bytes in a commit, or None when it is not there."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return None
    name = path.resolve().relative_to(Path(top.decode().rstrip("\n")).resolve()).as_posix()
    return _git(folder, "cat-file", "blob", f"{commit}:{name}")


def read_objects(folder: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The bytes of objects by their names, all of them read by one command; those that are there."""
    output, out, at = _git(folder, "cat-file", "--batch", stdin="\n".join(names).encode()) or b"", {}, 0
    while (end := output.find(b"\n", at)) >= 0:
        name, kind, *size = output[at:end].decode().split()
        length = int(size[0]) if kind == "blob" else -1  # "missing" has no body
        if length >= 0:
            out[name] = output[end + 1 : end + 1 + length]
        at = end + 1 + (length + 1 if length >= 0 else 0)
    return out


def list_committed_changes(folder: Path) -> list[tuple[str, str, str]]:
    """Every change of a file below `folder` by a commit up to this one, oldest first: `A`, `M` or `D`, name, blob."""
    output = _git(folder, "log", "--reverse", "--topo-order", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m",
                  "-z", "--relative", "HEAD", "--", ".")  # fmt: skip
    parts = (output or b"").decode("utf-8", "replace").split("\0")
    facts = [(fact.split(), name) for fact, name in zip(parts[0::2], parts[1::2], strict=False)]
    return [(fact[4][:1], name, fact[3]) for fact, name in facts]


def list_blobs(folder: Path) -> dict[str, str]:
    """The blob of each file below `folder` in the last commit, by relative name."""
    output = _git(folder, "ls-tree", "-r", "-z", "HEAD", "--", ".")
    entries = (entry.split("\t", 1) for entry in (output or b"").decode("utf-8", "replace").split("\0") if entry)
    return {name: facts.split()[2] for facts, name in entries}


def is_shallow(folder: Path) -> bool:
    """Whether the clone lacks the commits before some."""
    return (_git(folder, "rev-parse", "--is-shallow-repository") or b"").strip() == b"true"


def list_changes(folder: Path) -> list[tuple[str, str]]:
    """Committed files below `folder` that the working tree has changed (`M`) or deleted (`D`), by relative name.

    What HEAD does not hold (staged by `git add`, by a merge or a stash) is none of them.
    """
    listing = _git(folder, "diff", "--name-status", "-z", "--no-renames", "--relative", "--diff-filter=MDT", "HEAD",
                   "--", ".")  # fmt: skip
    parts = (listing or b"").decode("utf-8", "replace").split("\0")
    return list(zip(parts[0::2], parts[1::2], strict=False))


def _environment() -> dict[str, str]:
    """This process's environment, but for what names another repository than that of the folder, as hooks have it.

    Commits count as they are: what somebody has put in their places (git replace, grafts) could hide a publication.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    return {**kept, "GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes | None:
    """A git command's output; None when it fails, or when there is no git."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, input=stdin, capture_output=True, timeout=60,
                              check=False, env=_environment())  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
