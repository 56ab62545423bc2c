"""Command new: a lesson that publishes as it stands, to be changed into the author's own."""

from __future__ import annotations

import keyword
import os
import re
import tempfile
from pathlib import Path

from lessonpress.core import atomic_io
from lessonpress.core.errors import LessonError, WrongUsage
from lessonpress.core.settings import TAKEN, Config
from lessonpress.lesson import lesson_files
from lessonpress.publishing import site
from lessonpress.web.page import rendering

SCHEMA = "lesson.schema.json"


def create_lesson(config: Config, slug: str) -> Path:
    """Write the lesson `slug` into the folder of lessons, whole or not at all; returns its folder.

    Raises WrongUsage for a name that is not a slug, and for a folder that exists.
    """
    require_slug(slug)
    lessons, folder = Path(config.lessons), config.lesson(slug)
    if not lessons.is_dir() and not Path("config.yaml").is_file():
        raise LessonError(os.path.relpath(lessons), "there is no such folder here, and no config.yaml", "",
                          "Go to the repository's root, or make a repository: lessonpress init.")  # fmt: skip
    if folder.exists():
        raise WrongUsage(os.path.relpath(folder), "this exists already", "",
                         f"Choose another name, or go on with it: lessonpress preview {folder} --watch")  # fmt: skip
    schema = Path(config.results) / "schema" / SCHEMA
    if not schema.is_file():  # the first publication would write the same
        atomic_io.write(schema, site.read_schema(SCHEMA))
    lessons.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".lessonpress-", dir=lessons) as beside:
        made = Path(beside) / slug
        for name, text in make_files(slug, os.path.relpath(schema, folder)).items():
            atomic_io.write(made / name, text)
        made.rename(folder)
    return folder


def require_slug(slug: str) -> None:
    """Raise WrongUsage for a name that cannot be a lesson's, with the nearest one that can."""
    if not lesson_files.SLUG.fullmatch(slug):
        near = re.sub(r"[^a-z0-9]+", "-", slug.lower()).strip("-")[:100].strip("-")
        raise WrongUsage(f"lessonpress new {slug!r:.120}", "this cannot be a lesson's name",
                         "small letters a to z, digits and hyphens, at most 100, a letter or digit first",
                         f"Type: lessonpress new {near or 'my-lesson'}")  # fmt: skip
    if slug in TAKEN:
        raise WrongUsage(f"lessonpress new {slug}", "lessonpress keeps a folder of its own under this name",
                         "another name", f"Type: lessonpress new my-{slug}")  # fmt: skip


def make_files(slug: str, schema: str) -> dict[str, str]:
    """The files of a new lesson; `schema` is where its recipe finds the format's description."""
    words = {"{slug}": slug, "{title}": slug.replace("-", " ").strip().capitalize(), "{class}": class_name(slug),
             "{schema}": Path(schema).as_posix()}  # fmt: skip
    out = {}
    for path in sorted((rendering.templates_folder() / "new").iterdir()):
        text = path.read_text(encoding="utf-8")
        for mark, word in words.items():
            text = text.replace(mark, word)
        out[path.name.removesuffix(".txt")] = text
    return out


def class_name(slug: str) -> str:
    """A slug as a class: `two-heads` is `TwoHeads`; what Python cannot have gets `Lesson` in front."""
    name = "".join(part.capitalize() for part in slug.split("-"))
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"Lesson{name}"
