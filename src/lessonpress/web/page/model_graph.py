"""The graph of any model, without a lesson: its picture, its nodes as a table, and a page with both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from lessonpress.graph import drawing, graph, layout
from lessonpress.web import prose
from lessonpress.web.page import graphs, listing, numbers, rendering

if TYPE_CHECKING:
    from lessonpress.lesson.records import Graph, Layer
    from lessonpress.worker.records import Recorded

HEADS = ("node", "operation", "output", "parameters", "calls", "source")


@dataclass(frozen=True)
class Row:
    """One node of the graph, or a module around nodes; `place` is the line that calls it, else the one that made it."""

    id: str
    operation: str
    settings: str
    output: str
    parameters: int
    calls: int
    place: str
    anchor: str


@dataclass(frozen=True)
class ModelGraph:
    """A model's graph: its picture as SVG, a row for every node, and how many numbers it has learned or may learn."""

    title: str
    graph: Graph
    svg: str
    rows: tuple[Row, ...]
    parameters: int
    sources: Mapping[str, str]  # texts of the files to which the places lead

    def summary(self) -> str:
        """How much there is, in one line."""
        nodes = sum(layer["kind"] != "module" for layer in self.graph["layers"])
        return f"{self.title}: {nodes} nodes, {self.parameters:,} parameters"

    def table(self) -> str:
        """The summary, and below it a line for every node: operation, output, parameters, calls, source line."""
        lines = [HEADS, *((row.id, row.operation, row.output, f"{row.parameters:,}" if row.parameters else "",
                           str(row.calls), row.place) for row in self.rows)]  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        cells = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
        return prose.make_visible("\n".join([self.summary(), *(line.rstrip() for line in cells)]))

    def page(self) -> str:
        """One HTML file with picture, table and source: it needs no network and no script."""
        picture = graphs.make_graph(self.svg, (), {})
        return rendering.render(
            "model.html.jinja", title=self.title, summary=self.summary(), rows=self.rows,
            style=picture.style if picture else "", picture=picture.first.svg if picture else "",
            listings=listing.make_listings(self.sources), idle=self.graph["idle"], unused=self.graph["unusedInputs"],
        )  # fmt: skip


def make_model_graph(captured: Recorded, title: str, sources: Mapping[str, str]) -> ModelGraph:
    """The graph of a capture's only run; `sources` are the texts to which its places may lead, by file name.

    Of the capture's values dtypes and shapes are enough.
    """
    [name] = captured["runs"]
    built = graph.build_graph(captured, name)
    layers, connections = built["layers"], built["connections"]
    placement = layout.place_graph(layers, connections, collapsed=layout.choose_folded(layers, connections))
    run = captured["runs"][name]
    sizes = {tensor: prod(run["values"][number]["shape"]) for tensor, number in run["params"].items()}
    anchors = listing.make_anchors(sources)
    held = _collect_parameters(captured, sizes)
    rows = tuple(_make_row(layer, sum(sizes[tensor] for tensor in held.get(layer["id"], ())), anchors)
                 for layer in layers)  # fmt: skip
    svg = drawing.draw_svg(layers, connections, placement, title=title)
    return ModelGraph(title, built, svg, rows, sum(sizes.values()), sources)


def _collect_parameters(captured: Recorded, known: Mapping[str, int]) -> dict[str, set[str]]:
    """Every module's parameters, those of the modules inside it too, by full name: a shared one is counted once."""
    held: dict[str, set[str]] = {}
    modules = captured["modules"]
    for path, module in modules.items():
        own = {full for full in module["parameters"].values() if full in known}
        for around in (path, *_list_above(path)):
            held.setdefault(around, set()).update(own)
    return held


def _list_above(path: str) -> Iterable[str]:
    while path:
        path = path.rpartition(".")[0]
        yield path


def _make_row(layer: Layer, parameters: int, anchors: Mapping[str, str]) -> Row:
    spots = [*(layer.get("called") or ()), *([source] if (source := layer.get("source")) else [])]
    file, line = (spots[0].get("file") or "", spots[0]["line"]) if spots else ("", 0)
    return Row(
        layer["id"], layer.get("class") or layer["op"] or "", _join_settings(layer),
        ", ".join(f"{numbers.format_shape(each['shape'] or [])} {each['dtype'] or ''}".strip()
                  for each in layer.get("outputs") or ()),
        parameters, layer.get("calls") or 0, f"{file}:{line}" if spots else "",
        f"{anchors[file]}{line}" if file in anchors else "",
    )  # fmt: skip


def _join_settings(layer: Layer) -> str:
    """A node's settings; of an input its output says the same."""
    if layer["kind"] == "input":
        return ""
    return ", ".join(f"{name} {numbers.format_exact(value)}" for name, value in layer["params"].items())

