"""The policy `keep` of config.yaml: which superseded revisions are not kept, and which are whatever it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from lessonpress.core import git
from lessonpress.core.settings import Config
from lessonpress.publishing import compact, prune
from lessonpress.revision import history
from lessonpress.revision.history import History

NAME = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")
TEXTS = frozenset({".md", ".yaml", ".yml", ".py", ".txt", ".html", ".bib", ".cff", ".tex", ".rst", ".json"})
LARGEST = 4_000_000  # bytes of a text in which somebody may cite a revision


def find_droppable(config: Config, slugs: Sequence[str] = ()) -> dict[str, list[str]]:
    """By lesson the revisions that the policy does not keep, the oldest first.

    The current, the last and the pinned one are always kept, and so is every revision that something names: a text of
    this repository, or what another lesson shows.
    """
    if config.keep == "all":
        return {}
    models = Path(config.results) / "models"
    cited = _find_cited(config)
    out: dict[str, list[str]] = {}
    for slug in slugs or sorted(path.name for path in models.glob("*") if path.is_dir()):
        past = history.read_history(config.published(slug), slug)
        kept = compact.list_plain(past) | cited | _list_kept(config, slug, past)
        gone = [name for name in reversed(history.list_newest_first(past)) if name not in kept]
        out |= {slug: gone} if gone else {}
    return out


def drop(config: Config, chosen: dict[str, list[str]]) -> str:
    """Drop what `find_droppable` found, with the policy as the reason; what was done, in words."""
    return "\n".join(prune.drop(config, slug, names, f"keep: {config.keep}") for slug, names in chosen.items())


def _list_kept(config: Config, slug: str, past: History) -> set[str]:
    """The revisions that the policy keeps: the newest ones, or those that a tag of the repository shows."""
    if config.keep.startswith("last "):
        return set(history.list_newest_first(past)[: int(config.keep.removeprefix("last "))])
    results, out = Path(config.results), set[str]()
    for tag in git.list_tags(results):
        data = git.read_blob(results, tag, config.published(slug) / history.FILE)
        then = history.parse_history(data) if data else None
        out |= compact.list_plain(then) if then else set()
    return out


def _find_cited(config: Config) -> set[str]:
    """Every name of a revision that a text names, but for the folders and histories of the lessons themselves.

    Texts are those around `results/`, and there what each lesson shows now.
    """
    results, out = Path(config.results).resolve(), set[str]()
    shown = []
    for folder in sorted((results / "models").glob("*")):
        current = history.read_history(folder, folder.name)["current"] if folder.is_dir() else None
        shown += [folder / str(current) / name for name in ("index.html", "lesson.yaml")] if current else []
    around = [path for path in git.list_texts(Path(), TEXTS) if results not in path.resolve().parents]
    for path in (*around, *shown):
        if path.is_file() and path.stat().st_size < LARGEST:
            found = set(NAME.findall(path.read_text(encoding="utf-8", errors="replace")))
            out |= found - ({path.parent.name} if path in shown else set())
    return out
