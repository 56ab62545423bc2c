"""What git knows of the published site: whether a path is in a commit, and how it stands in the last one."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Collection, Iterable
from pathlib import Path

# Git's files that name the commit which it is about to bring in.
UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD")
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
    return read_blob(folder, "HEAD", path)


def list_commits(folder: Path, path: Path, tips: Iterable[str] = ("HEAD", "--all")) -> list[str]:
    """The commits that changed `path`, the newest first: those before this one, then those of other branches.

    With `tips` those before these.
    """
    lists = (_git(folder, "rev-list", "--full-history", since, "--", str(path.resolve())) for since in tips)
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


def list_committed_changes(folder: Path, commits: Iterable[str] = ("HEAD",)) -> list[tuple[str, str, str]]:
    """Every change of a file below `folder` by a commit up to some, oldest first: `A`, `M` or `D`, name, blob."""
    output = _git(folder, "log", "--reverse", "--topo-order", "--full-history", "--format=", "--raw", "--no-abbrev",
                  "--no-renames", "-m", "-z", "--relative", *commits, "--", ".")  # fmt: skip
    parts = (output or b"").decode("utf-8", "replace").split("\0")
    facts = [(fact.split(), name) for fact, name in zip(parts[0::2], parts[1::2], strict=False)]
    return [(fact[4][:1], name, fact[3]) for fact, name in facts]


def list_blobs(folder: Path, commit: str = "HEAD", below: str = ".") -> dict[str, str]:
    """The blob of each file below `folder` (or a path in it) in a commit, by name relative to `folder`."""
    output = _git(folder, "ls-tree", "-r", "-z", commit, "--", below)
    entries = (entry.split("\t", 1) for entry in (output or b"").decode("utf-8", "replace").split("\0") if entry)
    return {name: facts.split()[2] for facts, name in entries}


def name_blob(data: bytes, length: int) -> str:
    """What git calls a file of these bytes, in a repository whose names have so many digits."""
    digest = hashlib.sha1(usedforsecurity=False) if length == 40 else hashlib.sha256()
    digest.update(b"blob %d\0" % len(data) + data)
    return digest.hexdigest()


def list_tags(folder: Path) -> list[str]:
    """The tags of the repository that a folder lies in."""
    return (_git(folder, "tag", "--list") or b"").decode("utf-8", "replace").split()


def list_texts(folder: Path, endings: Collection[str]) -> list[Path]:
    """Files below `folder` that git holds, or would take, whose names end so; outside git all that are there."""
    output = _git(folder, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", ".")
    names = [Path(name) for name in output.decode("utf-8", "replace").split("\0") if name] if output is not None else [
        path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]  # fmt: skip
    return [folder / name for name in names if name.suffix in endings]


def find_commit(folder: Path, name: str) -> str | None:
    """The commit that a name means (`HEAD~2`, `origin/main`), or None."""
    return (_git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") or b"").decode().strip() or None


def find_merge_base(folder: Path, one: str, other: str) -> str | None:
    """The newest commit that two commits have in common, or None."""
    return (_git(folder, "merge-base", one, other) or b"").decode().strip() or None


def list_unfinished(folder: Path) -> list[tuple[str, str]]:
    """What git has begun and not finished, as (name of git's file, commit): a merge, a pick, a revert, a rebase."""
    out = []
    rebasing = any(_git_path(folder, name).exists() for name in ("rebase-merge", "rebase-apply"))
    for name in UNFINISHED:
        if name == "REBASE_HEAD" and not rebasing:  # git may leave it behind
            continue
        place = _git_path(folder, name)
        if place.is_file():
            out += [(name, commit) for commit in place.read_text(encoding="utf-8").split()]
    return out


def _git_path(folder: Path, name: str) -> Path:
    """Where git keeps one of its own files."""
    place = (_git(folder, "rev-parse", "--git-path", name) or b"").decode().rstrip("\n")
    return folder / place if place else folder / ".git" / name


def list_unmerged(folder: Path) -> list[str]:
    """The files below `folder` that a merge has left in conflict, by relative name."""
    output = _git(folder, "diff", "--name-only", "-z", "--diff-filter=U", "--relative", "--", ".")
    return [name for name in (output or b"").decode("utf-8", "replace").split("\0") if name]


def has_changes(folder: Path) -> bool:
    """Whether anything below `folder` is not as the last commit holds it, new files included."""
    return bool(_git(folder, "status", "--porcelain", "--untracked-files=normal", "--", "."))


def add_all(folder: Path) -> None:
    """Stage everything below `folder` as it lies there; conflicts are so resolved."""
    _git(folder, "add", "--all", "--", ".")


def find_top(folder: Path) -> Path | None:
    """The top folder of the working tree, or None outside git."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    return Path(top.decode().rstrip("\n")) if top else None


def read_setting(folder: Path, name: str) -> str | None:
    """A setting of git's configuration, or None."""
    value = _git(folder, "config", "--get", name)
    return None if value is None else value.decode("utf-8", "replace").rstrip("\n")


def write_setting(folder: Path, name: str, value: str) -> bool:
    """Set one for this repository alone; False where git refuses."""
    return _git(folder, "config", "--local", name, value) is not None


def read_attribute(folder: Path, path: Path, name: str) -> str:
    """What .gitattributes say of a path: `set`, `unset`, `unspecified` or a value; empty outside git."""
    output = _git(folder, "check-attr", "-z", name, "--", str(path.resolve()))
    parts = (output or b"").decode("utf-8", "replace").split("\0")
    return parts[2] if len(parts) > 2 else ""


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
