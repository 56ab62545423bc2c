"""Command diff --against: what a branch changes in the published site, as Markdown and as one HTML page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np

from lessonpress.core import atomic_io, git
from lessonpress.core.errors import WrongUsage
from lessonpress.core.settings import Config
from lessonpress.publishing import diff_view, integrity
from lessonpress.revision import history, packed, published, revision_diff
from lessonpress.revision.edits import Edit
from lessonpress.revision.history import History
from lessonpress.revision.numeric_diff import Array, Gap
from lessonpress.revision.revision_diff import RevisionDiff
from lessonpress.web.page import rendering

PICTURE = "preview.svg"
BARS = "·▁▂▃▄▅▆▇█"  # how far a number moved, as a share of the array's largest move
CELLS, ARRAYS, SHOWN = 32, 12, 40  # numbers in one bar, arrays and edits in one table


@dataclass(frozen=True)
class Change:
    """One lesson that a branch has published otherwise: a clause, and its difference where both sides have one."""

    slug: str
    title: str
    words: str
    difference: RevisionDiff | None
    moved: Mapping[str, str]  # by array, a bar of how far its numbers moved
    pictures: tuple[str | None, str | None]  # addresses of the preview before and after


@dataclass(frozen=True)
class Review:
    """All that a branch changes, and the HTML page of it."""

    against: str
    changes: tuple[Change, ...]
    page: Path


def review(config: Config, against: str, *, out: Path | None = None) -> Review:
    """Compare the working tree's published lessons with those of the commit where it left `against`.

    Writes `work/diff/review.html` (or `out`) with every difference, and `review.md` beside it. Raises WrongUsage where
    git knows no such commit.
    """
    results = Path(config.results)
    named = git.find_commit(results, against) if results.is_dir() else None
    if named is None:
        raise WrongUsage(f"--against {against}", "git knows no commit of this name here", "such as origin/main",
                         "Fetch it first: git fetch")  # fmt: skip
    commit = git.find_merge_base(results, "HEAD", named) or named
    changes: list[Change] = []
    views: list[tuple[Change, diff_view.View | None]] = []
    for slug in _list_slugs(results, commit):
        change, view = _compare_lesson(config, slug, commit, len(views))
        if change:
            changes.append(change)
            views.append((change, view))
    page = out or Path(config.work) / "diff" / "review.html"
    done = Review(against, tuple(changes), page)
    atomic_io.write(page, rendering.render("review.html.jinja", against=against, views=views))
    atomic_io.write(page.with_suffix(".md"), format_markdown(done))
    return done


def _list_slugs(results: Path, commit: str) -> list[str]:
    there = {name.split("/")[1] for name in git.list_blobs(results, commit, "models") if name.count("/") > 1}
    return sorted({*history.list_published(results), *there})


def _compare_lesson(
    config: Config, slug: str, commit: str, number: int
) -> tuple[Change | None, diff_view.View | None]:  # fmt: skip
    folder = config.published(slug)
    data = git.read_blob(Path(config.results), commit, folder / history.FILE)
    before = (history.parse_history(data) if data else None) or history.start_history(slug)
    after = history.read_history(folder, slug)
    if before == after:
        return None, None
    old, new = history.find_latest(before), history.find_latest(after)
    words = _describe_events(before, after)
    if new is None or not packed.exists(folder / new):
        return Change(slug, slug, words, None, {}, (None, None)), None
    title = published.read_manifest(folder / new).get("title") or slug
    if old is None or old == new:
        shown = (None, _find_address(config, folder / new, "HEAD") if old is None else None)
        return Change(slug, title, words, None, {}, shown), None
    with _at_commit(config, folder / old, commit) as earlier, integrity.explain_damage(folder / new):
        difference = revision_diff.compare_revisions(earlier, folder / new)
        view = diff_view.make_view(difference, earlier, folder / new, name=f"lesson-{number}")
        moved = _draw_moves(difference, earlier, folder / new)
    other = any(edit.name == PICTURE for edit in difference.files)
    pictures = (_find_address(config, folder / old, commit), _find_address(config, folder / new, "HEAD"))
    return Change(slug, title, words, difference, moved, pictures if other else (None, None)), view


def _describe_events(before: History, after: History) -> str:
    """What happened to a lesson between two histories, in a clause."""
    known = [event["revision"] for event in before["revisions"]]
    had = [(event["revision"], event["publishedAt"]) for event in before["revisions"]]
    new = [event for event in after["revisions"] if (event["revision"], event["publishedAt"]) not in had]
    parts = ["a new lesson"] if not known else []
    parts += [f"{len(new)} publications" if len(new) > 1 else "published once"] if known and new else []
    parts += [f"“{event['note']}”" for event in new if event["note"]]
    if before["pinned"] != after["pinned"]:
        parts.append(f"pinned to `{after['pinned']}`" if after["pinned"] else "no longer pinned")
    if "retired" in after and "retired" not in before:
        to = after["retired"]["to"]
        parts.append("retired" + (f", continued as {to}" if to else ""))
    gone = {one["revision"] for one in before.get("withdrawn", [])}
    parts += [f"withdrawn `{one['revision']}`: {one['note']}" for one in after.get("withdrawn", [])
              if one["revision"] not in gone]  # fmt: skip
    return ", ".join(parts) or "its history is another one"


@contextmanager
def _at_commit(config: Config, folder: Path, commit: str) -> Iterator[Path]:
    """A revision's folder, taken out of a commit where the working tree does not hold it."""
    if packed.exists(folder):
        yield packed.open_revision(folder)
        return
    results = Path(config.results)
    at = folder.relative_to(results).as_posix()
    blobs = git.list_blobs(results, commit, at)
    data = git.read_objects(results, set(blobs.values()))
    with tempfile.TemporaryDirectory(prefix="lessonpress-review-") as held:
        for name, blob in blobs.items():
            atomic_io.write(Path(held) / folder.name / name.removeprefix(f"{at}/"), data[blob])
        yield Path(held) / folder.name


