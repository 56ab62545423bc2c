"""Verb publish: put a rendered revision into the site, beside the earlier ones, whole or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lessonpress import canon, history, identity
from lessonpress.settings import Config
from lessonpress.errors import LessonError, LessonErrors


def publish(config: Config, slug: str, *, note: str | None = None) -> str:
    """Publish `work/<slug>/revision/` and write the receipt `work/<slug>/published.json`; answers what was done.

    Raises LessonError when a check failed; then nothing is published and earlier revisions stay as they are.
    """
    room = config.room(slug)
    rendered = canon.read(room / "rendered.json")
    require_passed(config, slug)
    folder = config.published(slug)
    with alone(config):
        words = _placed(folder, room / "revision", rendered, note)
    canon.write(room / "published.json", canon.pretty({"slug": slug, "revision": rendered["revision"]}))
    return f"{slug}: {words}"


def require_passed(config: Config, slug: str) -> None:
    """The gate: every check must have passed, else LessonError with a line for each that did not."""
    checks = canon.read(config.room(slug) / "checks.json")
    failed = [check for check in checks if not check["passed"]]
    if failed:
        raise LessonErrors([_failure(config, slug, check) for check in failed])


def _failure(config: Config, slug: str, check: dict[str, Any]) -> LessonError:
    file = canon.read(config.room(slug) / "source.json")["plan"]["checks"]
    where = f"{os.path.relpath(config.lesson(slug) / file)}:{check['line']}: {check['id']}"
    return LessonError(where, f"the check fails: measured {check['measured']!r}",
                       f"it must be {check['sense']} {check['bound']!r} ({check['sentence']})",
                       "Nothing was published; earlier revisions stay as they are.")  # fmt: skip


def _placed(folder: Path, new: Path, rendered: dict[str, Any], note: str | None) -> str:
    """Rename the new revision into its place, then enter it into the history; what is there already stays."""
    revision = rendered["revision"]
    told = history.read(folder, rendered["slug"])
    before, there = history.latest(told), (folder / revision).is_dir()
    if before == revision and there:
        return f"unchanged, revision {revision}"
    if not there:
        _move(new, folder / revision)
    if before == revision:
        return f"revision {revision} is back in its place"
    old = canon.read(folder / before / "identity.json") if before and (folder / before).is_dir() else None
    why = identity.reasons(old, canon.read(folder / revision / "identity.json"))
    at = canon.read(folder / revision / "manifest.json")["provenance"]["capturedAt"]
    history.write(folder, history.extended(told, revision, at, why, note))
    if before is None:
        return f"published revision {revision}"
    return f"revision {before} → {revision} because of: {', '.join(why)}"


def _move(new: Path, place: Path) -> None:
    """Copy a folder beside its place, flush it, and rename it in: it is there whole or not at all."""
    for left in place.parent.glob(".*.tmp-*"):  # by a publisher that was killed: we hold the lock, so nobody uses it
        shutil.rmtree(left, ignore_errors=True)
    beside = place.with_name(f".{place.name}.tmp-{os.getpid()}")
    try:
        for path in sorted(new.rglob("*")):
            if path.is_file():
                canon.write(beside / path.relative_to(new), path.read_bytes())
        os.rename(beside, place)
        _flush(place.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _flush(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def alone(config: Config) -> Iterator[None]:
    """Publishers take turns: a lock on the site's own folder, which no crash can leave behind."""
    folder = Path(config.results)
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
