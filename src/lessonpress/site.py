"""Verb site: the pages around the lessons, made from nothing but what is published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lessonpress import canon, history, lock, page, published, schema
from lessonpress.settings import Config


def site(config: Config) -> str:
    """Write the catalogue, every lesson's history page and the manifest's schema; a file that is right stays as it is.

    Answers what was done, in words.
    """
    results = Path(config.results)
    with lock.alone(results):
        for folder in (results, results / "models", results / "schema"):
            lock.sweep(folder)
        wanted = pages(results)
        changed = [
            path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text
        ]
        for path in changed:
            canon.write(path, wanted[path])
    canon.write(
        Path(config.work) / "site.json",
        canon.pretty({"pages": sorted(p.relative_to(config.results).as_posix() for p in wanted)}),
    )
    return f"site: {len(changed)} of {len(wanted)} pages changed" if changed else "site: unchanged"


def pages(results: Path) -> dict[Path, str]:
    """The text of every page around the published lessons, by its path."""
    out: dict[Path, str] = {}
    current: list[dict[str, Any]] = []
    for folder in _lessons(results / "models"):
        told = history.read(folder, folder.name)
        newest = published.manifest(folder / told["current"])
        if not told.get("retired"):
            current.append(newest)
        out[folder / "index.html"] = page.history(folder.name, newest["title"], told, {told["current"]: newest})
    out[results / "index.html"] = page.catalogue(current)
    out[results / "schema" / "manifest.schema.json"] = canon.pretty(schema.document())
    return out


def _lessons(models: Path) -> list[Path]:
    """The folders of all published lessons; one that cannot be read is an error (`glob` would pass over it)."""
    found = sorted(models.iterdir()) if models.is_dir() else []
    return [folder for folder in found if (folder / history.FILE).is_file()]
