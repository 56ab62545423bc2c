"""A picture's geometry: nested frames, rows from top to bottom, and lines that pass no foreign box.

Every open module is laid out by itself, in rows (Sugiyama's method), and then stands as one node in the module around
it; lines are cut at the borders. Nothing here depends on hash order, fonts or the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import nest, text
from .fold import fold
from .geometry import CARDS, LOOP_R, SHAPE_SIZE, Room, measure, trace
from .level import BOTTOM, Step, build
from .nest import Layer
from .records import Box, Frame, Label, Loop, Placement, Point, Route
from .view import View, look, shape_words

__all__ = ["CARDS", "Box", "Frame", "Label", "Loop", "Placement", "Point", "Route", "fold", "place", "shape_words", "text"]

MARGIN = 6.0  # around the whole picture, besides the top level's own padding


def place(
    layers: Sequence[Layer], connections: Sequence[Layer], *, collapsed: frozenset[str] = frozenset()
) -> Placement:
    """Lay out the published graph, in pixels rounded to a tenth, with the modules in `collapsed` drawn as boxes.

    Three or more equal collapsed neighbours become one box. Raises ValueError for ids that occur twice, a missing
    parent, a connection that does not join two leaves, or a collapsed id that is no module.
    """
    view = look(nest.read(layers, connections), collapsed)
    levels, ways = build(view)
    words = _trunk_words(view, ways)
    labels = {box: {trunk: text for trunk, (text, _) in trunks.items()} for box, trunks in words.items()}
    rooms = measure(view, levels, labels)
    origins = _origins(view, rooms)
    top = rooms[None]
    routes = _routes(view, ways, rooms, origins)
    loops = _loops(view, rooms, origins)
    return Placement(
        width=_tenth(top.left + top.right + 2 * MARGIN),
        height=_tenth(top.height + 2 * MARGIN),
        boxes=_boxes(view, rooms, origins),
        frames=_frames(view, rooms, origins),
        routes=routes,
        loops=loops,
        labels=_labels(view, words, rooms, origins),
        hidden=view.hidden,
        drawn={name: line.id for line in (*routes.values(), *loops.values()) for name in line.connections},
        home=view.home,
    )


def _tenth(value: float) -> float:
    """Rounded to one decimal, without a negative zero."""
    return round(value, 1) + 0.0


def _origins(view: View, rooms: Mapping[str | None, Room]) -> dict[str | None, Point]:
    """Where each open module's anchor and upper border are, from the top level inwards."""
    origins: dict[str | None, Point] = {None: (rooms[None].left + MARGIN, MARGIN)}
    stack: list[str | None] = [None]
    while stack:
        module = stack.pop()
        room, (x, y) = rooms[module], origins[module]
        for at, child in enumerate(room.level.children):
            if child in rooms:
                origins[child] = (x + room.x[at], y + room.child_top(at))
                stack.append(child)
    return origins


def _boxes(view: View, rooms: Mapping[str | None, Room], origins: Mapping[str | None, Point]) -> dict[str, Box]:
    """Every box, in the order of the layers."""
    found = {}
    for module, room in rooms.items():
        ox, oy = origins[module]
        for at, child in enumerate(room.level.children):
            if child in view.items:
                item, (left, _, height) = view.items[child], room.sides[at]
                x, y = _tenth(ox + room.x[at] - left), _tenth(oy + room.child_top(at))
                found[child] = Box(
                    child, item.kind, x, y, _tenth(2 * left), height, item.label, item.detail, item.inside, item.members
                )
    return {box: found[box] for box in view.items}


def _frames(view: View, rooms: Mapping[str | None, Room], origins: Mapping[str | None, Point]) -> dict[str, Frame]:
    """Every frame, outer ones first."""
    found = {}
    for module in sorted((module for module in rooms if module is not None), key=lambda module: len(view.above[module])):
        room, (x, y) = rooms[module], origins[module]
        found[module] = Frame(
            module,
            view.above[module][-1],
            _tenth(x - room.left),
            _tenth(y),
            _tenth(room.left + room.right),
            _tenth(room.height),
            room.title,
            _tenth(x + room.title_x),
        )
    return found


def _routes(
    view: View, ways: Sequence[Sequence[Step]], rooms: Mapping[str | None, Room], origins: Mapping[str | None, Point]
) -> dict[str, Route]:
    """Every drawn edge."""
    found = {}
    for bundle, way in zip(view.bundles, ways, strict=True):
        points = tuple(trace(way, rooms, origins))
        name = bundle.connections[0]
        found[name] = Route(name, bundle.connections, bundle.source, bundle.target, points, upward=not way[0][2])
    return found


def _loops(view: View, rooms: Mapping[str | None, Room], origins: Mapping[str | None, Point]) -> dict[str, Loop]:
    """Every arc of a layer with itself."""
    found = {}
    for box, names in view.loops.items():
        module = view.above[box][-1]
        room, (x, y) = rooms[module], origins[module]
        at = list(room.level.children).index(box)
        left, _, height = room.sides[at]
        found[names[0]] = Loop(
            names[0], names, box, _tenth(x + room.x[at] + left), _tenth(y + room.child_top(at) + height / 2), LOOP_R
        )
    return found


def _trunk_words(view: View, ways: Sequence[Sequence[Step]]) -> dict[str, dict[int, tuple[str, tuple[str, ...]]]]:
    """For each box, what is written on each line that leaves it downwards: its shape, and its connections."""
    gathered: dict[str, dict[int, list[str]]] = {}
    for bundle, way in zip(view.bundles, ways, strict=True):
        if way[0][2]:
            trunk = way[0][1][0]
            gathered.setdefault(bundle.source, {}).setdefault(trunk, []).extend(bundle.connections)
    return {
        box: {trunk: (words, tuple(names)) for trunk, names in trunks.items() if (words := _words(view, names))}
        for box, trunks in gathered.items()
    }


def _words(view: View, names: Sequence[str]) -> str:
    """The distinct shapes of some connections; more than two are cut short."""
    shapes = list(dict.fromkeys(view.shapes[name] for name in names if view.shapes[name]))
    return ", ".join(shapes[:2]) + (", …" if len(shapes) > 2 else "")


def _labels(
    view: View,
    words: Mapping[str, Mapping[int, tuple[str, tuple[str, ...]]]],
    rooms: Mapping[str | None, Room],
    origins: Mapping[str | None, Point],
) -> tuple[Label, ...]:
    """The shapes below the boxes, left out where two of them would touch."""
    found = []
    for module, room in rooms.items():
        x, y = origins[module]
        for at, child in enumerate(room.level.children):
            reached = float("-inf")
            for trunk in room.level.bottoms[at] if child in words else ():
                shape, names = words[child].get(trunk, ("", ()))
                middle = room.x[at] + room.offsets.get((at, BOTTOM, trunk), 0.0)
                half = text.width(shape, SHAPE_SIZE) / 2 + 2
                if shape and middle - half >= reached:
                    reached = middle + half
                    below = room.child_top(at) + room.sides[at][2] + 11
                    found.append(Label(_tenth(x + middle), _tenth(y + below), shape, child, names))
    return tuple(found)
