"""Step render: make every file of a revision from what was read, recorded and checked."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from lessonpress.build import code_digest
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import canonical_json, suggestions
from lessonpress.core.errors import LessonError, LessonErrors
from lessonpress.graph import drawing, graph, layout
from lessonpress.lesson import reader, trained_weights
from lessonpress.lesson.recipe import Recipe
from lessonpress.lesson.records import Cases
from lessonpress.replay import replay
from lessonpress.revision import bundle, identity, manifest, provenance, schema, weights
from lessonpress.revision.schema import Manifest
from lessonpress.web.page import binding, expressions, graphs, lesson_page, program, prose_check, rendering, volatile
from lessonpress.worker import recorded

STAND_IN = "8d1f6a3b0c5e9247"


def render_lesson(work: LessonBuild) -> tuple[str, dict[str, bytes], str | None]:
    """A build's revision: its id, all its files, and hints about numbers that are typed into prose.

    Raises LessonError for a step or case that points at nothing, and for prose that cannot be rendered.
    """
    name, files = render_revision(work.lesson, work.source, work.body("capture.json"), work.cases, work.checks,
                                  work.bytes("cases.csv"))  # fmt: skip
    hints = binding.find_typed(work.lesson, cast("Cases", work.cases))
    return name, files, "\n".join(f"hint: {words}" for words in hints) or None


def render_revision(
    read: reader.Lesson, source: Mapping[str, Any], captured: Mapping[str, Any], cases: Mapping[str, Any],
    checks: Sequence[Mapping[str, Any]], table: bytes,
) -> tuple[str, dict[str, bytes]]:  # fmt: skip
    """A revision's id and files, a pure function of the lesson, its capture and the templates."""
    if wrong := expressions.find_misnamed(read):
        raise LessonErrors(wrong)
    checks = add_sentences(checks, read.recipe)
    read = binding.bind_values(read, cast("Cases", cases))
    drawn = graph.build_graph(captured)
    _aimed(read, drawn)
    graphs = _own_graphs(captured, drawn)
    stored = weights.pack_weights(captured)
    built = replay.replay_runs(captured)
    body = manifest.make_manifest(read.recipe, source, captured, drawn, cases, checks, replay.certify_capture(built),
                                  canonical_json.digest(stored), graphs, code_digest.digest_step("render"),
                                  trained_weights.describe_provenance(read, source["plan"]))  # fmt: skip
    picture_text = draw_picture(drawn, read.recipe.title)
    files: dict[str, bytes] = {
        **read.files, **_arrays(captured, read, body), **_tools(source, body),
        "graph.tensorviz.json":
            canonical_json.pretty({**drawn, "program": replay.choose_program(captured, built)}).encode(),
        "plan.json": canonical_json.pretty(source["plan"]).encode(), "preview.svg": picture_text.encode(),
        "cases.csv": table, "weights.safetensors": stored, "requirements.txt": bundle.list_requirements().encode(),
    }  # fmt: skip
    alive = _alive(read, captured, built, drawn, graphs)
    # The page is made once, with an id that stands for the one to come; nothing else in it hangs on the id.
    told: Any = {**body, "revision": STAND_IN, "files": _listed(read, STAND_IN, files)}
    try:
        shown = _page(read, told, picture_text, alive)
    except LessonError:
        _readable(read, checks)
        raise
    text = identity.make_identity(source, captured, cases, files, volatile.blank_page(shown, STAND_IN),
                                  canonical_json.digest(stored))  # fmt: skip
    name = identity.compute_revision(text)
    files["identity.json"], files["index.html"] = text.encode(), shown.replace(STAND_IN, name).encode()
    whole: Any = {**body, "revision": name, "files": _listed(read, name, files)}
    schema.validate_manifest(whole)
    files["manifest.json"] = canonical_json.pretty(whole).encode()
    files["CITATION.cff"] = bundle.make_citation(whole)
    files[provenance.CRATE] = canonical_json.pretty(provenance.make_crate(whole, files)).encode()
    files[provenance.STATEMENT] = canonical_json.pretty(provenance.make_statement(whole, files)).encode()
    files["SHA256SUMS"] = bundle.make_checksums(files)
    files["bundle.zip"] = bundle.zip_bundle(files, f"{read.recipe.slug}-{name}")
    return name, files


def add_sentences(checks: Sequence[Mapping[str, Any]], recipe: Recipe) -> list[dict[str, Any]]:
    """Verdicts with the sentence of every broken variant: those are words, and no reason to judge again."""
    sentences = {mutant.id: mutant.sentence for mutant in recipe.mutants}
    return [
        {**check, "mutants": [{"id": broken["id"], "sentence": sentences[broken["id"]], **broken}
                              for broken in check["mutants"]]}
        for check in checks
    ]  # fmt: skip


def draw_picture(drawn: Mapping[str, Any], title: str, *, ids: str = "n") -> str:
    """The graph's picture as SVG; large graphs are folded by module until a person can read them."""
    layers, connections = drawn["layers"], drawn["connections"]
    placement = layout.place_graph(layers, connections, collapsed=layout.choose_folded(layers, connections))
    return drawing.draw_svg(layers, connections, placement, title=title, ids=ids)


