"""Pages: one HTML file for a lesson, one for the catalogue, one for a lesson's history; no network, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from lessonpress import prose
from lessonpress.page import example, listing, provenance, rendering, view
from lessonpress.page.rendering import templates_folder
from lessonpress.page.site import catalogue, history
from lessonpress.page.volatile import NO_REVISION, blanked

__all__ = ["NO_REVISION", "blanked", "catalogue", "history", "lesson", "templates_folder"]


def lesson(
    manifest: Mapping[str, Any], *, recipe: Mapping[str, Any], graph_svg: str, sources: Mapping[str, str]
) -> str:
    """The whole page of one revision as one HTML file, a pure function of its arguments.

    `manifest` is the published manifest, `recipe` the lesson's recipe as plain data, `graph_svg` the graph's picture
    with nodes `g.node[data-id]`, `sources` the lesson's source texts by file name, the model's file first.
    Files are linked beside the page. Raises LessonError for prose whose TeX cannot be rendered.
    """
    return rendering.render("lesson.html.jinja", **_words(manifest), **_parts(manifest, recipe, graph_svg, sources))


def _words(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What the lesson says about itself."""
    title = str(manifest["title"])
    return {
        "title": Markup(prose.inline(title, where="title")),
        "plain_title": prose.plain(title),
        "question": Markup(prose.inline(str(manifest.get("question") or ""), where="question")),
        "description": Markup(prose.html(str(manifest.get("description") or ""), where="description")),
        "summary": prose.plain(str(manifest.get("description") or manifest.get("question") or title)),
        "category": prose.plain(str(manifest.get("category") or "")),
        "tags": [str(tag) for tag in manifest.get("tags") or []],
        "milestone": _milestone(manifest.get("milestone") or {}),
        "scope": Markup(prose.html(str((manifest.get("provenance") or {}).get("scope") or ""))),
        "limitations": Markup(prose.html(str(manifest.get("limitations") or ""), where="limitations")),
        "attribution": Markup(prose.html(str(manifest.get("attribution") or ""), where="attribution")),
        "license": Markup(prose.inline(str(manifest.get("license") or ""), where="license")),
        "curator": Markup(prose.inline(str(manifest.get("curator") or ""), where="curator")),
        "glossary": [
            {
                "term": Markup(prose.inline(str(entry["term"]), where="glossary: term")),
                "beginner": Markup(prose.html(str(entry.get("beginner") or ""), where=f"glossary: {entry['term']}")),
                "expert": Markup(prose.html(str(entry.get("expert") or ""), where=f"glossary: {entry['term']}")),
            }
            for entry in manifest.get("glossary") or []
        ],
    }


def _parts(
    manifest: Mapping[str, Any], recipe: Mapping[str, Any], graph_svg: str, sources: Mapping[str, str]
) -> dict[str, Any]:
    """What was recorded, drawn and published."""
    return {
        "experiment": example.experiment(manifest, recipe),
        "steps": view.steps(manifest, sources),
        "graph": Markup(graph_svg),
        "layers": view.layers(manifest, sources),
        "listings": listing.listings(sources),
        "class_name": str(manifest.get("className") or ""),
        "checks": view.checks(manifest),
        "replay": view.replay(manifest),
        "repeat": provenance.repeat(manifest, recipe),
        "files": view.files(manifest),
        "facts": provenance.facts(manifest),
        "settings": provenance.settings(manifest),
        "digests": provenance.digests(manifest),
        "page_data": {"figures": example.figure_values(manifest), "places": view.places(manifest, sources)},
    }


def _milestone(told: Mapping[str, Any]) -> dict[str, Any]:
    """The work that a lesson follows; empty when it follows none."""
    if not told:
        return {}
    return {
        "kicker": " · ".join(str(told[key]) for key in ("kind", "year") if told.get(key)),
        "name": Markup(prose.inline(str(told.get("name") or ""))),
        "fidelity": Markup(prose.html(str(told.get("fidelity") or ""), where="milestone.fidelity")),
        "papers": [_paper(paper) for paper in told.get("papers") or []],
    }


def _paper(paper: Mapping[str, Any]) -> dict[str, str]:
    """A paper's title and address; what is no web address is shown without a link."""
    url = str(paper.get("url") or "")
    return {"title": prose.plain(str(paper.get("title") or url)), "url": url if prose.is_web_address(url) else ""}
