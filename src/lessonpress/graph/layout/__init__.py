"""A picture's geometry: nested frames, rows from top to bottom, and lines that pass no foreign box.

Every open module is laid out by itself, in rows (Sugiyama's method), and then stands as one node in the module around
it; lines are cut at the borders. Nothing here depends on hash order, fonts or the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lessonpress.graph.layout import assemble, nest, text
from lessonpress.graph.layout.fold import choose_folded
from lessonpress.graph.layout.geometry import CARDS, measure_levels
from lessonpress.graph.layout.level import build_levels
from lessonpress.graph.layout.records import Box, Frame, Label, Loop, Placement, Point, Route
from lessonpress.graph.layout.view import format_shape, make_view

if TYPE_CHECKING:
    from lessonpress.lesson.records import Connection, Layer

__all__ = [
    "CARDS",
    "Box",
    "Frame",
    "Label",
    "Loop",
    "Placement",
    "Point",
    "Route",
    "choose_folded",
    "format_shape",
    "place_graph",
    "text",
]


def place_graph(
    layers: Sequence[Layer], connections: Sequence[Connection], *, collapsed: frozenset[str] = frozenset()
) -> Placement:
    """Lay out the published graph, in pixels rounded to a tenth, with the modules in `collapsed` drawn as boxes.

    Three or more equal collapsed neighbours become one box. Raises ValueError for ids that occur twice, a missing
    parent, a connection that does not join two leaves, or a collapsed id that is not a module.
    """
    view = make_view(nest.read_nest(layers, connections), collapsed)
    levels, ways = build_levels(view)
    words = assemble.label_trunks(view, ways)
    labels = {box: {trunk: shape for trunk, (shape, _) in trunks.items()} for box, trunks in words.items()}
    geometries = measure_levels(view, levels, labels)
    origins = assemble.locate_modules(geometries)
    routes = assemble.place_routes(view, ways, geometries, origins)
    loops = assemble.place_loops(view, geometries, origins)
    drawn = {name: route.id for route in routes.values() for name in route.connections}
    return Placement(
        width=assemble.round_to_tenth(geometries[None].left + geometries[None].right + 2 * assemble.MARGIN),
        height=assemble.round_to_tenth(geometries[None].height + 2 * assemble.MARGIN),
        boxes=assemble.place_boxes(view, geometries, origins),
        frames=assemble.place_frames(view, geometries, origins),
        routes=routes,
        loops=loops,
        labels=assemble.place_labels(words, geometries, origins),
        hidden=view.hidden,
        drawn=drawn | {name: loop.id for loop in loops.values() for name in loop.connections},
        home=view.home,
    )
