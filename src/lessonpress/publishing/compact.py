"""Superseded revisions as archives, where the settings say so; the current, the last and the pinned one are folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lessonpress.core import lock
from lessonpress.core.settings import Config
from lessonpress.publishing import integrity
from lessonpress.revision import history, packed
from lessonpress.revision.history import History


def list_plain(lesson_history: History) -> set[str]:
    """The revisions of a lesson that are always folders."""
    named = (lesson_history["current"], lesson_history["pinned"], history.find_latest(lesson_history))
    return {name for name in named if name}


def settle_lesson(config: Config, slug: str, lesson_history: History) -> int:
    """Pack what is superseded, if `earlier` is `packed`, and unpack what is current again; how many were packed.

    Only for the holder of the lock. A folder that is not as it was published is left for the doctor.
    """
    folder, plain = config.published(slug), list_plain(lesson_history)
    for name in sorted(plain):
        if not (folder / name).is_dir() and packed.exists(folder / name):
            packed.unpack_folder(folder / name)
    if config.earlier != "packed":
        packed.sweep_shared(folder)
        return 0
    count = 0
    for name in integrity.list_revisions(folder):
        place = folder / name
        known = history.has_revision(lesson_history, name) and name not in plain
        if known and place.is_dir() and not integrity.find_revision_faults(place, slug):
            packed.pack_folder(place)
            count += 1
    packed.sweep_shared(folder)
    return count


def pack_published(config: Config, slugs: Sequence[str] = ()) -> str:
    """Pack or unpack every lesson's revisions as the settings say; what was done, in words."""
    models = Path(config.results) / "models"
    names = list(slugs) or sorted(path.name for path in models.glob("*") if path.is_dir())
    with lock.hold(Path(config.results)):
        before = _measure(models)
        if config.earlier == "packed":
            counts = [settle_lesson(config, slug, history.read_history(config.published(slug), slug)) for slug in names]
            done = f"packed {sum(counts)}"
        else:
            places = [config.published(slug) / name for slug in names for name in packed.list_revisions(
                config.published(slug)) if not (config.published(slug) / name).is_dir()]  # fmt: skip
            for place in places:
                packed.unpack_folder(place)
            for slug in names:
                packed.sweep_shared(config.published(slug))
            done = f"unpacked {len(places)}"
    return f"{done} revisions: {before / 1e6:.1f} MB → {_measure(models) / 1e6:.1f} MB"


def _measure(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
