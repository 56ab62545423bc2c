"""What a manifest says of model, checks and files, as records for the page; empty where it says nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from lessonpress.web import prose
from lessonpress.web.page import glossary, listing, numbers
from lessonpress.web.page.listing import Line
from lessonpress.worker import recorded

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


@dataclass(frozen=True)
class Question:
    """A prediction to make first: its words, its options with the right one's place, and the answer."""

    prompt: Markup
    options: tuple[Markup, ...]
    right: int
    answer: Markup


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
    """Whether the graph can be run without PyTorch; `difference` belongs to this run only."""

    covered: bool
    uncovered: tuple[str, ...]
    difference: str


@dataclass(frozen=True)
class File:
    """One file of the revision: its relative address, and size and digest where the manifest knows them."""

    name: str
    href: str
    size: str
    sha256: str


def locate_layers(manifest: Mapping[str, Any], sources: Mapping[str, str]) -> dict[str, list[tuple[Any, ...]]]:
    """For each node the stretches of source it is called from and declared at.

    Each is (file's anchor, first line, last line) where it is declared, and for a call also (column, end column), from
    1, the end exclusive.
    """
    anchors = listing.make_anchors(sources)
    found: dict[str, list[tuple[Any, ...]]] = {}
    layers = manifest.get("layers") or []
    aimed = {step.get("target") for step in manifest.get("steps") or []}
    for layer in [*layers[:ROWS], *(each for each in layers[ROWS:] if each["id"] in aimed)]:
        spots = [*(layer.get("called") or []), *([layer["source"]] if layer.get("source") else [])]
        known = [spot for spot in spots if _file(spot, sources) in anchors]
        found[layer["id"]] = [_stretch(spot, anchors[_file(spot, sources)]) for spot in known]
    return {name: stretches for name, stretches in found.items() if stretches}


def _stretch(spot: Mapping[str, Any], anchor: str) -> tuple[Any, ...]:
    lines = (anchor, spot["line"], spot.get("endLine") or spot["line"])
    return (*lines, spot["column"], spot["endColumn"]) if spot.get("column") and spot.get("endColumn") else lines


def list_records(manifest: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, list[str]]:
    """For each node the figures that were recorded there, as `matrices/0`."""
    record = (recipe.get("experiment") or {}).get("record") or {}
    known = {layer["id"] for layer in manifest.get("layers") or []}
    found: dict[str, list[str]] = {}
    for kind in ("matrices", "vectors"):
        for at, entry in enumerate(record.get(kind) or []):
            base = recorded.parse(str(entry["tensor"])).base
            if base in known:
                found.setdefault(base, []).append(f"{kind}/{at}")
    return found


def explain_recorded_only(manifest: Mapping[str, Any]) -> str:
    """Why a page cannot compute its lesson, as the end of a sentence."""
    told = manifest.get("replay") or {}
    if told.get("uncovered"):
        return f"it uses what lies outside the page's operations: {', '.join(map(str, told['uncovered']))}"
    if any(case.get("graph") for case in (manifest.get("experiment") or {}).get("cases") or []):
        return "its cases took different ways through the model"
    return "its numbers are too many for a page" if told.get("covered") else "it was published without a program"


def make_steps(
    manifest: Mapping[str, Any], sources: Mapping[str, str], listings: Sequence[listing.Listing], marked: glossary.Terms
) -> tuple[Step, ...]:
    """The steps in order, each with its node in words and the source it runs."""
    layers = {layer["id"]: layer for layer in manifest.get("layers") or []}
    lines = {each.name: each.lines for each in listings}
    return tuple(
        Step(
            str(step["id"]),
            str(step.get("target") or ""),
            Markup(prose.to_inline(str(step.get("title") or step["id"]), where=f"step {step['id']}: title")),
            marked.mark(prose.to_html(str(step.get("note") or ""), where=f"step {step['id']}: note")),
            _layer_words(layers.get(step.get("target"))),
            _quoted(layers.get(step.get("target")), sources, lines),
            step["id"] == manifest.get("openingStep"),
        )
        for step in manifest.get("steps") or []
    )


def make_questions(recipe: Mapping[str, Any]) -> tuple[Question, ...]:
    """The questions of a recipe whose answers are computed already."""
    told = recipe.get("questions") or []
    return tuple(
        Question(
            Markup(prose.to_html(str(each["prompt"]), where=f"question {each['id']}: prompt")),
            tuple(Markup(prose.to_inline(str(option), where=f"question {each['id']}: option"))
                  for option in each["options"]),
            each["options"].index(each["answer"]) if each["answer"] in each["options"] else -1,
            Markup(prose.to_inline(str(each["answer"]), where=f"question {each['id']}: answer")),
        )
        for each in told
    )  # fmt: skip


