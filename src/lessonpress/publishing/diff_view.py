"""What changed between two revisions, as one offline HTML file with a picture of both graphs and of every array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from lessonpress.graph import drawing, layout
from lessonpress.revision import published
from lessonpress.revision.numeric_diff import Array, Gap
from lessonpress.revision.revision_diff import RevisionDiff
from lessonpress.web.page import arrays, figures, heatmap, rendering
from lessonpress.web.page.scales import Scale

if TYPE_CHECKING:
    from lessonpress.lesson.records import Connection, Layer
    from lessonpress.revision.manifest_schema import Manifest, PublishedArray

SIGNS = {"added": "+", "removed": "−", "changed": "±"}
HEATMAPS = 24  # pictures in one report; the JSON names every array that differs
UNNAMED: PublishedArray = {"label": "", "values": []}  # in place of an array of which the manifest names no axes


@dataclass(frozen=True)
class Line:
    """One line of a unified diff and what it is: `add`, `cut`, `hunk` or plain."""

    kind: str
    text: str


@dataclass(frozen=True)
class Text:
    """One file's difference."""

    name: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Tensor:
    """One array that differs: its worst cell in words, and the new values minus the old ones as heatmaps."""

    gap: Gap
    worst: str
    pictures: tuple[Markup, ...]
    note: str


@dataclass(frozen=True)
class View:
    """Everything that a report says about two revisions."""

    id: str  # begins the ids of this view's parts, so that one page can hold several views
    changes: RevisionDiff
    reasons: tuple[str, ...]
    texts: tuple[Text, ...]
    graph: Markup | None
    tensors: tuple[Tensor, ...]
    more: int  # arrays that differ beyond those with pictures


def render_page(changes: RevisionDiff, old: Path, new: Path, *, title: str) -> str:
    """The difference of two revision folders as one HTML page."""
    return rendering.render("diff.html.jinja", view=make_view(changes, old, new, name="diff"), title=title)


def make_view(changes: RevisionDiff, old: Path, new: Path, *, name: str) -> View:
    """The difference of two revision folders, ready for a page; `name` begins the ids of its parts."""
    gaps = sorted(changes.numbers.gaps, key=lambda gap: (gap.good, -gap.share))
    sides = [{**published.read_numbers(side), **published.read_weights(side)} for side in (old, new)]
    manifests = [published.read_manifest(side) for side in (old, new)]
    entries = _list_arrays(manifests[1])
    tensors = tuple(_make_tensor(gap, sides[0], sides[1], entries.get(gap.name, UNNAMED)) for gap in gaps[:HEATMAPS])
    texts = tuple(Text(file, _split_diff(text)) for file, text in changes.texts.items())
    picture = None if changes.graph.same() else draw_graphs(changes, manifests[0], manifests[1], name)
    return View(name, changes, tuple(changes.words()), texts, picture, tensors, max(0, len(gaps) - HEATMAPS))


def _split_diff(diff: str) -> tuple[Line, ...]:
    kinds = {"+": "add", "-": "cut", "@": "hunk"}
    return tuple(Line(kinds.get(line[:1], ""), line) for line in diff.splitlines()[2:])


def _list_arrays(manifest: Manifest) -> dict[str, PublishedArray]:
    """A manifest's recorded arrays, with their axes, by name."""
    experiment = manifest.get("experiment")
    return {f"{case['id']}: {entry.get('id')}": entry
            for case in (experiment["cases"] if experiment else [])
            for entry in (*case["matrices"], *case["vectors"])}  # fmt: skip


def _make_tensor(gap: Gap, old: Mapping[str, Array], new: Mapping[str, Array], entry: PublishedArray) -> Tensor:
    """An array that differs, with pictures where both sides have the same shape and hold real numbers."""
    before, after = old[gap.name], new[gap.name]
    worst = f"{gap.where()}: {gap.old} → {gap.new}, {gap.words()}"
    if before.shape != after.shape or before.dtype.kind not in "fiu" or after.dtype.kind not in "fiu":
        return Tensor(gap, worst, (), "The shapes or kinds differ, so there is no picture.")
    difference = subtract(before, after)
    grids = arrays.make_grids(difference.tolist(), rows=entry.get("rows"), panels=entry.get("panels"),
                              columns=entry.get("axis") or entry.get("columns"))  # fmt: skip
    largest = float(np.abs(difference[np.isfinite(difference)]).max(initial=0.0))
    scale = Scale(-largest, largest)
    pictures = tuple(
        heatmap.draw(grid, scale=scale, description=figures.describe_grid(grid, f"{gap.name}, new minus old"))
        for grid in grids if any(grid.values)
    )  # fmt: skip
    hidden = arrays.count_panels(difference.tolist()) > len(grids) or any(grid.is_cropped() for grid in grids)
    return Tensor(gap, worst, pictures, "Only the first rows, columns and panels are drawn." if hidden else "")


def subtract(old: Array, new: Array) -> Array:
    """New minus old, number by number, in float64; 0 where both are the same, also where both are NaN or infinite."""
    a, b = old.astype(np.float64), new.astype(np.float64)
    with np.errstate(all="ignore"):
        return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, b - a)


def draw_graphs(changes: RevisionDiff, old: Manifest, new: Manifest, name: str) -> Markup | None:
    """Both graphs on one layout: each layer that was added, removed or changed has a sign (+, − or ±) and a colour.

    None where the two cannot share a layout, because a layer has become a module or the other way round.
    """
    signs = {**dict.fromkeys(changes.graph.added, "added"), **dict.fromkeys(changes.graph.removed, "removed"),
             **dict.fromkeys(changes.graph.changed or {}, "changed")}  # fmt: skip
    layers = [_add_sign(layer, signs) for layer in merge_layers(old["layers"], new["layers"])]
    wires = _merge_connections(old["connections"], new["connections"])
    try:
        placement = layout.place_graph(layers, wires, collapsed=layout.choose_folded(layers, wires))
        text = drawing.draw_svg(layers, wires, placement, title="Both graphs on one layout", ids=f"{name}-graph")
    except ValueError:
        return None
    for layer, what in signs.items():
        mark = f'data-id="{_escape_attribute(layer)}"'
        text = text.replace(mark, f'{mark} data-change="{what}"')
    return Markup(text)


def _add_sign(layer: Layer, signs: Mapping[str, str]) -> Layer:
    sign = SIGNS.get(signs.get(layer["id"], ""))
    return {**layer, "label": f"{sign} {layer['label']}" if sign else layer["label"]}


def merge_layers(old: Sequence[Layer], new: Sequence[Layer]) -> list[Layer]:
    """The layers of both graphs by id; in the new form where both graphs have one."""
    known = {layer["id"] for layer in new}
    return [*new, *(layer for layer in old if layer["id"] not in known)]


def _merge_connections(old: Sequence[Connection], new: Sequence[Connection]) -> list[Connection]:
    """The connections of both graphs, each pair of ends once, with new ids."""
    ends = {(wire["source"], wire["target"], wire.get("sourcePort"), wire.get("targetPort")): wire
            for wire in (*old, *new)}  # fmt: skip
    return [{**wire, "id": f"wire-{number}"} for number, wire in enumerate(ends.values())]


def _escape_attribute(text: str) -> str:
    return str(Markup.escape(text)).replace("&#34;", "&quot;").replace("&#39;", "&#x27;")