def _find_address(config: Config, folder: Path, commit: str) -> str | None:
    """Where a review can show a revision's picture: at the hosting site, where a workflow names it; None elsewhere."""
    server, project = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    results = Path(config.results)
    sha = git.find_commit(results, commit)
    top = git.find_top(results)
    path = folder / PICTURE
    if not (server and project and sha and top):
        return os.path.relpath(path) if path.is_file() else None
    name = path.relative_to(results).as_posix()
    if name not in git.list_blobs(results, sha, name):
        return None  # not committed yet
    return f"{server}/{project}/raw/{sha}/{quote(path.resolve().relative_to(top.resolve()).as_posix())}"


def _draw_moves(difference: RevisionDiff, old: Path, new: Path) -> dict[str, str]:
    """For each array that differs, a bar of how far its first numbers moved."""
    if difference.numbers.same():
        return {}
    sides = [{**published.read_numbers(side), **published.read_weights(side)} for side in (old, new)]
    return {gap.name: _draw_bar(sides[0][gap.name], sides[1][gap.name]) for gap in difference.numbers.gaps}


def _draw_bar(old: Array, new: Array) -> str:
    if old.shape != new.shape or old.dtype.kind not in "fiu" or new.dtype.kind not in "fiu":
        return ""
    away = np.abs(diff_view.subtract(old, new)).reshape(-1)
    largest = float(away[np.isfinite(away)].max(initial=0.0))
    steps = len(BARS) - 1
    cells = [steps if not np.isfinite(x) else int(np.ceil(x / largest * steps)) if largest else 0 for x in away[:CELLS]]
    return "".join(BARS[cell] for cell in cells) + ("…" if away.size > CELLS else "")


def format_markdown(done: Review) -> str:
    """A review as Markdown: for each lesson what changed in words, and whether its numbers did."""
    count = len(done.changes)
    noun = "lesson" if count == 1 else "lessons"
    lines = [f"### What this changes in the published site: {count} {noun}" if count
             else f"### Nothing changes in the published site since {done.against}"]  # fmt: skip
    for change in done.changes:
        lines += ["", f"#### {_escape(change.title)} (`{change.slug}`)", "", f"{_escape(change.words).capitalize()}."]
        lines += list(_format_difference(change)) if change.difference else []
        shown = [f"{word}: ![the picture {word}]({address})" for word, address in
                 zip(("before", "after"), change.pictures, strict=True) if address]  # fmt: skip
        lines += ["", " ".join(shown)] if shown else []
    return "\n".join(lines) + "\n"


def _format_difference(change: Change) -> Iterator[str]:
    difference = change.difference
    assert difference
    yield f"`{difference.old}` → `{difference.new}` because of: {_escape(', '.join(difference.words()) or 'nothing')}."
    yield ""
    numbers = difference.numbers
    if numbers.same():
        yield f"**Numbers identical**: every value of {numbers.arrays} arrays, weights included."
    else:
        yield f"**Numbers differ**: {_escape(numbers.words())}."
        yield from _format_gaps(numbers.gaps, change.moved)
    for name, edits in (("Words", difference.prose), ("Recipe", difference.recipe),
                        ("Environment", difference.environment)):  # fmt: skip
        yield from _format_edits(name, edits)
    if difference.code:
        yield from ("", f"Code: {', '.join(f'`{name}`' for name in difference.code)} "
                        "(line by line in the attached page).")  # fmt: skip
    if not difference.graph.same():
        yield from ("", f"Graph: {_escape(difference.graph.words())}.")
    yield from (f"- check {_escape(check.words())}" for check in difference.checks)


def _format_edits(name: str, edits: tuple[Edit, ...]) -> Iterator[str]:
    if not edits:
        return
    yield from ("", f"| {name} | before | after |", "|---|---|---|")
    yield from (f"| `{edit.name}` | {_escape(edit.old)} | {_escape(edit.new)} |" for edit in edits[:SHOWN])
    if len(edits) > SHOWN:
        yield from ("", f"and {len(edits) - SHOWN} more")


def _format_gaps(gaps: tuple[Gap, ...], moved: Mapping[str, str]) -> Iterator[str]:
    yield from ("", "| array | numbers that differ | the worst | how far each moved |", "|---|---|---|---|")
    for gap in sorted(gaps, key=lambda gap: (gap.good, -gap.share))[:ARRAYS]:
        verdict = "" if gap.good else " **out of tolerance**"
        worst = f"{_escape(gap.old)} → {_escape(gap.new)}{verdict}"
        yield f"| {_escape(gap.name)} | {gap.cells} | {worst} | {moved[gap.name]} |"
    if len(gaps) > ARRAYS:
        yield from ("", f"and {len(gaps) - ARRAYS} more arrays")


def _escape(text: str) -> str:
    """Text that may stand in a line or a cell of Markdown, and shows its signs as they are."""
    plain = "".join(f"\\{sign}" if sign in "\\`*_{}[]#|~" else sign for sign in " ".join(text.split()))
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace("@", "@\u200b")  # nobody is called by a lesson