def find_parents(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The modules around nodes whose ids do not tell: `a.b` is inside `a`, `add@a#0` too."""
    layers = manifest.get("layers") or []
    told = ((str(layer["id"]), layer.get("parent")) for layer in layers)
    return {name: parent for name, parent in told if parent and parent != _scope(name)}


def _scope(name: str) -> str:
    operation = re.fullmatch(r"\w+@(.*)#\d+", name, re.DOTALL)
    return operation[1] if operation else name.rpartition(".")[0]


def make_layer_rows(manifest: Mapping[str, Any], sources: Mapping[str, str]) -> tuple[LayerRow, ...]:
    """The graph as a table: what a reader who cannot see the picture gets, and more."""
    return tuple(
        LayerRow(
            str(layer["id"]),
            str(layer.get("op") or ""),
            _pairs(layer.get("params") or {}),
            ", ".join(_array(output) for output in layer.get("outputs") or []),
            str(layer.get("calls", "")),
            next(iter(_quoted(layer, sources, {})), None),
        )
        for layer in (manifest.get("layers") or [])[:ROWS]
    )


def make_checks(manifest: Mapping[str, Any]) -> tuple[Check, ...]:
    """The numerical checks; a manifest that has only sentences (as older ones do) gives checks without evidence."""
    told = manifest.get("checks")
    if told is None:
        told = [{"sentence": text} for text in (manifest.get("provenance") or {}).get("numericalChecks") or []]
    return tuple(
        Check(
            Markup(prose.to_inline(str(check.get("sentence") or check.get("id") or ""), where="checks: sentence")),
            bool(check.get("passed", True)),
            _number(check.get("measured")),
            {"<=": "≤", ">=": "≥"}.get(str(check.get("sense")), str(check.get("sense") or "")),
            _number(check.get("bound")),
            _number(check.get("margin")),
            tuple(map(_mutant_sentence, check.get("mutants") or [])),
            sum(bool(mutant.get("failed")) for mutant in check.get("mutants") or []),
        )
        for check in told
    )


def _mutant_sentence(mutant: Mapping[str, Any]) -> Markup:
    return Markup(prose.to_inline(str(mutant.get("sentence") or mutant.get("id") or ""), where="mutants: sentence"))


def make_replay(manifest: Mapping[str, Any]) -> Replay | None:
    """The certificate that the published graph can be run, or why it cannot; None where nothing is said."""
    told = manifest.get("replay")
    if not told:
        return None
    uncovered = [str(operation) for operation in told.get("uncovered") or []]
    return Replay(bool(told.get("covered")) and not uncovered, tuple(uncovered), _number(told.get("maxDifference")))


def list_files(manifest: Mapping[str, Any]) -> tuple[File, ...]:
    """Every file of the revision that the manifest lists, and last those that hold the manifest or its digest."""
    listed = manifest.get("files") or {}
    names = [name for name in listed if name not in {"index.html", *_ALWAYS}]
    return tuple(_told_file(name, listed.get(name)) for name in (*names, *_ALWAYS))


def make_link(name: str) -> str:
    """A file beside the page as a link: `./` first and escaped, so that no name can be taken for a scheme."""
    return "./" + quote(name)


def _told_file(name: str, told: Mapping[str, Any] | None) -> File:
    if told is None:
        return File(name, make_link(name), "", "")
    return File(name, make_link(name), numbers.size(int(told["bytes"])), str(told["sha256"]))


def _layer_words(layer: Mapping[str, Any] | None) -> str:
    """A node in a line: `Tanh, gives [1,5,8] float64`."""
    if layer is None:
        return ""
    gives = ", ".join(_array(output) for output in layer.get("outputs") or [])
    return f"{layer.get('op', '')}, gives {gives}" if gives else str(layer.get("op", ""))


def _quoted(
    layer: Mapping[str, Any] | None, sources: Mapping[str, str], lines: Mapping[str, Sequence[Line]]
) -> tuple[Place, ...]:
    """Where a node is called (or else declared), each place once, with its lines where `lines` has them."""
    if layer is None:
        return ()
    anchors = listing.make_anchors(sources)
    spots = layer.get("called") or ([layer["source"]] if layer.get("source") else [])
    found: dict[str, Place] = {}
    for spot in spots:
        name, first, last = _file(spot, sources), spot["line"], spot.get("endLine") or spot["line"]
        words = f"{name}, line {first}" if first == last else f"{name}, lines {first} to {last}"
        quoted = listing.cut_excerpt(lines.get(name, ())[first - 1 : min(last, first - 1 + _EXCERPT)])
        if name in anchors:
            found.setdefault(words, Place(words, f"{anchors[name]}{first}", quoted))
    return tuple(found.values())


def _file(spot: Mapping[str, Any], sources: Mapping[str, str]) -> str:
    """The file of a place; a manifest of a one-file model does not name it."""
    return str(spot.get("file") or next(iter(sources), ""))


def _array(output: Mapping[str, Any]) -> str:
    return f"{numbers.shape(output.get('shape') or [])} {output.get('dtype', '')}".strip()


def _number(value: Any) -> str:
    return "" if value is None else numbers.short(value)


def _pairs(items: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {numbers.exact(value)}" for name, value in items.items())
