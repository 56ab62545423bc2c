"""From rows to pixels: sizes from the inside out, then positions from the outside in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lessonpress.graph.layout import text
from lessonpress.graph.layout.columns import GAP, Segment, Span, arrange_columns
from lessonpress.graph.layout.level import BOTTOM, TOP, Level, Step, Wire
from lessonpress.graph.layout.records import Point
from lessonpress.graph.layout.view import DETAIL_SIZE, LABEL_SIZE, Item, View

BOX_H, BOX_MIN_W, BOX_PAD = 42.0, 92.0, 16.0
LOOP_R, LOOP_SPACE = 11.0, 52.0
TITLE_H, FRAME_PAD = 26.0, 16.0
LABEL_H, PLAIN_H, ARRIVAL_H = 19.0, 7.0, 10.0  # straight parts of a line: below a box, without label, above a box
CHANNEL_MIN, CHANNEL_MAX, SLOPE = 10.0, 96.0, 0.12  # the part where lines change column
PORT_GAP, PORTS_W = 14.0, 340.0  # lines along a side; the widest that a box becomes for them
SHAPE_SIZE = 10.5  # font size of the shapes on edges
DRIFT = 1.5  # a level this much wider than its widest row leans
BOLD = 1.1  # how much wider a frame's title is than the same words in regular weight
CARDS = 6.0  # how far the cards behind a collapsed module's box reach up and to the right, inside its bounds


@dataclass
class LevelGeometry:
    """A level's geometry about its own anchor (x = 0) and upper border (y = 0)."""

    level: Level
    x: list[float] = field(default_factory=list)  # vertex → x of its anchor
    sides: list[tuple[float, float, float]] = field(default_factory=list)  # child → reach left, right, height
    frames: list[bool] = field(default_factory=list)  # child → whether it is an open module
    offsets: dict[tuple[int, int, int], float] = field(default_factory=dict)  # (child, TOP|BOTTOM, trunk) → from anchor
    tops: list[float] = field(default_factory=list)  # row → y
    heights: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)  # row → y where the channel below begins
    ends: list[float] = field(default_factory=list)  # row → y where the channel above ends
    left: float = 0.0  # reach of the whole level from its anchor
    right: float = 0.0
    height: float = 0.0
    title: str = ""
    title_x: float = 0.0
    _paths: dict[tuple[int, int, int], tuple[Point, ...]] = field(default_factory=dict)

    def child_top(self, child: int) -> float:
        """The y of a child's upper edge: children stand in the middle of their row."""
        row = self.level.row_of[child]
        return self.tops[row] + (self.heights[row] - self.sides[child][2]) / 2

    def points(self, wire: Wire) -> list[Point]:
        """The corners of one wire, from high to low."""
        trunk, finish, last = wire[0], self.level.wires[wire][1], self.level.last(wire)
        size = len(self.sides)
        corners = [*self._path(trunk, self.level.wires[wire][0], last)]
        corners.append((self._at(last, BOTTOM, trunk), self.starts[self.level.row_of[last]]))
        corners.append((self._at(finish, TOP, trunk), self.ends[self.level.row_of[finish]]))
        corners.append((self._at(finish, TOP, trunk), self.child_top(finish) if finish < size else self.height))
        return corners

    def _path(self, trunk: int, begin: int, last: int) -> tuple[Point, ...]:
        """The corners of a trunk from its begin down to one of its bends, worked out once for all who share it."""
        if (trunk, begin, begin) not in self._paths:
            inside = begin < len(self.sides)
            y = self.child_top(begin) + self.sides[begin][2] if inside else 0.0
            path: tuple[Point, ...] = ((self._at(begin, BOTTOM, trunk), y),)
            self._paths[trunk, begin, begin] = path
            before = begin
            for bend in self.level.bends[trunk, begin]:
                x, y = self._at(before, BOTTOM, trunk), self.starts[self.level.row_of[before]]
                if self.x[bend] != x:
                    path = (*path, (x, y), (self.x[bend], self.ends[self.level.row_of[bend]]))
                self._paths[trunk, begin, bend] = path
                before = bend
        return self._paths[trunk, begin, last]

    def _at(self, vertex: int, side: int, trunk: int) -> float:
        """The x where a line of a trunk touches a vertex."""
        return self.x[vertex] + self.offsets.get((vertex, side, trunk), 0.0)


