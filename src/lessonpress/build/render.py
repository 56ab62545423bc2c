"""Step render: make every file of a revision from what was read, recorded and checked."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lessonpress.build import code_digest, live_promise
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import canonical_json, source_map, suggestions
from lessonpress.core.errors import LessonError, LessonErrors
from lessonpress.graph import drawing, graph, layout
from lessonpress.lesson import reader, trained_weights
from lessonpress.lesson.capture_records import Capture
from lessonpress.lesson.recipe import Recipe, Recording
from lessonpress.lesson.records import Cases, Graph, MutantVerdict, SourceRecord, Verdict
from lessonpress.replay import replay
from lessonpress.revision import bundle, dated, identity, manifest, manifest_schema, weights, worker_files
from lessonpress.revision.manifest_schema import Manifest, PublishedFile
from lessonpress.web.page import (
    binding,
    expressions,
    graphs,
    lesson_page,
    program,
    prose_check,
    rendering,
    scales,
    view_models,
    volatile,
)
from lessonpress.web.page.page_data import Live
from lessonpress.worker import recorded

STAND_IN = "8d1f6a3b0c5e9247"


def render_lesson(work: LessonBuild) -> tuple[str, dict[str, bytes], str | None]:
    """A build's revision: its id, all its files, and hints: numbers that are typed into prose, promises that the page
    will not keep.

    Raises LessonError for a step or case that points at nothing, and for prose that cannot be rendered.
    """
    table = work.bytes("cases.csv")
    name, files, doubts = _render(work.lesson, work.source, work.capture, work.cases, work.checks, table)
    hints = [*binding.find_typed(work.lesson, work.cases), *(doubt.message() for doubt in doubts)]
    return name, files, "\n".join(f"hint: {words}" for words in hints) or None


def render_revision(
    read: reader.Lesson, source: SourceRecord, captured: Capture, cases: Cases, checks: Sequence[Verdict], table: bytes
) -> tuple[str, dict[str, bytes]]:
    """A revision's id and files, a pure function of the lesson, its capture and the templates."""
    name, files, _ = _render(read, source, captured, cases, checks, table)
    return name, files


def _render(
    read: reader.Lesson, source: SourceRecord, captured: Capture, cases: Cases, checks: Sequence[Verdict], table: bytes
) -> tuple[str, dict[str, bytes], Iterator[LessonError]]:
    """A revision's id and files, and what its page will not do although the recipe promises it."""
    if misnamed := expressions.find_misnamed(read):
        raise LessonErrors(misnamed)
    checks = add_sentences(checks, read.recipe)
    read = binding.bind_values(read, cases)
    _require_readable(read, checks)
    executed = graph.build_graph(captured)
    _require_known_targets(read, executed)
    own_graphs = _build_own_graphs(captured, executed)
    stored = weights.pack_weights(captured)
    replayed = replay.replay_runs(captured)
    body = manifest.make_manifest(
        read.recipe, source, captured, executed, cases, checks, replay.certify_capture(replayed),
        canonical_json.digest(stored), own_graphs, code_digest.digest_step("render"),
        trained_weights.describe_provenance(read, source["plan"]),
    )  # fmt: skip
    picture = draw_picture(executed, read.recipe.title)
    steps = replay.choose_program(captured, replayed)
    files: dict[str, bytes] = {
        **read.files, **_save_large_arrays(captured, read, body), **_make_tools(source, body),
        "graph.tensorviz.json": canonical_json.pretty({**executed, "program": steps}).encode(),
        "plan.json": canonical_json.pretty(source["plan"]).encode(), "preview.svg": picture.encode(),
        "cases.csv": table, "weights.safetensors": stored, "requirements.txt": bundle.list_requirements().encode(),
    }  # fmt: skip
    live = _make_live_parts(read, captured, replayed, executed, own_graphs)
    # The page is made once, with an id that stands for the one to come; nothing else in it depends on the id.
    draft: Manifest = {**body, "revision": STAND_IN, "files": _list_files(read, STAND_IN, files)}
    page = _make_page(read, draft, picture, live)
    text = identity.make_identity(source, captured, cases, files, volatile.blank_page(page, STAND_IN),
                                  canonical_json.digest(stored))  # fmt: skip
    name = identity.compute_revision(text)
    files["identity.json"], files["index.html"] = text.encode(), page.replace(STAND_IN, name).encode()
    whole: Manifest = {**body, "revision": name, "files": _list_files(read, name, files)}
    manifest_schema.validate_manifest(whole)
    files["manifest.json"] = canonical_json.pretty(whole).encode()
    files = dated.date_files(whole, files, whole["provenance"]["capturedAt"])  # until it is published
    reason = view_models.explain_recorded_only(whole)
    return name, files, live_promise.find_broken(read, captured, replayed, live.live, reason)


def add_sentences(checks: Sequence[Verdict], recipe: Recipe) -> list[Verdict]:
    """Verdicts with the sentence of every broken variant: those are words, and no reason to judge again."""
    sentences = {mutant.id: mutant.sentence for mutant in recipe.mutants}

    def add_sentence(broken: MutantVerdict) -> MutantVerdict:
        return {"id": broken["id"], "sentence": sentences[broken["id"]], "failed": broken["failed"],
                "measured": broken["measured"], "bound": broken["bound"]}  # fmt: skip

    return [{**check, "mutants": [add_sentence(broken) for broken in check["mutants"]]} for check in checks]


def draw_picture(graph: Graph, title: str, *, ids: str = "n") -> str:
    """The graph's picture as SVG; large graphs are folded by module until a person can read them."""
    return _draw_folded(graph, layout.choose_folded(graph["layers"], graph["connections"]), title, ids)


