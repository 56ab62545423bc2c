"""A new repository for lessons: the files that it starts with, written all together or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from lessonpress import __version__
from lessonpress.authoring import new_lesson
from lessonpress.core import atomic_io, config, packaged_files
from lessonpress.core.errors import WrongUsage
from lessonpress.core.settings import Config
from lessonpress.publishing import git_setup
from lessonpress.revision import bundle

LESSON, SITE, REQUIREMENTS = "first-lesson", ".github/workflows/site.yml", "requirements.txt"
# What a file of the repository is made from, by lessonpress's own names. Names without their dot: a `.gitignore` among
# the templates would be obeyed there.
MADE_FROM: Mapping[str, str] = {
    "Snakefile": "templates/init/Snakefile",
    "README.md": "templates/init/README.md",
    REQUIREMENTS: "templates/init/requirements.txt",
    ".gitignore": "templates/init/gitignore",
    SITE: "templates/init/site.yml",
    "profiles/default/config.yaml": "profiles/default/config.yaml",
    "scripts/check_site.sh": "scripts/check_site.sh",
}
WORKFLOW = ".github/workflows/publish-check.yml"
OWNER = "OWNER/lessonpress"
FOUND_BESIDE = "--find-links wheels"  # pip looks there from the folder of requirements.txt


def create_repository(folder: Path, *, keep: bool = False) -> list[str]:
    """Write the files of a new repository into `folder`; returns what was written, and what is left to do, in words.

    A file that exists already is never overwritten: with `keep` it stays and the others are added, without it
    nothing is written. Raises WrongUsage with the names of all such files.
    """
    if folder.exists() and not folder.is_dir():
        raise WrongUsage(str(folder), "it is a file", "a folder, or a name that is free")
    there = folder / "config.yaml"
    settings = config.read(there) if keep and there.is_file() else None
    wanted = make_files(settings)
    taken = [name for name in wanted if _is_taken(folder, name)]
    if keep:
        kept = {*taken, *_list_first_lesson(folder, wanted, (settings or Config()).lessons)}
        wanted = {name: text for name, text in wanted.items() if name not in kept}
    elif taken:
        raise WrongUsage(str(folder), f"already there: {', '.join(taken)}", "",
                         "Nothing was written. Say --keep to keep them and add the others.")  # fmt: skip
    _write_all(folder, wanted)
    return [*(str(folder / name) for name in wanted), *git_setup.set_driver(folder), *_list_tasks(folder, wanted)]


def _list_tasks(folder: Path, written: Mapping[str, str]) -> Iterator[str]:
    """What only the owner of the repository can say or do."""
    if OWNER in written.get(SITE, ""):
        yield f"In {folder / SITE}: write whose lessonpress is used, in place of OWNER."
    if SITE in written:
        yield "On GitHub, once: Settings, Pages, Source: GitHub Actions. Elsewhere: lessonpress deploy DIR."
    if FOUND_BESIDE in written.get(REQUIREMENTS, ""):
        yield f"For others and for CI: put lessonpress's wheel into {folder / 'wheels'} and commit it."
    yield f"Next: {folder / 'README.md'} names the three commands."


def make_files(settings: Config | None = None) -> dict[str, str]:
    """Every file of a new repository, by name: what the repository cannot do without, and one lesson.

    `settings` are those of a config.yaml that is there already; it stays.
    """
    settings = settings or Config()
    requirement, workflow = find_origin()
    marks = {"@RESULTS@": settings.results, "@LESSONS@": settings.lessons, "@WORK@": settings.work,
             "@REQUIREMENT@": requirement, "@REUSABLE@": workflow, "@TORCH@": bundle.read_version("torch"),
             "@SLUG@": LESSON, "@PYTHON@": f"{sys.version_info.major}.{sys.version_info.minor}"}  # fmt: skip
    made = {name: _fill_in(packaged_files.path(source), marks) for name, source in MADE_FROM.items()}
    place = f"{settings.lessons}/{LESSON}"
    schema = os.path.relpath(f"{settings.results}/schema/{new_lesson.SCHEMA}", place)  # the first publication writes it
    lesson = {f"{place}/{name}": text for name, text in new_lesson.make_files(LESSON, schema).items()}
    return {**made, git_setup.FILE: git_setup.format_attributes(settings.results, settings.lessons),
            "config.yaml": config.text(), **lesson}  # fmt: skip


def _fill_in(template: Path, marks: Mapping[str, str]) -> str:
    return re.sub("|".join(marks), lambda mark: marks[mark[0]], template.read_text(encoding="utf-8"))


def find_origin() -> tuple[str, str]:
    """What pip and GitHub call the lessonpress that runs here: a line of requirements.txt, and a reusable workflow.

    Installed from a git repository it is that commit, from an address that address, from a file one that lies in
    `wheels/`, else the version.
    """
    url, commit = _read_direct_url()
    hub = re.fullmatch(r"(?:https|ssh)://(?:git@)?github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?", url)
    workflow = f"{hub[1] if hub else OWNER}/{WORKFLOW}@{commit or f'v{__version__}'}"
    if commit:
        return f"lessonpress @ git+{url}@{commit}", workflow
    if url and not url.startswith("file:"):
        return f"lessonpress @ {url}", workflow
    return (f"{FOUND_BESIDE}\n" if url else "") + f"lessonpress=={__version__}", workflow


def _read_direct_url() -> tuple[str, str]:
    """Where pip installed lessonpress from, as pip noted it: address and commit, empty for a package index."""
    try:
        noted = json.loads(distribution("lessonpress").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return "", ""
    return str(noted.get("url", "")), str(noted.get("vcs_info", {}).get("commit_id", ""))


def _is_taken(folder: Path, name: str) -> bool:
    """Whether something stands where a file is to be, or where one of its folders is to be."""
    path = folder / name
    above = [folder / part for part in Path(name).parents]
    return path.exists() or path.is_symlink() or any(part.exists() and not part.is_dir() for part in above)


def _list_first_lesson(folder: Path, names: Mapping[str, str], lessons: str) -> list[str]:
    """The first lesson's files, where they are not needed, because the repository has lessons."""
    has_lessons = any((folder / lessons).glob("*/lesson.yaml"))
    return [name for name in names if name.startswith(f"{lessons}/")] if has_lessons else []


def _write_all(folder: Path, wanted: Mapping[str, str]) -> None:
    """Write all files; where one cannot be written, take away what was made."""
    made: list[Path] = []
    try:
        for name, text in wanted.items():
            path = folder / name
            made += [*(part for part in reversed(path.parents) if not part.exists()), path]
            atomic_io.write(path, text)
    except BaseException:
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        raise