Geometries = Mapping[str | None, LevelGeometry]  # by open module, None for the top level
Origins = Mapping[str | None, Point]  # where each open module's anchor and upper border are


def measure_levels(
    view: View, levels: Mapping[str | None, Level], labels: Mapping[str, Mapping[int, str]]
) -> dict[str | None, LevelGeometry]:
    """Size every level from the innermost out; `labels` gives, for a box, the words on each trunk that leaves it."""
    geometries: dict[str | None, LevelGeometry] = {}
    for module in sorted(levels, key=lambda module: -len(view.above[module]) if module is not None else 1):
        geometry = LevelGeometry(levels[module])
        size = len(geometry.level.children)
        direct = {(low, trunk) for high, low, trunk in geometry.level.segments() if high < size and low < size}
        for at, child in enumerate(geometry.level.children):
            if child in levels:
                _hold_frame(geometry, at, geometries[child])
            else:
                _hold_box(geometry, at, view.items[child], child in view.loops, labels.get(child, {}), direct)
        _set_columns(geometry)
        _set_title(geometry, "" if module is None else view.titles[module])
        _set_rows(geometry, labels)
        geometries[module] = geometry
    return geometries


def _hold_frame(geometry: LevelGeometry, at: int, inner: LevelGeometry) -> None:
    """An open module takes the space that its inside needs; its lines arrive at the inner ports."""
    geometry.sides.append((inner.left, inner.right, inner.height))
    geometry.frames.append(True)
    for (side, trunk), vertex in inner.level.ports.items():
        geometry.offsets[at, side, trunk] = inner.x[vertex]


def _hold_box(
    geometry: LevelGeometry,
    at: int,
    item: Item,
    looped: bool,
    labels: Mapping[int, str],
    direct: Collection[tuple[int, int]],
) -> None:
    """A box is as wide as its words and its lines need."""
    tops, bottoms = geometry.level.tops[at], geometry.level.bottoms[at]
    gap = max((text.measure_width(labels.get(trunk, ""), SHAPE_SIZE) + 10 for trunk in bottoms), default=0.0)
    words = max(text.measure_width(item.label, LABEL_SIZE), text.measure_width(item.detail, DETAIL_SIZE))
    lines = max((len(tops) - 1) * PORT_GAP, (len(bottoms) - 1) * max(gap, PORT_GAP))
    cards = CARDS if item.inside else 0.0
    half = max(BOX_MIN_W, words + 2 * BOX_PAD + cards, min(lines + 2 * BOX_PAD, PORTS_W)) / 2
    geometry.sides.append((half, half + (LOOP_SPACE if looped else 0.0), BOX_H + cards))
    geometry.frames.append(False)
    main = [index for index, trunk in enumerate(tops) if (at, trunk) in direct]
    centre = main[0] if len(main) == 1 else (len(tops) - 1) / 2  # a chain of boxes stays upright when others join it
    for side, trunks, middle, step in (
        (TOP, tops, centre, 2 * PORT_GAP),
        (BOTTOM, bottoms, (len(bottoms) - 1) / 2, max(gap, 2 * PORT_GAP)),
    ):
        step = min(step, (half - BOX_PAD) / max(middle, len(trunks) - 1 - middle, 0.5))
        for index, trunk in enumerate(trunks):
            geometry.offsets[at, side, trunk] = (index - middle) * step


def _set_columns(geometry: LevelGeometry) -> None:
    """Find the x of every vertex and the level's reach to both sides."""
    level = geometry.level
    spans = [Span(left, right, frame) for (left, right, _), frame in zip(geometry.sides, geometry.frames, strict=True)]
    spans += [Span()] * (len(level.row_of) - len(spans))
    geometry.x = arrange_columns(level.rows, spans, _make_segments(geometry, centred=False))
    _set_reach(geometry, spans)
    widest = max(sum(spans[vertex].left + spans[vertex].right + GAP for vertex in row) for row in level.rows)
    if any(geometry.frames) and geometry.left + geometry.right > DRIFT * (widest + 2 * FRAME_PAD):
        # Straight lines from port to port make a long stack of frames lean: stack it by the frames' middles instead.
        geometry.x = arrange_columns(level.rows, spans, _make_segments(geometry, centred=True))
        _set_reach(geometry, spans)


