"""What is drawn when some modules are collapsed: boxes, open modules, and which connections share a route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessonpress.graph.layout import text
from lessonpress.graph.layout.fold import find_rolls
from lessonpress.graph.layout.nest import Nest

if TYPE_CHECKING:
    from lessonpress.lesson.records import Layer

LABEL_SIZE, DETAIL_SIZE = 13.0, 11.0  # font sizes, in pixels
LABEL_LIMIT, TITLE_LIMIT = 190.0, 170.0  # the widest label and frame title, in pixels


@dataclass(frozen=True, slots=True)
class Item:
    """A box that is to be drawn."""

    kind: str
    label: str
    detail: str
    inside: int = 0
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """Connections that share one route: the same output of one box, to the same box."""

    source: str
    target: str
    trunk: tuple[str, str]  # routes of one trunk carry the same tensor and share their first part
    connections: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """The visible graph; an id in `children` is an open module, any other a box in `items`."""

    children: Mapping[str | None, Sequence[str]]
    above: Mapping[str, tuple[str | None, ...]]  # visible id → open modules around it, from the top (None) down
    items: Mapping[str, Item]
    bundles: Sequence[Bundle]
    loops: Mapping[str, tuple[str, ...]]  # box → its connections with itself
    hidden: Mapping[str, str]  # connection → the collapsed box that it is inside
    home: Mapping[str, str]  # layer → box or open module
    shapes: Mapping[str, str]  # connection → its tensor's shape in words
    titles: Mapping[str, str]  # open module → its frame's title


def make_view(nest: Nest, collapsed: frozenset[str]) -> View:
    """Find what is visible of a graph when the modules in `collapsed` are folded up.

    Raises ValueError for a collapsed id that is not a module of the graph.
    """
    if strange := sorted(module for module in collapsed if not nest.children.get(module)):
        raise ValueError(f"{strange[0]!r} cannot be collapsed: it is not a module with layers inside")
    rows = find_rolls(nest, collapsed)
    leader = {member: first for first, row in rows.items() for member in row}
    home = {}
    for layer in nest.layers:
        shown = nest.shown(layer, collapsed)
        home[layer] = leader.get(shown, shown)
    children: dict[str | None, list[str]] = {None: []}
    for layer in nest.layers:
        if home[layer] == layer:
            children.setdefault(nest.layers[layer]["parent"], []).append(layer)
    boxes = [layer for layer in nest.layers if home[layer] == layer and layer not in children]
    items = {box: _make_item(nest, box, rows.get(box, ()), box in collapsed) for box in boxes}
    above = {layer: (None, *nest.above[layer]) for layer in nest.layers if home[layer] == layer}
    shapes = {connection["id"]: format_shape(connection.get("shape")) for connection in nest.connections}
    titles = {module: _make_title(nest, module) for module in children if module is not None}
    bundles, loops, hidden = _bundle_connections(nest, home)
    return View(children, above, items, bundles, loops, hidden, home, shapes, titles)


def _bundle_connections(
    nest: Nest, home: Mapping[str, str]
) -> tuple[list[Bundle], dict[str, tuple[str, ...]], dict[str, str]]:
    """Sort the connections into shared routes, loops and hidden ones."""
    joined: dict[tuple[str, str, str], list[str]] = {}
    loops: dict[str, tuple[str, ...]] = {}
    hidden: dict[str, str] = {}
    for connection in nest.connections:
        name = connection["id"]
        source, target = home[connection["source"]], home[connection["target"]]
        if source != target:
            port = connection["sourcePort"]
            single = source == connection["source"] and not nest.children.get(source)
            joined.setdefault((source, "" if port is None or not single else port, target), []).append(name)
        elif nest.children.get(source):
            hidden[name] = source
        else:
            loops[source] = (*loops.get(source, ()), name)
    bundles = [Bundle(source, target, (source, port), tuple(names)) for (source, port, target), names in joined.items()]
    return bundles, loops, hidden


def _make_item(nest: Nest, box: str, row: tuple[str, ...], collapsed: bool) -> Item:
    """The words in a box: what it is called, then what it is."""
    layer = nest.layers[box]
    parent = layer["parent"]
    name = shorten_label(layer, parent)
    if row and "@" in box and not collapsed:  # a loop's operation: its numbers say nothing
        name = f"{name.rpartition(' #')[0]} ×{len(row)}"
    elif row:
        name = f"{name} … {shorten_label(nest.layers[row[-1]], parent)} ×{len(row)}"
    inside = sum(nest.leaves(member) for member in row or (box,)) if collapsed else 0
    detail = " · ".join(_list_details(layer, inside))
    label = text.fit_width(text.make_visible(name), LABEL_SIZE, LABEL_LIMIT)
    return Item(layer["kind"], label, text.fit_width(detail, DETAIL_SIZE, LABEL_LIMIT), inside, row)


def _make_title(nest: Nest, module: str) -> str:
    """A frame's title: the module's name, and its class where the graph says it."""
    layer = nest.layers[module]
    name, op = shorten_label(layer, layer["parent"]), layer["op"] or "Module"
    title = name if op in ("Module", name) else f"{name} · {op}"
    return text.fit_width(text.make_visible(title), DETAIL_SIZE, TITLE_LIMIT)


def _list_details(layer: Layer, inside: int) -> list[str]:
    """The second line: the operation, then an input's type, the number of calls, or how many layers are inside."""
    parts = [text.make_visible(layer["op"] or layer["kind"])]
    outputs, calls = layer.get("outputs"), layer.get("calls") or 1
    if layer["kind"] == "input" and outputs and outputs[0]["dtype"]:
        parts.append(text.make_visible(outputs[0]["dtype"]))
    if calls > 1:
        parts.append(f"{calls} calls")
    if inside:
        parts.append(f"{inside} layer{'s' if inside > 1 else ''} inside")
    return parts


def shorten_label(layer: Layer, parent: str | None) -> str:
    """A layer's label without what its frame already says: `a.b` inside `a` is `b`, `add@a#0` is `add #0`.

    A label that is not the id was chosen by somebody and stays whole; so does an input's, without `input:`.
    """
    name = layer["label"] or layer["id"]
    if name != layer["id"]:
        return name
    if layer["kind"] == "input":
        return name.removeprefix("input:") or name
    if layer["kind"] == "layer" and "@" in name and "#" in name.rpartition("@")[2]:
        return f"{name.partition('@')[0]} #{name.rpartition('#')[2]}"
    return name[len(parent) + 1 :] if parent and name.startswith(f"{parent}.") else name


def format_shape(shape: Sequence[int] | None) -> str:
    """A shape as it is written on an edge: `1×5×8`, `scalar`, or nothing where it is unknown."""
    if shape is None:
        return ""
    return "×".join(map(str, shape)) or "scalar"
