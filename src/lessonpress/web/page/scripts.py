"""Which scripts a lesson's page carries: those that its program can use, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup

from lessonpress.core import script_modules
from lessonpress.replay.operations import script
from lessonpress.web.page import rendering

if TYPE_CHECKING:
    from lessonpress.web.page.page_data import Live


def make_lesson_script(live: Live | None, *, questions: bool) -> Markup:
    """The one script of a lesson's page; `live` is the page's program with its numbers, or None."""
    entries = [*list_figure_kinds(), "live" if live else "recorded"]
    entries += ["predict"] if questions else []
    entries += ["console"] if live else []
    return rendering.make_script(*join_scripts(entries, live))


def list_figure_kinds() -> list[str]:
    """The scripts that redraw figures, one for each kind; a new file is found."""
    return sorted(f"figure_kinds/{path.stem}" for path in script_modules.page_module("figure_kinds/x").parent.iterdir())


def join_scripts(entries: list[str], live: Live | None) -> list[str]:
    """The texts of some of templates/script/ with all that they import, and what the page's program computes with."""
    return script_modules.join_modules(
        map(script_modules.page_module, entries),
        wanted=_list_needed(live) if live else (),
        libraries=[*script.kernel_files(), *script.explanation_files()] if live else (),
    )


def _list_needed(live: Live) -> Iterator[str]:
    """The statistics of the page's metrics, its program's kernels, and how single numbers of their results arise."""
    yield from {f"STATISTICS.{metric['statistic']}" for metric in live["metrics"] if metric}
    known = script.explanations()
    for name in live["program"]["operations"]:
        yield f"op.{name}"
        own, family = f"EXPLAIN.{name}", f"EXPLAIN_FAMILY.{live['families'].get(name)}"
        yield from [each for each in (own, family) if each in known][:1]
