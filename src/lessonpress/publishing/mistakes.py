"""What is wrong with lessons, told together; and the names under which other workflows find a lesson's files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from lessonpress.build import artifact, code_digest, source_record, steps
from lessonpress.core.errors import LessonError, LessonErrors
from lessonpress.core.settings import Config
from lessonpress.lesson import lesson_files

STEP_FILES = {file: step.file for step in steps.STEPS.values() for file in (step.file, *step.beside)
         if not file.endswith("/")}  # fmt: skip


def collect_mistakes(config: Config) -> dict[str, list[LessonError]]:
    """The mistakes of all lessons that have any, by their folders' names, as their receipts tell them."""
    folder = Path(config.lessons)
    told = {slug: _of_receipt(config, slug) for slug in lesson_files.slugs(folder)}
    told |= {name: _of_odd(folder / name) for name in lesson_files.odd_names(folder)}
    return {name: errors for name, errors in told.items() if errors}


def _of_receipt(config: Config, slug: str) -> list[LessonError]:
    """The mistakes of a lesson's present state; none where it was not finished, which whoever failed has told."""
    folder = config.work_dir(slug) / code_digest.compute_present_key(config, slug)
    receipts = [artifact.read(path) for path in sorted(folder.glob("published*.json"))]
    return next((list(receipt.mistakes) for receipt in receipts if receipt and receipt.mistakes), [])


def _of_odd(folder: Path) -> list[LessonError]:
    """What is wrong with a folder whose name can be no slug."""
    try:
        source_record.hash_lesson(folder)
    except LessonErrors as errors:
        return errors.errors
    except LessonError as error:
        return [error]
    return [LessonError(os.path.relpath(folder), "no lesson can be called so", "a-z, 0-9, hyphens, at most 100",
                        "Rename the folder, and the slug in its recipe.")]  # fmt: skip


def summarise(config: Config, told: Mapping[str, Sequence[LessonError]]) -> str:
    """How many lessons failed, in a sentence."""
    folder = Path(config.lessons)
    every = len(lesson_files.slugs(folder)) + len(lesson_files.odd_names(folder))
    others = "the others are published" if len(told) < every else "none is published anew"
    return f"{len(told)} of {every} lessons failed; {others}." if every > 1 else "The lesson failed."


def write_receipt(receipt: Path) -> None:
    """Say that there is no mistake."""
    artifact.write(receipt, "", {"good": True})


def copy_to_stable_names(config: Config, slug: str, key: str | None, files: Sequence[str]) -> None:
    """Copy files of a lesson's present state to `work/<slug>/<file>`. Raises the lesson's mistakes where it has any."""
    work = steps.open_build(config, slug, key)
    artifact.settle_times(work.folder)
    for file in files:
        if file not in STEP_FILES:
            raise LessonError(f"work/{slug}/{file}", "no step leaves such a file", f"one of: {', '.join(STEP_FILES)}")
        work.artifact(STEP_FILES[file]).raise_mistakes()
        beside = config.work_dir(slug) / f".{file}.tmp-{os.getpid()}"
        shutil.copyfile(work.folder / file, beside)
        beside.replace(config.work_dir(slug) / file)
