"""Command preview: take any lesson folder through everything but publishing, into a folder of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lessonpress.authoring import lint
from lessonpress.authoring.lint.sources import Sources
from lessonpress.build import lesson_links, steps
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import suggestions
from lessonpress.core.errors import LessonError, LessonErrors, WrongUsage
from lessonpress.core.settings import Config
from lessonpress.lesson import reader
from lessonpress.publishing import publish
from lessonpress.revision import identity
from lessonpress.web.page import expressions

ALWAYS = frozenset({"SHA256SUMS", "bundle.zip"})  # a revision's files that its own list leaves out


@dataclass(frozen=True)
class Preview:
    """A finished preview: its page, hints in words, what failed (the bundle's run, checks; else None), what is lacking.

    Both of the last two are reasons for which publish would refuse the lesson.
    """

    page: Path
    words: str
    failed: LessonError | None
    lacking: tuple[LessonError, ...]


def make_preview(config: Config, path: Path, out: Path | None = None) -> Preview:
    """Put the complete revision folder of the lesson in `path` into `out`, whole or not at all.

    `path` may also be the lesson's recipe, or its slug. Raises LessonError where the lesson is wrong, WrongUsage for an
    `out` that holds anything but an earlier preview.
    """
    folder = require_folder(config, path, out)
    with tempfile.TemporaryDirectory(prefix="lessonpress-") as scratch:
        return build_preview(config, folder, (out or Path(f"preview-{folder.name}")).resolve(), Path(scratch))


def build_preview(
    config: Config, folder: Path, to: Path, work_dir: Path, shown: Callable[[], None] = lambda: None
) -> Preview:
    """Do every step of the lesson in `folder` but publishing, with `work_dir` for what the steps leave, and put the
    revision into `to`; what an earlier call left in `work_dir` is not done again.

    `shown` is called as soon as the page is there, before its bundle is tried. Raises LessonError where the lesson is
    wrong.
    """
    settings = config.model_copy(update={"lessons": str(folder.parent), "work": str(work_dir)})
    work = steps.open_build(settings, folder.name)
    words = _perform_steps(work)
    replace_folder(work.revision, to)
    shown()
    tried = steps.perform(work, "rehearse")
    failed = [*tried.mistakes, *publish.find_failed_checks(work)]
    # A folder may be looked at alone; published it is among the lessons to which it links.
    lacking = (*lesson_links.find_missing(config, work.lesson), *publish.find_untested_checks(work),
               *publish.find_missing_packages(work))  # fmt: skip
    steps.sweep_states(work)
    page_file = Path(os.path.relpath(to)) / "index.html"
    return Preview(page_file, words, LessonErrors(failed) if failed else None, lacking)


def require_folder(config: Config, path: Path, out: Path | None) -> Path:
    """The folder of the lesson that is meant. Raises WrongUsage where its preview must not be put."""
    folder = find_folder(config, path)
    require_free(config, folder, (out or Path(f"preview-{folder.name}")).resolve())
    return folder


def find_folder(config: Config, path: Path) -> Path:
    """The lesson's folder that is meant: by its path, by its recipe's path, or by its slug.

    Raises WrongUsage when there is no such folder.
    """
    if path.name == reader.RECIPE and path.is_file():
        path = path.parent
    by_slug = config.lesson(str(path))
    folder = by_slug if not path.exists() and by_slug.is_dir() else path
    if not folder.is_dir():
        known = sorted(each.parent.name for each in Path(config.lessons).glob(f"*/{reader.RECIPE}"))
        near = suggestions.nearest(path.name, known)
        fix = f"Did you mean {config.lesson(near[0])}?" if near else f"To begin it, type: lessonpress new {path.name}"
        raise WrongUsage(str(path), "there is no such folder", "a lesson's folder, or its name", fix)
    return folder.resolve()


def _perform_steps(work: LessonBuild) -> str:
    """Perform all steps from hash to render; returns their hints."""
    steps.perform(work, "hash")
    if mistakes := expressions.find_misnamed(work.lesson):  # in lint's words, and before anything runs
        raise LessonErrors(mistakes)
    hints = steps.perform_all(work, "render")
    return "\n".join([*lint.list_hints(Sources.read(work.lesson)), *hints])


def require_free(config: Config, folder: Path, to: Path) -> None:
    """Raise WrongUsage where a preview must not be put: over sources, over the site, over other files."""
    where = f"--out {os.path.relpath(to)}"
    results = Path(config.results).resolve()
    if folder == to or folder in to.parents:
        raise WrongUsage(where, "this lies in the lesson's own folder", "a folder beside it", "Name another folder.")
    if results == to or results in to.parents or _is_published(to):
        raise WrongUsage(where, "this is the published site", "that one never changes", "Name another folder.")
    if to.exists() and not to.is_dir():
        raise WrongUsage(where, "this is a file", "a folder to make, or an earlier preview", "Name another folder.")
    foreign = next(_list_foreign(to), None) if to.is_dir() else None
    if foreign:
        raise WrongUsage(where, f"the folder holds {foreign}, which no preview put there",
                         "an empty folder or an earlier preview, which is replaced whole",
                         "Name another folder, or remove this one.")  # fmt: skip


def _is_published(folder: Path) -> bool:
    """Whether a folder has the name that its identity gives it, as published revisions do and previews do not."""
    file = folder / "identity.json"
    if not file.is_file():
        return False
    return identity.compute_revision(file.read_text(encoding="utf-8", errors="replace")) == folder.name


def _list_foreign(folder: Path) -> Iterator[str]:
    """The files of a folder that no preview's list of files names; Python's caches are left out."""
    listed = folder / "SHA256SUMS"
    lines = listed.read_text(encoding="utf-8", errors="replace").splitlines() if listed.is_file() else []
    known = {line.partition("  ")[2] for line in lines} | (ALWAYS if lines else set())
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        plain_folder = path.is_dir() and not path.is_symlink()
        if name not in known and not plain_folder and "__pycache__" not in path.parts:
            yield name


def replace_folder(made: Path, to: Path) -> None:
    """Put a finished folder into its place, instead of what is there: a reader never sees half of it, or a mixture."""
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".lessonpress-", dir=to.parent) as beside:
        new = shutil.copytree(made, Path(beside) / "new")
        if to.exists():
            to.rename(Path(beside) / "old")
        new.rename(to)
