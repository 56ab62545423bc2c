"""Makes many different lessons out of the real ones, for benchmarks that need a large site.

Each is a real lesson under another slug, with its own title and a line of its own in the model's source: it is another
revision in every respect, so none of its steps can be skipped, and it takes the time that a real lesson takes.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]


def list_originals(only: str | None = None, project: Path = PROJECT) -> list[Path]:
    """The folders of a checkout's own lessons; with `only` that one."""
    folders = sorted(recipe.parent for recipe in project.glob("lessons/*/lesson.yaml"))
    return [folder for folder in folders if only in (None, folder.name)]


def make_lessons(lessons: Path, count: int, sources: Sequence[Path]) -> list[str]:
    """Write `count` lessons below `lessons`, taking the sources in turn; returns their slugs."""
    slugs = []
    for number in range(count):
        source = sources[number % len(sources)]
        slug = f"{source.name}-{number:04d}" if count > 1 else source.name
        folder = lessons / slug
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
        recipe = folder / "lesson.yaml"
        # The lessons to which it links are not there.
        alone = re.sub(r"\(lesson:[a-z0-9-]+", f"(lesson:{slug}", recipe.read_text(encoding="utf-8"))
        recipe.write_text(alone, encoding="utf-8")
        if count > 1:
            vary(folder, slug, number)
        slugs.append(slug)
    return slugs


def vary(folder: Path, slug: str, number: int) -> None:
    """Make a copied lesson different from its source."""
    recipe = folder / "lesson.yaml"
    text = re.sub(r"(?m)^slug: .*$", f"slug: {slug}", recipe.read_text(encoding="utf-8"))
    text = re.sub(r"(?m)^(title: .*?)([\"']?)$", rf"\1 ({number})\2", text)
    recipe.write_text(text, encoding="utf-8")
    file = re.search(r"(?m)^model:\s*(?:\{[^}]*?|\n\s+)file: *([\w./]+)", text)
    model = folder / (file[1] if file else "model.py")
    with model.open("a", encoding="utf-8") as source:
        source.write(f"\n# Variation {number}.\n")


def edit_title(folder: Path) -> None:
    """Edit a lesson as a curator does: another word in the title."""
    recipe = folder / "lesson.yaml"
    recipe.write_text(re.sub(r"(?m)^(title: [\"']?)", r"\1New ", recipe.read_text(encoding="utf-8")), encoding="utf-8")


def edit_model(folder: Path) -> None:
    """Edit the model's source, so that the lesson runs again."""
    for path in sorted(folder.glob("*.py")):
        if path.name != "checks.py":
            with path.open("a", encoding="utf-8") as source:
                source.write("\n# Edited.\n")
