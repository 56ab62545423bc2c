"""The mistakes of all lessons in one report; and the names by which other workflows ask for a lesson's files."""

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
    """The mistakes of all lessons that have any, by the names of their folders, as their receipts list them."""
    folder = Path(config.lessons)
    mistakes = {slug: _read_receipt(config, slug) for slug in lesson_files.slugs(folder)}
    mistakes |= {name: _check_odd_name(folder / name) for name in lesson_files.odd_names(folder)}
    return {name: errors for name, errors in mistakes.items() if errors}


def _read_receipt(config: Config, slug: str) -> list[LessonError]:
    """The mistakes of a lesson's present state; none where a step was stopped: that step has reported why."""
    folder = config.work_dir(slug) / code_digest.compute_present_key(config, slug)
    receipts = [artifact.read(path) for path in sorted(folder.glob("published*.json"))]
    return next((list(receipt.mistakes) for receipt in receipts if receipt and receipt.mistakes), [])


def _check_odd_name(folder: Path) -> list[LessonError]:
    """What is wrong with a folder whose name cannot be a slug."""
    try:
        source_record.hash_lesson(folder)
    except LessonErrors as errors:
        return errors.errors
    except LessonError as error:
        return [error]
    return [LessonError(os.path.relpath(folder), "no lesson can be called so", "a-z, 0-9, hyphens, at most 100",
                        "Rename the folder, and the slug in its recipe.")]  # fmt: skip


def summarise(config: Config, mistakes: Mapping[str, Sequence[LessonError]]) -> str:
    """How many lessons failed, in a sentence."""
    folder = Path(config.lessons)
    count = len(lesson_files.slugs(folder)) + len(lesson_files.odd_names(folder))
    others = "the others are published" if len(mistakes) < count else "none was published"
    return f"{len(mistakes)} of {count} lessons failed; {others}." if count > 1 else "The lesson failed."


def write_receipt(receipt: Path) -> None:
    """Write the receipt which says that there is no mistake."""
    artifact.write(receipt, "", {"good": True})


def copy_to_stable_names(config: Config, slug: str, key: str | None, files: Sequence[str]) -> None:
    """Copy files of a lesson's present state to `work/<slug>/<file>`. Raises LessonErrors where it has mistakes."""
    work = steps.open_build(config, slug, key)
    artifact.settle_times(work.folder)
    for file in files:
        if file not in STEP_FILES:
            raise LessonError(f"work/{slug}/{file}", "no step leaves such a file", f"one of: {', '.join(STEP_FILES)}")
        work.artifact(STEP_FILES[file]).raise_mistakes()
        beside = config.work_dir(slug) / f".{file}.tmp-{os.getpid()}"
        shutil.copyfile(work.folder / file, beside)
        beside.replace(config.work_dir(slug) / file)
