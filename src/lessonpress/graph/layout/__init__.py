"""A picture's geometry: nested frames, rows from top to bottom, and lines that pass no foreign box.

Every open module is laid out by itself, in rows (Sugiyama's method), and then stands as one node in the module around
it; lines are cut at the borders. Nothing here depends on hash order, fonts or the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from lessonpress.graph.layout import assemble, nest, text
from lessonpress.graph.layout.fold import fold
from lessonpress.graph.layout.geometry import CARDS, measure
from lessonpress.graph.layout.level import build
from lessonpress.graph.layout.nest import Layer
from lessonpress.graph.layout.records import Box, Frame, Label, Loop, Placement, Point, Route
from lessonpress.graph.layout.view import look, shape_words

__all__ = [
    "CARDS",
    "Box",
    "Frame",
    "Label",
    "Loop",
    "Placement",
    "Point",
    "Route",
    "fold",
    "place",
    "shape_words",
    "text",
]


def place(
    layers: Sequence[Layer], connections: Sequence[Layer], *, collapsed: frozenset[str] = frozenset()
) -> Placement:
    """Lay out the published graph, in pixels rounded to a tenth, with the modules in `collapsed` drawn as boxes.

    Three or more equal collapsed neighbours become one box. Raises ValueError for ids that occur twice, a missing
    parent, a connection that does not join two leaves, or a collapsed id that is no module.
    """
    view = look(nest.read(layers, connections), collapsed)
    levels, ways = build(view)
    words = assemble.trunk_words(view, ways)
    labels = {box: {trunk: shape for trunk, (shape, _) in trunks.items()} for box, trunks in words.items()}
    rooms = measure(view, levels, labels)
    origins = assemble.origins(rooms)
    routes = assemble.routes(view, ways, rooms, origins)
    loops = assemble.loops(view, rooms, origins)
    drawn = {name: route.id for route in routes.values() for name in route.connections}
    return Placement(
        width=assemble.tenth(rooms[None].left + rooms[None].right + 2 * assemble.MARGIN),
        height=assemble.tenth(rooms[None].height + 2 * assemble.MARGIN),
        boxes=assemble.boxes(view, rooms, origins),
        frames=assemble.frames(view, rooms, origins),
        routes=routes,
        loops=loops,
        labels=assemble.labels(words, rooms, origins),
        hidden=view.hidden,
        drawn=drawn | {name: loop.id for loop in loops.values() for name in loop.connections},
        home=view.home,
    )
