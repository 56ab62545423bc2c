"""The whole page of a lesson, put together from its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from lessonpress.web import prose, surroundings
from lessonpress.web.page import (
    citation,
    example,
    exercises,
    glossary,
    graphs,
    lesson_words,
    listing,
    provenance,
    reading,
    rendering,
    scales,
    scripts,
    view_models,
)

if TYPE_CHECKING:
    from lessonpress.lesson.recipe import Recipe
    from lessonpress.revision.manifest_schema import Manifest
    from lessonpress.revision.manifest_schema import Milestone as PublishedMilestone
    from lessonpress.revision.manifest_schema import Paper as PublishedPaper
    from lessonpress.web.page.page_data import Live, PageData


@dataclass(frozen=True)
class Paper:
    """A publication: its title, its address, or nothing where that is not on the web, its number where it is cited."""

    title: str
    url: str
    number: int


@dataclass(frozen=True)
class Milestone:
    """The work that a lesson follows."""

    kicker: str  # kind and year
    name: Markup
    fidelity: Markup
    papers: tuple[Paper, ...]


@dataclass(frozen=True)
class Entry:
    """A term of the glossary with a text for each level of reader."""

    term: Markup
    beginner: Markup
    expert: Markup


@dataclass(frozen=True)
class Words:
    """What the lesson says about itself."""

    title: Markup
    plain_title: str
    question: Markup
    description: Markup
    summary: str
    category: str
    tags: list[str]
    about: dict[str, object]
    milestone: Milestone | None
    scope: Markup
    limitations: Markup
    attribution: Markup
    license: Markup
    curator: Markup
    glossary: list[Entry]


@dataclass(frozen=True)
class Parts:
    """What was recorded, drawn and published."""

    experiment: example.Experiment | None
    questions: tuple[exercises.Question, ...]
    steps: tuple[view_models.Step, ...]
    layers: tuple[view_models.LayerRow, ...]
    nodes: int
    idle: list[str]
    unused: list[str]
    listings: tuple[listing.Listing, ...]
    checks_file: str
    class_name: str
    checks: tuple[view_models.Check, ...]
    replay: view_models.Replay | None
    repeat: provenance.Repeat
    files: tuple[view_models.File, ...]
    facts: tuple[provenance.Fact, ...]
    settings: tuple[provenance.Fact, ...]
    decompositions: list[str]
    digests: tuple[provenance.Fact, ...]
    citation: citation.Citation


def render_page(
    manifest: Manifest, *, recipe: Recipe, graph_svg: str, sources: Mapping[str, str],
    live: Live | None = None, folded: Sequence[str] = (),
    pictures: Mapping[tuple[str, ...], str] | None = None, own_graphs: Mapping[str, str] | None = None,
    reach: scales.Reach | None = None,
) -> str:  # fmt: skip
    """The whole page of one revision as one HTML file, a pure function of its arguments.

    `manifest` is the published manifest, `graph_svg` the graph's picture with nodes `g.node[data-id]` and with the
    modules `folded` drawn as boxes, `sources` the lesson's source texts by file name, the model's file first. `live` is
    the program that the page runs: without it the page shows recorded values only. `pictures` are further pictures of
    the graph by their folded modules, `own_graphs` pictures of cases that ran otherwise, `reach` how far the control
    takes each figure. Files are linked beside the page. Raises LessonError for prose whose TeX cannot be rendered.
    """
    terms = glossary.make_terms(manifest.get("glossary") or [])
    sizes = {name: file["bytes"] for name, file in (manifest.get("files") or {}).items()}
    listed = {name: text for name, text in sources.items() if name != recipe.checks}
    with surroundings.within(lesson_words.make_surroundings(recipe, sizes, listed)) as around:
        parts, words = _make_parts(manifest, recipe, sources, terms, reach or {}, live), _make_words(manifest, terms)
    return rendering.render(
        "lesson.html.jinja", **vars(words), **vars(parts), exercises=any(each.is_exercise for each in parts.questions),
        rich=bool(around.used) or any(each.is_exercise or each.hint for each in parts.questions),
        page_data=_collect_data(manifest, recipe, sources, live, reach or {}),
        graph=graphs.make_graph(graph_svg, folded, pictures or {}),
        own_graphs={case["id"]: graphs.compare_graphs(manifest, case, own_graphs or {})
                    for case in example.list_cases(manifest)},
        recorded_only=None if live else view_models.explain_recorded_only(manifest),
        partly=view_models.explain_partly(manifest, live, recipe),
        still_figures=_list_still_figures(live),
        page_script=scripts.make_lesson_script(live, parts.questions),
        minutes=_estimate_minutes(manifest, parts), verified=_describe_checks(parts),
    )  # fmt: skip


def _describe_checks(parts: Parts) -> str:
    """How the lesson was verified, in a few words."""
    failed = sum(not check.passed for check in parts.checks)
    count = f"{len(parts.checks)} check{'' if len(parts.checks) == 1 else 's'}"
    if failed:
        return f"✗ {failed} of {count} failed"
    return f"✓ Verified by {count}" if parts.checks else "✓ Repeated by a second interpreter"


def _list_still_figures(live: Live | None) -> frozenset[str]:
    """The figures of a live page that it does not compute, as `matrices/0`."""
    if live is None:
        return frozenset()
    kinds = (("matrices", live["matrices"]), ("vectors", live["vectors"]))
    return frozenset(f"{kind}/{at}" for kind, figures in kinds for at, figure in enumerate(figures) if figure is None)


def _estimate_minutes(manifest: Manifest, parts: Parts) -> dict[str, int]:
    """Reading time of the parts that are read from start to end, in whole minutes."""
    shown = parts.experiment
    minutes = {"example": 0, "walk": 0}
    if shown:
        notes = [shown.description, shown.note, *(case.note for case in shown.cases)]
        count = len(shown.fixed) + len(shown.cases[0].matrices) + 1
        minutes["example"] = reading.estimate_minutes(notes, figures=count)
    if parts.steps:
        minutes["walk"] = reading.estimate_minutes([step.note for step in parts.steps], figures=len(parts.steps))
    about = [manifest.get("description") or "", manifest.get("limitations") or ""]
    return {**minutes, "about": reading.estimate_minutes(about)}


def _make_words(manifest: Manifest, terms: glossary.Terms) -> Words:
    title = manifest["title"]
    return Words(
        title=Markup(prose.to_inline(title, where="title")),
        plain_title=prose.to_text(title),
        question=Markup(prose.to_inline(manifest.get("question") or "", where="question")),
        description=terms.mark(prose.to_html(manifest.get("description") or "", where="description")),
        summary=prose.to_text(manifest.get("description") or manifest.get("question") or title),
        category=prose.to_text(manifest.get("category") or ""),
        tags=manifest.get("tags") or [],
        about=citation.describe_lesson(manifest),
        milestone=_make_milestone(manifest.get("milestone")),
        scope=Markup(prose.to_html(manifest.get("provenance", {}).get("scope") or "")),
        limitations=Markup(prose.to_html(manifest.get("limitations") or "", where="limitations")),
        attribution=Markup(prose.to_html(manifest.get("attribution") or "", where="attribution")),
        license=Markup(prose.to_inline(manifest.get("license") or "", where="license")),
        curator=Markup(prose.to_inline(manifest.get("curator") or "", where="curator")),
        glossary=[
            Entry(
                Markup(prose.to_inline(entry["term"], where="glossary: term")),
                Markup(prose.to_html(entry.get("beginner") or "", where=f"glossary: {entry['term']}")),
                Markup(prose.to_html(entry.get("expert") or "", where=f"glossary: {entry['term']}")),
            )
            for entry in manifest.get("glossary") or []
        ],
    )


def _make_parts(
    manifest: Manifest, recipe: Recipe, sources: Mapping[str, str], terms: glossary.Terms, reach: scales.Reach,
    live: Live | None,
) -> Parts:  # fmt: skip
    listings = listing.make_listings({name: text for name, text in sources.items() if name != recipe.checks})
    return Parts(
        experiment=example.make_experiment(manifest, recipe, terms, reach, live),
        questions=exercises.make_questions(recipe),
        steps=view_models.make_steps(manifest, sources, listings, terms),
        layers=view_models.make_layer_rows(manifest, sources),
        nodes=len(manifest.get("layers") or []),
        idle=manifest.get("idle") or [],
        unused=manifest.get("unusedInputs") or [],
        listings=listings,
        checks_file=recipe.checks or "",
        class_name=manifest.get("className") or "",
        checks=view_models.make_checks(manifest),
        replay=view_models.make_replay(manifest),
        repeat=provenance.make_repeat(manifest, recipe),
        files=view_models.list_files(manifest),
        facts=provenance.list_facts(manifest),
        settings=provenance.list_settings(manifest),
        decompositions=provenance.list_decompositions(manifest, sources),
        digests=provenance.list_digests(manifest),
        citation=citation.make_citation(manifest),
    )


def _collect_data(
    manifest: Manifest, recipe: Recipe, sources: Mapping[str, str], live: Live | None, reach: scales.Reach
) -> PageData:  # fmt: skip
    near = manifest.get("tolerance") or {"atol": 1e-12, "rtol": 1e-12}
    return {
        "slug": manifest.get("slug") or "lesson",
        "near": [near["atol"], near["rtol"]],
        "scales": {key: [scale.low, scale.high]
                   for key, scale in example.choose_scales(manifest, recipe, reach).items()},
        "figures": example.collect_figure_values(manifest),
        "metrics": example.collect_metric_values(manifest),
        "records": view_models.list_records(manifest, recipe),
        "places": view_models.locate_layers(manifest, sources),
        "parents": view_models.find_parents(manifest),
        "live": live,
    }


def _make_milestone(milestone: PublishedMilestone | None) -> Milestone | None:
    """The work that a lesson follows, ready to be shown."""
    if not milestone:
        return None
    return Milestone(
        " · ".join(str(value) for value in (milestone.get("kind"), milestone.get("year")) if value),
        Markup(prose.to_inline(milestone.get("name") or "")),
        Markup(prose.to_html(milestone.get("fidelity") or "", where="milestone.fidelity")),
        tuple(_make_paper(paper, at) for at, paper in enumerate(milestone.get("papers") or [], start=1)),
    )


def _make_paper(paper: PublishedPaper, number: int) -> Paper:
    """A paper's title and address; what is no web address is shown without a link."""
    url = paper.get("url") or ""
    title = prose.to_text(paper.get("title") or url)
    return Paper(title, url if prose.is_web_address(url) else "", number if paper.get("key") else 0)