def _set_reach(geometry: LevelGeometry, spans: Sequence[Span]) -> None:
    """How far the level reaches to both sides of its anchor."""
    geometry.left = FRAME_PAD - min((x - span.left for x, span in zip(geometry.x, spans, strict=True)), default=0.0)
    geometry.right = FRAME_PAD + max((x + span.right for x, span in zip(geometry.x, spans, strict=True)), default=0.0)


def _make_segments(geometry: LevelGeometry, *, centred: bool) -> list[Segment]:
    """The pieces of line, tied to where they touch each vertex, or to the middle of each frame."""

    def tie(vertex: int, side: int, trunk: int) -> float:
        if centred and vertex < len(geometry.sides) and geometry.frames[vertex]:
            left, right, _ = geometry.sides[vertex]
            return (right - left) / 2
        return geometry.offsets.get((vertex, side, trunk), 0.0)

    return [
        Segment(high, low, tie(high, BOTTOM, trunk), tie(low, TOP, trunk))
        for high, low, trunk in geometry.level.segments()
    ]


def _set_title(geometry: LevelGeometry, title: str) -> None:
    """Put the title left or right of the lines that enter at the top, wherever the frame grows less for it."""
    if not title:
        return
    geometry.title = title
    need = BOLD * text.measure_width(title, DETAIL_SIZE) + 26
    ports = [geometry.x[vertex] for vertex in geometry.level.rows[0]]
    if not ports:
        geometry.right = max(geometry.right, need - geometry.left)
        geometry.title_x = 12 - geometry.left
        return
    on_left, on_right = need - (geometry.left + min(ports)), need - (geometry.right - max(ports))
    if on_left <= max(0.0, on_right):
        geometry.left += max(0.0, on_left)
        geometry.title_x = 12 - geometry.left
    else:
        geometry.right += max(0.0, on_right)
        geometry.title_x = max(ports) + 10


def _set_rows(geometry: LevelGeometry, labels: Mapping[str, Mapping[int, str]]) -> None:
    """Find the y of every row; a gap is as high as its lines have to travel sideways."""
    level = geometry.level
    size, count = len(geometry.sides), len(level.rows)
    travel = [0.0] * count
    for high, low, trunk in level.segments():
        begin = geometry.x[high] + geometry.offsets.get((high, BOTTOM, trunk), 0.0)
        finish = geometry.x[low] + geometry.offsets.get((low, TOP, trunk), 0.0)
        travel[level.row_of[high]] = max(travel[level.row_of[high]], abs(begin - finish))
    y = 0.0
    for index, row in enumerate(level.rows):
        boxes = [vertex for vertex in row if vertex < size]
        geometry.ends.append(y - ARRIVAL_H if index < count - 1 else y - 4)
        geometry.tops.append(y)
        geometry.heights.append(max((geometry.sides[vertex][2] for vertex in boxes), default=0.0))
        y += geometry.heights[-1]
        marked = any(labels.get(level.children[vertex]) for vertex in boxes)
        y += (TITLE_H if geometry.title else 0.0) if index == 0 else LABEL_H if marked else PLAIN_H
        geometry.starts.append(y)
        last = index == count - 2 and not level.rows[-1]
        if index == count - 1:
            y = geometry.tops[-1]
        elif index == 0 and not row:
            y += 6.0
        elif last:
            y = geometry.tops[-1] + geometry.heights[-1] + FRAME_PAD
        else:
            y += min(max(CHANNEL_MIN, SLOPE * travel[index]), CHANNEL_MAX) + (4 if index == count - 2 else ARRIVAL_H)
    geometry.height = y


def trace_route(way: Iterable[Step], geometries: Geometries, origins: Origins) -> list[Point]:
    """The corners of a whole route from source to target, those in the middle of a straight line left out."""
    corners: list[Point] = []
    for level, wire, down in way:
        ox, oy = origins[level.id]
        part = [(round(ox + x, 1), round(oy + y, 1)) for x, y in geometries[level.id].points(wire)]
        corners += part if down else part[::-1]
    kept: list[Point] = []
    for point in corners:
        if kept and point == kept[-1]:
            continue
        if len(kept) > 1 and kept[-2][0] == kept[-1][0] == point[0]:
            kept.pop()
        kept.append(point)
    return kept
