"""What a manifest says of model, checks and files, as records for the page; empty where it says nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup

from lessonpress.replay import replay
from lessonpress.web import prose
from lessonpress.web.page import glossary, listing, numbers
from lessonpress.web.page.listing import Line
from lessonpress.worker import recorded

if TYPE_CHECKING:
    from lessonpress.lesson.recipe import Recipe
    from lessonpress.lesson.records import CallSite, Layer, MutantVerdict, Real, SourceLines, TensorType, Verdict
    from lessonpress.revision.manifest_schema import Manifest, PublishedFile
    from lessonpress.web.page.page_data import Live, LiveWay, Stretch

_EXCERPT = 10  # lines of source that a step quotes at most
ROWS = 400  # nodes that the page lists; graph.tensorviz.json has them all
# Part of every revision folder, though no manifest can hold its own digest or that of a file it is in.
_ALWAYS = ("bundle.zip", "manifest.json", "identity.json", "CITATION.cff", "SHA256SUMS")


@dataclass(frozen=True)
class Place:
    """A stretch of source: words for it, its first line's anchor, and the lines that are quoted."""

    words: str
    anchor: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Step:
    """One stop of the walk: what to read, and the node and lines it is about."""

    id: str
    target: str
    title: Markup
    note: Markup
    layer: str
    places: tuple[Place, ...]
    opening: bool


LONGEST = 300  # characters of a reason


@dataclass(frozen=True)
class LayerRow:
    """One node of the graph as a row of words."""

    id: str
    op: str
    params: str
    output: str
    calls: str
    place: Place | None


@dataclass(frozen=True)
class Check:
    """One numerical check with its evidence; `measured` and `margin` belong to this run only."""

    sentence: Markup
    passed: bool
    measured: str
    sense: str
    bound: str
    margin: str
    mutants: tuple[Markup, ...]  # the broken variants that name it, in a sentence each
    killed: int  # on how many of them it fails


@dataclass(frozen=True)
class Replay:
    """Whether the graph can be run without PyTorch, and if not why; `difference` belongs to this run only."""

    covered: bool
    reason: str
    tolerances: str
    difference: str


@dataclass(frozen=True)
class File:
    """One file of the revision: its relative address, and size and digest where the manifest knows them."""

    name: str
    href: str
    size: str
    sha256: str


def locate_layers(manifest: Manifest, sources: Mapping[str, str]) -> dict[str, list[Stretch]]:
    """For each node the stretches of source it is called from and declared at.

    Each is (file's anchor, first line, last line) where it is declared, and for a call also (column, end column), from
    1, the end exclusive.
    """
    anchors = listing.make_anchors(sources)
    located: dict[str, list[Stretch]] = {}
    layers = manifest.get("layers") or []
    targets = {step.get("target") for step in manifest.get("steps") or []}
    for layer in [*layers[:ROWS], *(each for each in layers[ROWS:] if each["id"] in targets)]:
        calls, source = layer.get("called") or [], layer.get("source")
        places = [*(_locate_call(call, sources, anchors) for call in calls),
                  _locate_lines(source, sources, anchors) if source else None]  # fmt: skip
        located[layer["id"]] = [place for place in places if place]
    return {name: stretches for name, stretches in located.items() if stretches}


def _locate_lines(
    spot: SourceLines, sources: Mapping[str, str], anchors: Mapping[str, str]
) -> tuple[str, int, int] | None:  # fmt: skip
    """The lines of a place, or None where its file is not shown."""
    anchor = anchors.get(_name_file(spot, sources))
    return None if anchor is None else (anchor, spot["line"], spot.get("endLine") or spot["line"])


def _locate_call(call: CallSite, sources: Mapping[str, str], anchors: Mapping[str, str]) -> Stretch | None:
    lines, column, end = _locate_lines(call, sources, anchors), call.get("column"), call.get("endColumn")
    return (*lines, column, end) if lines and column and end else lines


def list_records(manifest: Manifest, recipe: Recipe) -> dict[str, list[str]]:
    """For each node the figures that were recorded there, as `matrices/0`."""
    if recipe.experiment is None:
        return {}
    record = recipe.experiment.record
    known = {layer["id"] for layer in manifest.get("layers") or []}
    recorded_at: dict[str, list[str]] = {}
    for kind, entries in (("matrices", record.matrices), ("vectors", record.vectors)):
        for at, entry in enumerate(entries):
            base = recorded.parse(entry.tensor).base
            if base in known:
                recorded_at.setdefault(base, []).append(f"{kind}/{at}")
    return recorded_at


