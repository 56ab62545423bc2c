"""Pages: one HTML file for a lesson, one for the catalogue, one for a lesson's history; no network, no clock.

The parts are imported when they are first asked for: writing the catalogue needs neither numbers nor highlighting.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lessonpress.page.binding import bound, typed
    from lessonpress.page.expressions import misnamed, unread
    from lessonpress.page.graphs import views
    from lessonpress.page.program import live, offered
    from lessonpress.page.proof import unreadable
    from lessonpress.page.rendering import hashed, templates_folder
    from lessonpress.page.site import catalogue, feed, history, missing, sitemap, waiting
    from lessonpress.page.volatile import NO_REVISION, blanked
    from lessonpress.page.whole import lesson

__all__ = [
    "NO_REVISION",
    "blanked",
    "bound",
    "catalogue",
    "feed",
    "hashed",
    "history",
    "lesson",
    "live",
    "misnamed",
    "missing",
    "offered",
    "sitemap",
    "templates_folder",
    "typed",
    "unread",
    "unreadable",
    "views",
    "waiting",
]

_HOMES = {
    "binding": ("bound", "typed"),
    "expressions": ("misnamed", "unread"),
    "graphs": ("views",),
    "program": ("live", "offered"),
    "proof": ("unreadable",),
    "rendering": ("hashed", "templates_folder"),
    "site": ("catalogue", "feed", "history", "missing", "sitemap", "waiting"),
    "volatile": ("NO_REVISION", "blanked"),
    "whole": ("lesson",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
