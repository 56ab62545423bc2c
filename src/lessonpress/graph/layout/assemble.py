"""The records of a placement, from rooms that know only themselves: everything moved to its place and rounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lessonpress.graph.layout import text
from lessonpress.graph.layout.geometry import LOOP_R, SHAPE_SIZE, Room, trace
from lessonpress.graph.layout.level import BOTTOM, Step
from lessonpress.graph.layout.records import Box, Frame, Label, Loop, Point, Route
from lessonpress.graph.layout.view import View

MARGIN = 6.0  # around the whole picture, besides the top level's own padding
Words = Mapping[str, Mapping[int, tuple[str, tuple[str, ...]]]]  # box → trunk → its shape and its connections


def tenth(value: float) -> float:
    """Rounded to one decimal, without a negative zero."""
    return round(value, 1) + 0.0


def origins(rooms: Mapping[str | None, Room]) -> dict[str | None, Point]:
    """Where each open module's anchor and upper border are, from the top level inwards."""
    found: dict[str | None, Point] = {None: (rooms[None].left + MARGIN, MARGIN)}
    stack: list[str | None] = [None]
    while stack:
        module = stack.pop()
        room, (x, y) = rooms[module], found[module]
        for at, child in enumerate(room.level.children):
            if child in rooms:
                found[child] = (x + room.x[at], y + room.child_top(at))
                stack.append(child)
    return found


def boxes(view: View, rooms: Mapping[str | None, Room], origin: Mapping[str | None, Point]) -> dict[str, Box]:
    """Every box, in the order of the layers."""
    found = {}
    for module, room in rooms.items():
        ox, oy = origin[module]
        for at, child in enumerate(room.level.children):
            if child in view.items:
                item, (left, _, height) = view.items[child], room.sides[at]
                x, y = tenth(ox + room.x[at] - left), tenth(oy + room.child_top(at))
                found[child] = Box(
                    child, item.kind, x, y, tenth(2 * left), height, item.label, item.detail, item.inside, item.members
                )
    return {box: found[box] for box in view.items}


def frames(view: View, rooms: Mapping[str | None, Room], origin: Mapping[str | None, Point]) -> dict[str, Frame]:
    """Every frame, outer ones first."""
    found = {}
    for module in sorted(
        (module for module in rooms if module is not None), key=lambda module: len(view.above[module])
    ):
        room, (x, y) = rooms[module], origin[module]
        found[module] = Frame(
            module,
            view.above[module][-1],
            tenth(x - room.left),
            tenth(y),
            tenth(room.left + room.right),
            tenth(room.height),
            room.title,
            tenth(x + room.title_x),
        )
    return found


def routes(
    view: View, ways: Sequence[Sequence[Step]], rooms: Mapping[str | None, Room], origin: Mapping[str | None, Point]
) -> dict[str, Route]:
    """Every drawn edge."""
    found = {}
    for bundle, way in zip(view.bundles, ways, strict=True):
        points = tuple(trace(way, rooms, origin))
        name = bundle.connections[0]
        found[name] = Route(name, bundle.connections, bundle.source, bundle.target, points, upward=not way[0][2])
    return found


def loops(view: View, rooms: Mapping[str | None, Room], origin: Mapping[str | None, Point]) -> dict[str, Loop]:
    """Every arc of a layer with itself."""
    found = {}
    for module, room in rooms.items():
        x, y = origin[module]
        for at, child in enumerate(room.level.children):
            if names := view.loops.get(child):
                right, middle = room.x[at] + room.sides[at][0], room.child_top(at) + room.sides[at][2] / 2
                found[names[0]] = Loop(names[0], names, child, tenth(x + right), tenth(y + middle), LOOP_R)
    return found


def trunk_words(view: View, ways: Sequence[Sequence[Step]]) -> Words:
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


def labels(
    words: Words,
    rooms: Mapping[str | None, Room],
    origin: Mapping[str | None, Point],
) -> tuple[Label, ...]:
    """The shapes below the boxes, left out where two of them would touch."""
    found = []
    for module, room in rooms.items():
        x, y = origin[module]
        for at, child in enumerate(room.level.children):
            reached = float("-inf")
            for trunk in room.level.bottoms[at] if child in words else ():
                shape, names = words[child].get(trunk, ("", ()))
                middle = room.x[at] + room.offsets.get((at, BOTTOM, trunk), 0.0)
                half = text.width(shape, SHAPE_SIZE) / 2 + 2
                if shape and middle - half >= reached:
                    reached = middle + half
                    below = room.child_top(at) + room.sides[at][2] + 11
                    found.append(Label(tenth(x + middle), tenth(y + below), shape, child, names))
    return tuple(found)