def explain_recorded_only(manifest: Manifest) -> str:
    """Why a page cannot compute its lesson, as the end of a sentence."""
    certificate = manifest.get("replay")
    uncovered = certificate["uncovered"] if certificate else []
    if contradicted := [why for why in uncovered if replay.CONTRADICTED in why]:
        return f"the record and the graph contradict each other: {contradicted[0]}"[:LONGEST]
    if uncovered:
        return name_cause(uncovered)
    covered = certificate and certificate.get("covered")
    return "its numbers are too many for a page" if covered else "it was published without a program"


def name_cause(uncovered: Sequence[str]) -> str:
    """The first of the reasons why something is not computed, and how many more there are; at most 300 characters."""
    more = len(uncovered) - 1
    rest = f" (and {more} more such place{'' if more == 1 else 's'})" if more else ""
    return uncovered[0][: LONGEST - len(rest)] + rest


def explain_partly(manifest: Manifest, live: Live | None, recipe: Recipe) -> str:
    """Which figures a page that computes does not compute, and why; nothing where it computes all."""
    if live is None or recipe.experiment is None:
        return ""
    ways: list[LiveWay] = [live, *live.get("ways", [])]
    record, names = recipe.experiment.record, []
    pairs = [*zip(record.matrices, zip(*(way["matrices"] for way in ways), strict=True), strict=True),
             *zip(record.vectors, zip(*(way["vectors"] for way in ways), strict=True), strict=True)]  # fmt: skip
    for entry, places in pairs:
        if not any(places):
            names.append(f"“{prose.to_text(entry.label or entry.id)}”")
    if not names:
        return ""
    certificate = manifest.get("replay")
    uncovered = certificate["uncovered"] if certificate else []
    why = f": {name_cause(uncovered)}" if uncovered else ""
    return f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}{why}"


def make_steps(
    manifest: Manifest, sources: Mapping[str, str], listings: Sequence[listing.Listing], terms: glossary.Terms
) -> tuple[Step, ...]:
    """The steps in order, each with its node in words and the source it runs."""
    layers = {layer["id"]: layer for layer in manifest.get("layers") or []}
    lines = {each.name: each.lines for each in listings}
    return tuple(
        Step(
            step["id"],
            step.get("target") or "",
            Markup(prose.to_inline(step.get("title") or step["id"], where=f"step {step['id']}: title")),
            terms.mark(prose.to_html(step.get("note") or "", where=f"step {step['id']}: note")),
            _describe_layer(layers.get(step.get("target"))),
            _quote_source(layers.get(step.get("target")), sources, lines),
            step["id"] == manifest.get("openingStep"),
        )
        for step in manifest.get("steps") or []
    )


def find_parents(manifest: Manifest) -> dict[str, str]:
    """The modules around nodes whose ids do not say it: `a.b` is inside `a`, `add@a#0` too."""
    pairs = ((layer["id"], layer.get("parent")) for layer in manifest.get("layers") or [])
    return {name: parent for name, parent in pairs if parent and parent != _find_scope(name)}


def _find_scope(name: str) -> str:
    operation = re.fullmatch(r"\w+@(.*)#\d+", name, re.DOTALL)
    return operation[1] if operation else name.rpartition(".")[0]


def make_layer_rows(manifest: Manifest, sources: Mapping[str, str]) -> tuple[LayerRow, ...]:
    """The graph as a table: what a reader who cannot see the picture gets, and more."""
    return tuple(
        LayerRow(
            layer["id"],
            layer.get("op") or "",
            _join_settings(layer),
            ", ".join(map(_describe_tensor, layer.get("outputs") or [])),
            str(layer.get("calls", "")),
            next(iter(_quote_source(layer, sources, {})), None),
        )
        for layer in (manifest.get("layers") or [])[:ROWS]
    )


def make_checks(manifest: Manifest) -> tuple[Check, ...]:
    """The numerical checks; a manifest that has only sentences (as older ones do) gives checks without evidence."""
    verdicts = manifest.get("checks")
    if verdicts is None:
        return tuple(map(_make_bare_check, manifest.get("provenance", {}).get("numericalChecks") or []))
    return tuple(map(_make_check, verdicts))


