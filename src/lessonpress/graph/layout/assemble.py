"""The records of a placement, from levels that know only themselves: everything moved to its place and rounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lessonpress.graph.layout import text
from lessonpress.graph.layout.geometry import LOOP_R, SHAPE_SIZE, Geometries, Origins, trace_route
from lessonpress.graph.layout.level import BOTTOM, Step
from lessonpress.graph.layout.records import Box, Frame, Label, Loop, Point, Route
from lessonpress.graph.layout.view import View

MARGIN = 6.0  # around the whole picture, besides the top level's own padding
Words = Mapping[str, Mapping[int, tuple[str, tuple[str, ...]]]]  # box → trunk → its shape and its connections


def round_to_tenth(value: float) -> float:
    """Rounded to one decimal, without a negative zero."""
    return round(value, 1) + 0.0


def locate_modules(geometries: Geometries) -> dict[str | None, Point]:
    """Where each open module's anchor and upper border are, from the top level inwards."""
    origins: dict[str | None, Point] = {None: (geometries[None].left + MARGIN, MARGIN)}
    stack: list[str | None] = [None]
    while stack:
        module = stack.pop()
        geometry, (x, y) = geometries[module], origins[module]
        for at, child in enumerate(geometry.level.children):
            if child in geometries:
                origins[child] = (x + geometry.x[at], y + geometry.child_top(at))
                stack.append(child)
    return origins


def place_boxes(view: View, geometries: Geometries, origins: Origins) -> dict[str, Box]:
    """Every box, in the order of the layers."""
    placed = {}
    for module, geometry in geometries.items():
        ox, oy = origins[module]
        for at, child in enumerate(geometry.level.children):
            if child in view.items:
                item, (left, _, height) = view.items[child], geometry.sides[at]
                x, y = round_to_tenth(ox + geometry.x[at] - left), round_to_tenth(oy + geometry.child_top(at))
                width = round_to_tenth(2 * left)
                placed[child] = Box(
                    child, item.kind, x, y, width, height, item.label, item.detail, item.inside, item.members
                )
    return {box: placed[box] for box in view.items}


def place_frames(view: View, geometries: Geometries, origins: Origins) -> dict[str, Frame]:
    """Every frame, outer ones first."""
    frames = {}
    modules = [module for module in geometries if module is not None]
    for module in sorted(modules, key=lambda module: len(view.above[module])):
        geometry, (x, y) = geometries[module], origins[module]
        frames[module] = Frame(
            module,
            view.above[module][-1],
            round_to_tenth(x - geometry.left),
            round_to_tenth(y),
            round_to_tenth(geometry.left + geometry.right),
            round_to_tenth(geometry.height),
            geometry.title,
            round_to_tenth(x + geometry.title_x),
        )
    return frames


def place_routes(
    view: View, ways: Sequence[Sequence[Step]], geometries: Geometries, origins: Origins
) -> dict[str, Route]:
    """Every drawn edge."""
    routes = {}
    for bundle, way in zip(view.bundles, ways, strict=True):
        points = tuple(trace_route(way, geometries, origins))
        name = bundle.connections[0]
        routes[name] = Route(name, bundle.connections, bundle.source, bundle.target, points, upward=not way[0][2])
    return routes


def place_loops(view: View, geometries: Geometries, origins: Origins) -> dict[str, Loop]:
    """Every arc of a layer with itself."""
    loops = {}
    for module, geometry in geometries.items():
        x, y = origins[module]
        for at, child in enumerate(geometry.level.children):
            if names := view.loops.get(child):
                right = round_to_tenth(x + (geometry.x[at] + geometry.sides[at][0]))
                middle = round_to_tenth(y + (geometry.child_top(at) + geometry.sides[at][2] / 2))
                loops[names[0]] = Loop(names[0], names, child, right, middle, LOOP_R)
    return loops


def label_trunks(view: View, ways: Sequence[Sequence[Step]]) -> Words:
    """For each box, what is written on each line that leaves it downwards: its shape, and its connections."""
    connections: dict[str, dict[int, list[str]]] = {}
    for bundle, way in zip(view.bundles, ways, strict=True):
        if way[0][2]:
            trunk = way[0][1][0]
            connections.setdefault(bundle.source, {}).setdefault(trunk, []).extend(bundle.connections)
    return {
        box: {trunk: (words, tuple(names)) for trunk, names in trunks.items() if (words := _join_shapes(view, names))}
        for box, trunks in connections.items()
    }


def _join_shapes(view: View, names: Sequence[str]) -> str:
    """The distinct shapes of some connections; more than two are cut short."""
    shapes = list(dict.fromkeys(view.shapes[name] for name in names if view.shapes[name]))
    return ", ".join(shapes[:2]) + (", …" if len(shapes) > 2 else "")


def place_labels(words: Words, geometries: Geometries, origins: Origins) -> tuple[Label, ...]:
    """The shapes below the boxes, left out where two of them would touch."""
    labels = []
    for module, geometry in geometries.items():
        x, y = origins[module]
        for at, child in enumerate(geometry.level.children):
            reached = float("-inf")
            for trunk in geometry.level.bottoms[at] if child in words else ():
                shape, names = words[child].get(trunk, ("", ()))
                middle = geometry.x[at] + geometry.offsets.get((at, BOTTOM, trunk), 0.0)
                half = text.measure_width(shape, SHAPE_SIZE) / 2 + 2
                if shape and middle - half >= reached:
                    reached = middle + half
                    below = geometry.child_top(at) + geometry.sides[at][2] + 11
                    labels.append(Label(round_to_tenth(x + middle), round_to_tenth(y + below), shape, child, names))
    return tuple(labels)