def _alive(
    read: reader.Lesson, captured: Mapping[str, Any], built: Mapping[str, replay.Replayed], drawn: Any,
    own: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """What the page can do beyond showing: the program that it runs, and further pictures of the graph."""
    layers, connections, title = drawn["layers"], drawn["connections"], read.recipe.title
    draw = lambda folded, ids: drawing.draw_svg(  # noqa: E731
        layers, connections, layout.place_graph(layers, connections, collapsed=folded), title=title, ids=ids
    )
    experiment = read.recipe.experiment
    return {
        "live": program.make_live_data(captured, built, experiment.model_dump(by_alias=True) if experiment else None),
        "folded": sorted(layout.choose_folded(layers, connections)), "pictures": graphs.draw_views(drawn, draw),
        "own_graphs": {name: draw_picture(each, title, ids=f"c{at}-") for at, (name, each) in enumerate(own.items())},
    }  # fmt: skip


def _readable(read: reader.Lesson, checks: Sequence[Mapping[str, Any]]) -> None:
    """Raise what is wrong with the lesson's words at their own lines; the page knows them without their places."""
    file = os.path.relpath(read.folder / (read.recipe.checks or ""))
    told = [(f"{file}:{check['line']}: {check['id']}", str(check["sentence"])) for check in checks]
    if found := prose_check.find_unreadable(read, told):
        raise LessonErrors(found)


def _page(read: reader.Lesson, body: Manifest, picture_text: str, alive: Mapping[str, Any]) -> str:
    model = read.recipe.model.file
    texts = {n: d for n, d in read.files.items() if n.endswith(".py")}
    order = sorted(texts, key=lambda n: (n != model, n == read.recipe.checks, n))
    sources = {n: texts[n].decode("utf-8", "replace") for n in order}
    return lesson_page.render_page(
        body, recipe=read.recipe, graph_svg=picture_text, sources=sources, **alive
    )


def _listed(read: reader.Lesson, name: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    home = f"/models/{read.recipe.slug}/{name}"
    return {path: {"url": f"{home}/{path}", "sha256": canonical_json.digest(data), "bytes": len(data)}
            for path, data in sorted(files.items())}  # fmt: skip


def _tools(source: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, bytes]:
    """run.py, compare.py, verify.py and the worker's code."""
    folder = rendering.templates_folder()
    texts = {
        name: (folder / f"{name}.txt").read_text(encoding="utf-8") for name in ("run.py", "compare.py", "verify.py")
    }
    shapes = [str(output["shape"]).replace(" ", "") for output in body["provenance"]["outputs"]]
    texts["run.py"] = bundle.make_run_script(texts["run.py"], source["plan"], shapes)
    return {**{name: text.encode() for name, text in texts.items()}, **bundle.collect_worker_files(),
            **bundle.make_editor_files()}  # fmt: skip


def _arrays(captured: Mapping[str, Any], read: reader.Lesson, body: Mapping[str, Any]) -> dict[str, bytes]:
    """The recorded arrays that are too large for the manifest, as .npy files."""
    experiment = read.recipe.experiment
    if experiment is None:
        return {}
    entries = {entry.id: entry for entry in (*experiment.record.matrices, *experiment.record.vectors)}
    runs, out = recorded.Runs(captured), {}
    for case in body["experiment"]["cases"]:
        for entry in (*case["matrices"], *case["vectors"]):
            if isinstance(entry["values"], dict):
                cut = entries[entry["id"]]
                buffer = io.BytesIO()
                np.save(buffer, recorded.select(runs[case["id"]][cut.tensor], cut.select, cut.reshape))
                out[entry["values"]["file"]] = buffer.getvalue()
    return out


def _aimed(read: reader.Lesson, drawn: Mapping[str, Any]) -> None:
    """Every step and case points at a node of the graph."""
    known = {layer["id"] for layer in drawn["layers"]}
    aims: list[tuple[tuple[str | int, ...], str]] = [
        (("steps", i, "target"), s.target) for i, s in enumerate(read.recipe.steps)
    ]
    if read.recipe.experiment:
        aims += [
            (("experiment", "cases", i, "target"), c.target)
            for i, c in enumerate(read.recipe.experiment.cases)
            if c.target
        ]
        aims += [(("experiment", "target"), read.recipe.experiment.target)] if read.recipe.experiment.target else []
    for path, target in aims:
        if recorded.parse(target).base not in known and target not in known:
            near = suggestions.nearest(target, known, count=4, cutoff=0.4)
            raise read.error(path, f"no node of the graph is called {target!r}",
                             f"near it: {', '.join(near)}" if near else "")  # fmt: skip


def _own_graphs(captured: Mapping[str, Any], drawn: Mapping[str, Any]) -> dict[str, Any]:
    """The graphs of those cases that ran otherwise than the execution did."""
    out = {}
    for name, run in captured["runs"].items():
        if run["kind"] == "case":
            own = graph.build_graph(captured, name)
            if graph.extract_structure(own) != graph.extract_structure(drawn):
                out[name] = own
    return out
