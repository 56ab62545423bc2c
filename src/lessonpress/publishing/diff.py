"""Command diff: what changed between two published revisions of a lesson, in words, as JSON, and as one HTML page."""

from __future__ import annotations

import os
from pathlib import Path

from lessonpress.core import atomic_io
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.publishing import diff_view, integrity
from lessonpress.revision import history, packed, revision_diff
from lessonpress.revision.revision_diff import RevisionDiff


def diff(
    config: Config, slug: str, old: str | None = None, new: str | None = None, *, out: Path | None = None
) -> RevisionDiff:
    """Compare two revisions of a lesson and write the page `work/diff/<slug>.html` (or `out`).

    Without names: the revision that was published last, with the one before it. A name may be the beginning of an id,
    or a path to any revision folder, such as `work/<slug>/<key>/revision`. Raises LessonError for any other name.
    """
    folder = config.published(slug)
    order = history.list_newest_first(history.read_history(folder, slug))
    if not order:
        raise LessonError(os.path.relpath(folder), f"{slug} was never published", "", "Publish it first.")
    after = find_revision(folder, order, new or order[0])
    before = find_revision(folder, order, old or _find_earlier(order, after.name, slug))
    with integrity.explain_damage(before, after):
        difference = revision_diff.compare_revisions(before, after)
        page = diff_view.render_page(difference, before, after, title=f"{slug}: what changed")
    atomic_io.write(out or page_path(config, slug), page)
    return difference


def page_path(config: Config, slug: str) -> Path:
    """Where the HTML page of a difference is written."""
    return Path(config.work) / "diff" / f"{slug}.html"


def format_difference(difference: RevisionDiff) -> str:
    """The whole difference in lines for a terminal."""
    if difference.old == difference.new:
        return f"{difference.old}: nothing changed"
    reasons = ", ".join(difference.words()) or "nothing that is visible"
    lines = [f"{difference.old} → {difference.new} because of: {reasons}"]
    groups = (("recipe", difference.recipe), ("prose", difference.prose), ("environment", difference.environment),
              ("machine", difference.machine), ("file", difference.files))  # fmt: skip
    lines += [f"  {name}  {edit.words()}" for name, edits in groups for edit in edits]
    graph = difference.graph
    for sign, names in (
        ("+", (*graph.added, *graph.connections_added)),
        ("−", (*graph.removed, *graph.connections_removed)),
    ):
        lines += [f"  graph  {sign} {name}" for name in names]
    lines += [f"  graph  ± {name}: {e.words()}" for name, edits in (graph.changed or {}).items() for e in edits]
    lines += [f"  numbers  {gap.words()}: {gap.old} → {gap.new}{'' if gap.good else ', out of tolerance'}"
              for gap in difference.numbers.gaps]  # fmt: skip
    lines += [f"  numbers  + {name}" for name in difference.numbers.added]
    lines += [f"  numbers  − {name}" for name in difference.numbers.removed]
    return "\n".join([*lines, *(f"  checks  {check.words()}" for check in difference.checks)])


def find_revision(folder: Path, order: list[str], name: str) -> Path:
    """The revision folder that a name means: an id, the beginning of exactly one, or a path."""
    matches = [revision for revision in order if revision.startswith(name)]
    if len(matches) == 1 and packed.exists(folder / matches[0]):
        return packed.open_revision(folder / matches[0])
    if (Path(name) / "identity.json").is_file():
        return Path(name)
    known = ", ".join(revision for revision in order if packed.exists(folder / revision))
    what = "several revisions begin so" if len(matches) > 1 else "there is no such revision"
    raise LessonError(os.path.relpath(folder), f"{name!r}: {what}", f"published are {known}")


def _find_earlier(order: list[str], name: str, slug: str) -> str:
    """The revision before a named one."""
    later = order[order.index(name) + 1 :] if name in order else order
    if not later:
        raise LessonError(slug, f"{name} is the first revision", "", "There is nothing to compare it with.")
    return later[0]
