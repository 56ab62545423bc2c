"""The whole page of a lesson, put together from its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from lessonpress.web import prose
from lessonpress.web.page import (
    citation,
    example,
    glossary,
    graphs,
    listing,
    provenance,
    reading,
    rendering,
    scripts,
    view_models,
)


def render_page(
    manifest: Mapping[str, Any], *, recipe: Mapping[str, Any], graph_svg: str, sources: Mapping[str, str],
    live: Mapping[str, Any] | None = None, folded: Sequence[str] = (),
    pictures: Mapping[tuple[str, ...], str] | None = None, own_graphs: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """The whole page of one revision as one HTML file, a pure function of its arguments.

    `manifest` is the published manifest, `recipe` the lesson's recipe as plain data, `graph_svg` the graph's picture
    with nodes `g.node[data-id]` and with the modules `folded` drawn as boxes, `sources` the lesson's source texts by
    file name, the model's file first. `live` is what `live(…)` gave: without it the page shows recorded values only.
    `pictures` are further pictures of the graph by their folded modules, `own_graphs` pictures of cases that ran
    otherwise. Files are linked beside the page. Raises LessonError for prose whose TeX cannot be rendered.
    """
    marked = glossary.make_terms(manifest.get("glossary") or [])
    parts = _parts(manifest, recipe, sources, marked)
    drawn = graphs.make_graph(graph_svg, folded, pictures or {})
    cases = (manifest.get("experiment") or {}).get("cases") or []
    ways = {case["id"]: graphs.compare_graphs(manifest, case, own_graphs or {}) for case in cases}
    parts["page_data"]["live"] = live
    return rendering.render(
        "lesson.html.jinja", **_words(manifest, marked), **parts, graph=drawn, ways=ways,
        recorded_only=None if live else view_models.explain_recorded_only(manifest),
        page_script=scripts.lesson(live, questions=bool(parts["questions"])), minutes=_minutes(manifest, parts),
    )  # fmt: skip


def _minutes(manifest: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, int]:
    """Reading time of the parts that are read from start to end, in whole minutes."""
    shown = parts["experiment"]
    told = {"example": 0, "walk": 0}
    if shown:
        notes = [shown.description, shown.note, *(case.note for case in shown.cases)]
        told["example"] = reading.estimate_minutes(notes, figures=len(shown.fixed) + len(shown.cases[0].matrices) + 1)
    if parts["steps"]:
        told["walk"] = reading.estimate_minutes([step.note for step in parts["steps"]], figures=len(parts["steps"]))
    about = [str(manifest.get(key) or "") for key in ("description", "limitations", "scope")]
    told["about"] = reading.estimate_minutes(about)
    return told


def _words(manifest: Mapping[str, Any], marked: glossary.Terms) -> dict[str, Any]:
    """What the lesson says about itself."""
    title = str(manifest["title"])
    return {
        "title": Markup(prose.to_inline(title, where="title")),
        "plain_title": prose.to_text(title),
        "question": Markup(prose.to_inline(str(manifest.get("question") or ""), where="question")),
        "description": marked.mark(prose.to_html(str(manifest.get("description") or ""), where="description")),
        "summary": prose.to_text(str(manifest.get("description") or manifest.get("question") or title)),
        "category": prose.to_text(str(manifest.get("category") or "")),
        "tags": [str(tag) for tag in manifest.get("tags") or []],
        "about": citation.describe_lesson(manifest),
        "milestone": _milestone(manifest.get("milestone") or {}),
        "scope": Markup(prose.to_html(str((manifest.get("provenance") or {}).get("scope") or ""))),
        "limitations": Markup(prose.to_html(str(manifest.get("limitations") or ""), where="limitations")),
        "attribution": Markup(prose.to_html(str(manifest.get("attribution") or ""), where="attribution")),
        "license": Markup(prose.to_inline(str(manifest.get("license") or ""), where="license")),
        "curator": Markup(prose.to_inline(str(manifest.get("curator") or ""), where="curator")),
        "glossary": [
            {
                "term": Markup(prose.to_inline(str(entry["term"]), where="glossary: term")),
                "beginner": Markup(prose.to_html(str(entry.get("beginner") or ""), where=f"glossary: {entry['term']}")),
                "expert": Markup(prose.to_html(str(entry.get("expert") or ""), where=f"glossary: {entry['term']}")),
            }
            for entry in manifest.get("glossary") or []
        ],
    }


def _parts(
    manifest: Mapping[str, Any], recipe: Mapping[str, Any], sources: Mapping[str, str], marked: glossary.Terms
) -> dict[str, Any]:
    """What was recorded, drawn and published."""
    listings = listing.make_listings({name: text for name, text in sources.items() if name != recipe.get("checks")})
    return {
        "experiment": example.make_experiment(manifest, recipe, marked),
        "questions": view_models.make_questions(recipe),
        "steps": view_models.make_steps(manifest, sources, listings, marked),
        "layers": view_models.make_layer_rows(manifest, sources),
        "nodes": len(manifest.get("layers") or []),
        "idle": [str(name) for name in manifest.get("idle") or []],
        "unused": [str(name) for name in manifest.get("unusedInputs") or []],
        "listings": listings,
        "checks_file": recipe.get("checks") or "",
        "class_name": str(manifest.get("className") or ""),
        "checks": view_models.make_checks(manifest),
        "replay": view_models.make_replay(manifest),
        "repeat": provenance.make_repeat(manifest, recipe),
        "files": view_models.list_files(manifest),
        "facts": provenance.list_facts(manifest),
        "settings": provenance.list_settings(manifest),
        "digests": provenance.list_digests(manifest),
        "citation": citation.make_citation(manifest),
        "page_data": {
            "slug": str(manifest.get("slug") or "lesson"),
            "figures": example.collect_figure_values(manifest),
            "metrics": example.collect_metric_values(manifest),
            "records": view_models.list_records(manifest, recipe),
            "places": view_models.locate_layers(manifest, sources),
            "parents": view_models.find_parents(manifest),
        },
    }


def _milestone(told: Mapping[str, Any]) -> dict[str, Any]:
    """The work that a lesson follows; empty when it follows none."""
    if not told:
        return {}
    return {
        "kicker": " · ".join(str(told[key]) for key in ("kind", "year") if told.get(key)),
        "name": Markup(prose.to_inline(str(told.get("name") or ""))),
        "fidelity": Markup(prose.to_html(str(told.get("fidelity") or ""), where="milestone.fidelity")),
        "papers": [_paper(paper) for paper in told.get("papers") or []],
    }


def _paper(paper: Mapping[str, Any]) -> dict[str, str]:
    """A paper's title and address; what is no web address is shown without a link."""
    url = str(paper.get("url") or "")
    return {"title": prose.to_text(str(paper.get("title") or url)), "url": url if prose.is_web_address(url) else ""}
