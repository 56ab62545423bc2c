"""Verb gather: publish what was produced, one lesson after the other, and bring the pages around them up to date.

However many machines produce, one process gathers: only it writes `results/`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from lessonpress import batch, pace, publish, site
from lessonpress.errors import LessonError, LessonErrors
from lessonpress.settings import Config

# What Snakemake's report shows of every lesson, by folder of `work/report/`, and the ending that it needs there.
SHOWN = {"checks": ("checks.json", ".json"), "drift": ("published.json", ".json"),
         "previews": ("revision/preview.svg", ".svg")}  # fmt: skip


def gather(config: Config, done: Sequence[Path], log: Path | None = None) -> None:
    """Publish every lesson of the batches' results that was produced, then renew the pages around the lessons.

    Raises LessonErrors with the mistakes of all lessons that failed, after everything else has been done.
    """
    outcomes = [outcome for path in done for outcome in batch.read(path)]
    mistakes: list[LessonError] = []
    failed = 0
    with pace.of("publishing", len(outcomes), log) as told:
        for outcome in outcomes:
            found = list(outcome.mistakes) or _published(config, outcome.slug, told)
            mistakes, failed = mistakes + found, failed + bool(found)
            told.advance(failed=bool(found))
        told.say(site.site(config))
    _show(config)
    if mistakes:
        if len(outcomes) > 1:
            others = "the others are published" if failed < len(outcomes) else "none is published anew"
            print(f"{failed} of {len(outcomes)} lessons failed; {others}.", flush=True)
        raise LessonErrors(mistakes)


def _published(config: Config, slug: str, told: pace.Pace) -> list[LessonError]:
    """Publish one lesson; answers what stood in its way."""
    try:
        told.say(publish.publish(config, slug))
    except LessonError as error:
        return error.errors if isinstance(error, LessonErrors) else [error]
    return []


def _show(config: Config) -> None:
    """Lay out `work/report/`: for every lesson links to the files that the report is made of."""
    for name, (file, suffix) in SHOWN.items():
        folder = Path(config.work) / "report" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        for lesson in sorted(Path(config.lessons).glob("*/lesson.yaml")):
            made = config.room(lesson.parent.name) / file
            if made.is_file():
                _link(made, folder / f"{lesson.parent.name}{suffix}")


def _link(made: Path, place: Path) -> None:
    try:
        os.link(made, place)
    except OSError:  # a file system that has no links
        shutil.copyfile(made, place)