def _make_check(verdict: Verdict) -> Check:
    mutants = verdict.get("mutants") or []
    sense = verdict.get("sense") or ""
    return Check(
        _render_check(verdict.get("sentence") or verdict.get("id") or ""),
        verdict.get("passed", True),
        _format_number(verdict.get("measured")),
        {"<=": "≤", ">=": "≥"}.get(sense, sense),
        _format_number(verdict.get("bound")),
        _format_number(verdict.get("margin")),
        tuple(map(_render_mutant, mutants)),
        sum(mutant.get("failed", False) for mutant in mutants),
    )


def _make_bare_check(sentence: str) -> Check:
    return Check(_render_check(sentence), True, "", "", "", "", (), 0)


def _render_check(sentence: str) -> Markup:
    return Markup(prose.to_inline(sentence, where="checks: sentence"))


def _render_mutant(mutant: MutantVerdict) -> Markup:
    return Markup(prose.to_inline(mutant.get("sentence") or mutant.get("id") or "", where="mutants: sentence"))


def make_replay(manifest: Manifest) -> Replay | None:
    """The certificate that the published graph can be run, or why it cannot; None where nothing is said."""
    certificate = manifest.get("replay")
    if not certificate:
        return None
    uncovered = tuple(certificate.get("uncovered") or [])
    covered = certificate.get("covered", False) and not uncovered
    tolerances = certificate.get("tolerances", {})
    allowed = [f"{most:.0e} ({dtype})".replace("e-0", "e-") for dtype, most in tolerances.items()]
    difference = _format_number(certificate.get("maxDifference"))
    return Replay(covered, "" if covered else explain_recorded_only(manifest), " and ".join(allowed), difference)


def list_files(manifest: Manifest) -> tuple[File, ...]:
    """Every file of the revision that the manifest lists, and last those that hold the manifest or its digest."""
    listed = manifest.get("files") or {}
    names = [name for name in listed if name not in {"index.html", *_ALWAYS}]
    return tuple(_make_file(name, listed.get(name)) for name in (*names, *_ALWAYS))


def make_link(name: str) -> str:
    """A file beside the page as a link: `./` first and escaped, so that no name can be taken for a scheme."""
    return "./" + quote(name)


def _make_file(name: str, listed: PublishedFile | None) -> File:
    if listed is None:
        return File(name, make_link(name), "", "")
    return File(name, make_link(name), numbers.format_size(listed["bytes"]), listed["sha256"])


def _describe_layer(layer: Layer | None) -> str:
    """A node in a line: `Tanh, gives [1,5,8] float64`."""
    if layer is None:
        return ""
    outputs = ", ".join(map(_describe_tensor, layer.get("outputs") or []))
    return f"{layer.get('op', '')}, gives {outputs}" if outputs else layer.get("op", "")


def _quote_source(
    layer: Layer | None, sources: Mapping[str, str], lines: Mapping[str, Sequence[Line]]
) -> tuple[Place, ...]:
    """Where a node is called (or else declared), each place once, with its lines where `lines` has them."""
    if layer is None:
        return ()
    anchors, source = listing.make_anchors(sources), layer.get("source")
    declared: list[SourceLines] = [source] if source else []
    places: dict[str, Place] = {}
    for spot in layer.get("called") or declared:
        name, first, last = _name_file(spot, sources), spot["line"], spot.get("endLine") or spot["line"]
        words = f"{name}, line {first}" if first == last else f"{name}, lines {first} to {last}"
        quoted = listing.cut_excerpt(lines.get(name, ())[first - 1 : min(last, first - 1 + _EXCERPT)])
        if name in anchors:
            places.setdefault(words, Place(words, f"{anchors[name]}{first}", quoted))
    return tuple(places.values())


def _name_file(spot: SourceLines, sources: Mapping[str, str]) -> str:
    """The file of a place; a manifest of a one-file model does not name it."""
    return spot.get("file") or next(iter(sources), "")


def _describe_tensor(output: TensorType) -> str:
    return f"{numbers.format_shape(output.get('shape') or [])} {output.get('dtype', '')}".strip()


def _format_number(value: Real | None) -> str:
    return "" if value is None else numbers.format_short(value)


def _join_settings(layer: Layer) -> str:
    return ", ".join(f"{name} {numbers.format_exact(value)}" for name, value in (layer.get("params") or {}).items())
