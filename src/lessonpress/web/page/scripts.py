"""Which scripts a lesson's page carries: those that its program can use, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING

from markupsafe import Markup

from lessonpress.core import script_modules
from lessonpress.replay.operations import script
from lessonpress.web.page import exercises, rendering

if TYPE_CHECKING:
    from lessonpress.web.page.exercises import Question
    from lessonpress.web.page.page_data import Live


def make_lesson_script(live: Live | None, questions: Sequence[Question] = ()) -> Markup:
    """The one script of a lesson's page; `live` is the page's program with its numbers, or None."""
    entries = [*list_figure_kinds(), *(_list_live_entries(live) if live else ["recorded"])]
    entries += ["predict"] if any(not each.is_exercise for each in questions) else []
    entries += ["exercise"] if any(each.is_exercise for each in questions) else []
    entries += ["console"] if live else []
    return rendering.make_script(*join_scripts(entries, live, exercises.list_statistics(questions)))


def _list_live_entries(live: Live) -> Iterator[str]:
    """What starts a page that computes; its watchers are called in this order."""
    others = live.get("ways", [])
    if others:
        yield "ways"
    yield "live"
    if None in [figure for way in (live, *others) for figure in (*way["matrices"], *way["vectors"])]:
        yield "partly"


def list_figure_kinds() -> list[str]:
    """The scripts that redraw figures, one for each kind; a new file is found."""
    return sorted(f"figure_kinds/{path.stem}" for path in script_modules.page_module("figure_kinds/x").parent.iterdir())


def join_scripts(entries: list[str], live: Live | None, statistics: Set[str] = frozenset()) -> list[str]:
    """The texts of some of templates/script/ with all that they import, and what the page's program computes with.

    `statistics` are further ones that a script needs, by name.
    """
    return script_modules.join_modules(
        map(script_modules.page_module, entries),
        wanted=sorted({*(_list_needed(live) if live else ()), *(f"STATISTICS.{name}" for name in statistics)}),
        libraries=[*script.kernel_files(), *script.explanation_files()] if live else (),
    )


def _list_needed(live: Live) -> Iterator[str]:
    """The statistics of the page's metrics, its program's kernels, and how single numbers of their results arise."""
    yield from {f"STATISTICS.{metric['statistic']}" for metric in live["metrics"] if metric}
    yield from sorted(_list_kept(live))
    known = script.explanations()
    ways = (live, *live.get("ways", []))
    for name in sorted({name for way in ways for name in way["program"]["operations"]}):
        yield f"op.{name}"
        own, family = f"EXPLAIN.{name}", f"EXPLAIN_FAMILY.{live['families'].get(name)}"
        yield from [each for each in (own, family) if each in known][:1]


def _list_kept(live: Live) -> set[str]:
    """The sentences on numbers that are kept as they were recorded, of the kinds that the programs have."""
    ports = [port for way in (live, *live.get("ways", [])) for port in way["program"].get("ports", [])]
    return {f"GIVEN.{kind}" for port in ports if (kind := port.partition(":")[0]) in ("draw", "kept")}