def _draw_folded(graph: Graph, folded: frozenset[str], title: str, ids: str) -> str:
    layers, connections = graph["layers"], graph["connections"]
    placement = layout.place_graph(layers, connections, collapsed=folded)
    return drawing.draw_svg(layers, connections, placement, title=title, ids=ids)


@dataclass(frozen=True)
class _LiveParts:
    """What the page can do beyond showing: the program that it runs, and further pictures of the graph."""

    live: Live | None
    folded: list[str]
    pictures: dict[tuple[str, ...], str]
    own_graphs: dict[str, str]
    reach: scales.Reach


def _make_live_parts(
    read: reader.Lesson, captured: Capture, replayed: Mapping[str, replay.Replayed], executed: Graph,
    own_graphs: Mapping[str, Graph],
) -> _LiveParts:  # fmt: skip
    title = read.recipe.title
    live = program.make_live_data(captured, replayed, read.recipe.experiment)
    return _LiveParts(
        live,
        sorted(layout.choose_folded(executed["layers"], executed["connections"])),
        graphs.draw_views(executed, lambda folded, ids: _draw_folded(executed, folded, title, ids)),
        {name: draw_picture(each, title, ids=f"c{at}-") for at, (name, each) in enumerate(own_graphs.items())},
        scales.measure_reach(live, replayed),
    )


def _require_readable(read: reader.Lesson, checks: Sequence[Verdict]) -> None:
    """Raise what is wrong with the lesson's words at their own lines; the page knows them without their places."""
    file = os.path.relpath(read.folder / (read.recipe.checks or ""))
    sentences = [(f"{file}:{check['line']}: {check['id']}", check["sentence"]) for check in checks]
    if mistakes := prose_check.find_unreadable(read, sentences):
        raise LessonErrors(mistakes)


def _make_page(read: reader.Lesson, draft: Manifest, picture: str, parts: _LiveParts) -> str:
    model = read.recipe.model.file
    texts = {name: data for name, data in read.files.items() if name.endswith(".py")}
    order = sorted(texts, key=lambda name: (name != model, name == read.recipe.checks, name))
    sources = {name: texts[name].decode("utf-8", "replace") for name in order}
    return lesson_page.render_page(
        draft, recipe=read.recipe, graph_svg=picture, sources=sources, live=parts.live, folded=parts.folded,
        pictures=parts.pictures, own_graphs=parts.own_graphs, reach=parts.reach,
    )  # fmt: skip


def _list_files(read: reader.Lesson, name: str, files: Mapping[str, bytes]) -> dict[str, PublishedFile]:
    home = f"/models/{read.recipe.slug}/{name}"
    return {path: {"url": f"{home}/{path}", "sha256": canonical_json.digest(data), "bytes": len(data)}
            for path, data in sorted(files.items())}  # fmt: skip


def _make_tools(source: SourceRecord, body: Manifest) -> dict[str, bytes]:
    """run.py, compare.py, verify.py and the worker's code."""
    folder = rendering.templates_folder()
    texts = {
        name: (folder / f"{name}.txt").read_text(encoding="utf-8") for name in ("run.py", "compare.py", "verify.py")
    }
    shapes = [str(output["shape"]).replace(" ", "") for output in body["provenance"].get("outputs") or []]
    texts["run.py"] = bundle.make_run_script(texts["run.py"], source["plan"], shapes)
    return {**{name: text.encode() for name, text in texts.items()}, **worker_files.collect_worker_files(),
            **bundle.make_editor_files()}  # fmt: skip


def _save_large_arrays(captured: Capture, read: reader.Lesson, body: Manifest) -> dict[str, bytes]:
    """The recorded arrays that are too large for the manifest, as .npy files."""
    record = read.recipe.experiment.record if read.recipe.experiment else Recording()
    cuts = {entry.id: entry for entry in (*record.matrices, *record.vectors)}
    runs, files = recorded.Runs(captured), {}
    for case in body["experiment"]["cases"] if body["experiment"] else []:
        for entry in (*case["matrices"], *case["vectors"]):
            if isinstance(entry["values"], dict):
                cut = cuts[str(entry["id"])]
                buffer = io.BytesIO()
                np.save(buffer, recorded.select(runs[case["id"]][cut.tensor], cut.select, cut.reshape))
                files[entry["values"]["file"]] = buffer.getvalue()
    return files


def _require_known_targets(read: reader.Lesson, executed: Graph) -> None:
    """Every step and case points at a node of the graph."""
    known = {layer["id"] for layer in executed["layers"]}
    targets: list[tuple[source_map.Path, str]] = [
        (("steps", i, "target"), step.target) for i, step in enumerate(read.recipe.steps)
    ]
    if experiment := read.recipe.experiment:
        targets += [(("experiment", "cases", i, "target"), case.target)
                    for i, case in enumerate(experiment.cases) if case.target]  # fmt: skip
        targets += [(("experiment", "target"), experiment.target)] if experiment.target else []
    for path, target in targets:
        if recorded.parse(target).base not in known and target not in known:
            near = suggestions.nearest(target, known, count=4, cutoff=0.4)
            raise read.error(path, f"no node of the graph is called {target!r}",
                             f"near it: {', '.join(near)}" if near else "")  # fmt: skip


def _build_own_graphs(captured: Capture, executed: Graph) -> dict[str, Graph]:
    """The graphs of those cases that ran otherwise than the execution did."""
    structure = graph.extract_structure(executed)
    cases = [name for name, run in captured["runs"].items() if run["kind"] == "case"]
    built = {name: graph.build_graph(captured, name) for name in cases}
    return {name: own for name, own in built.items() if graph.extract_structure(own) != structure}
