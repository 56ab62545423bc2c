"""One level of the nest: the children of one open module in rows, with the lines between them.

A line that leaves the module ends in a port on the border, at the bottom (or at the top when it leads upwards);
outside, the module is one node. So no foreign node can ever stand inside a frame, and no line can cross one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lessonpress.graph.layout.order import untangle
from lessonpress.graph.layout.rank import assign_rows
from lessonpress.graph.layout.view import Bundle, View

TOP, BOTTOM = -1, -2  # ends of a wire that are ports
Wire = tuple[int, int, int]  # trunk, high end, low end (positions of children, or TOP, or BOTTOM)
Step = tuple["Level", Wire, bool]  # a level that a route passes, the wire that it takes there, whether downwards


@dataclass
class Level:
    """One open module's children, and what is worked out about them step by step."""

    id: str | None
    children: Sequence[str]
    ranks: list[int] = field(default_factory=list)
    wires: dict[Wire, tuple[int, int]] = field(default_factory=dict)  # → the vertices at its ends
    bends: dict[tuple[int, int], list[int]] = field(default_factory=dict)  # (trunk, high vertex) → one per row passed
    rows: list[list[int]] = field(default_factory=list)  # vertices by row; the first and last rows hold ports
    row_of: list[int] = field(default_factory=list)  # vertex → row
    ports: dict[tuple[int, int], int] = field(default_factory=dict)  # (TOP or BOTTOM, trunk) → vertex
    tops: list[list[int]] = field(default_factory=list)  # child → trunks along its upper side, left to right
    bottoms: list[list[int]] = field(default_factory=list)

    def segments(self) -> list[tuple[int, int, int]]:
        """Each piece of line between neighbouring rows once: (upper vertex, lower vertex, trunk)."""
        pieces: list[tuple[int, int, int]] = []
        for (trunk, high), bends in self.bends.items():
            line = [high, *bends]
            pieces += [(upper, lower, trunk) for upper, lower in zip(line, bends, strict=False)]
        for wire, (_, finish) in self.wires.items():
            pieces.append((self.last(wire), finish, wire[0]))
        return list(dict.fromkeys(pieces))

    def last(self, wire: Wire) -> int:
        """The vertex in the row just above a wire's lower end."""
        begin, finish = self.wires[wire]
        passed = self.row_of[finish] - self.row_of[begin] - 1
        return self.bends[wire[0], begin][passed - 1] if passed else begin


def build_levels(view: View) -> tuple[dict[str | None, Level], list[list[Step]]]:
    """Rank, wire and order every level, from the outermost in; and each bundle's way through the levels."""
    levels: dict[str | None, Level] = {module: Level(module, children) for module, children in view.children.items()}
    place = {child: at for level in levels.values() for at, child in enumerate(level.children)}
    joints = [_find_joint(view, bundle) for bundle in view.bundles]
    _rank_all(view, levels, place, joints)
    ways = _wire_all(view, levels, place, joints)
    for module in sorted(levels, key=lambda module: len(view.above[module]) if module is not None else -1):
        _populate(levels[module])
        _order_rows(levels[module], levels[view.above[module][-1]] if module is not None else None, place)
    return levels, ways


def _find_joint(view: View, bundle: Bundle) -> int:
    """How deep the innermost level is that holds both ends."""
    pairs = zip(view.above[bundle.source], view.above[bundle.target], strict=False)
    return next((depth for depth, (one, other) in enumerate(pairs) if one != other), None) or min(
        len(view.above[bundle.source]), len(view.above[bundle.target])
    )


def _rank_all(view: View, levels: Mapping[str | None, Level], place: Mapping[str, int], joints: Sequence[int]) -> None:
    """Give every child of every level its row."""
    edges: dict[str | None, list[tuple[int, int]]] = {module: [] for module in levels}
    held: set[str] = set()
    for bundle, joint in zip(view.bundles, joints, strict=True):
        source, target = (*view.above[bundle.source], bundle.source), (*view.above[bundle.target], bundle.target)
        edges[source[joint - 1]].append((place[source[joint] or ""], place[target[joint] or ""]))
        held.update(module for module in target[joint + 1 :] if module)
    for module, level in levels.items():
        kinds = [view.items[child].kind if child in view.items else "module" for child in level.children]
        level.ranks = assign_rows(
            len(level.children),
            edges[module],
            top=[kind == "input" for kind in kinds],
            bottom=[kind == "output" for kind in kinds],
            held=[child in held for child in level.children],
        )


def _wire_all(
    view: View, levels: Mapping[str | None, Level], place: Mapping[str, int], joints: Sequence[int]
) -> list[list[Step]]:
    """Cut every bundle at the borders that it crosses and enter the pieces in their levels."""
    trunks: dict[object, int] = {}
    ways = []
    for bundle, joint in zip(view.bundles, joints, strict=True):
        source = [place[name] for name in (*view.above[bundle.source], bundle.source)[joint:] if name is not None]
        target = [place[name] for name in (*view.above[bundle.target], bundle.target)[joint:] if name is not None]
        outer = levels[view.above[bundle.source][joint - 1]]
        down = outer.ranks[source[0]] < outer.ranks[target[0]]
        # Only lines that lead down share their beginning: two that lead up meet nothing but their own ends.
        trunk = trunks.setdefault(bundle.trunk if down else (bundle.source, bundle.target, bundle.trunk), len(trunks))
        exit_side, entry_side = (BOTTOM, TOP) if down else (TOP, BOTTOM)
        inner = [levels[module] for module in view.above[bundle.source][joint:]]
        way: list[Step] = [
            (level, _make_wire(trunk, at, exit_side, down), down) for level, at in zip(inner, source[1:], strict=True)
        ][::-1]
        way.append((outer, _make_wire(trunk, source[0], target[0], down), down))
        inner = [levels[module] for module in view.above[bundle.target][joint:]]
        way += [
            (level, _make_wire(trunk, entry_side, at, down), down) for level, at in zip(inner, target[1:], strict=True)
        ]
        for level, wire, _ in way:
            level.wires[wire] = (0, 0)  # the vertices come with the rows
        ways.append(way)
    return ways


def _make_wire(trunk: int, begin: int, end: int, down: bool) -> Wire:
    """A wire with its ends in vertical order."""
    return (trunk, begin, end) if down else (trunk, end, begin)


def _populate(level: Level) -> None:
    """Make the vertices: children, ports, and one bend per row that a line passes (shared within a trunk)."""
    last = max(level.ranks, default=0) + 2
    level.row_of = [row + 1 for row in level.ranks]

    def vertex(row: int) -> int:
        level.row_of.append(row)
        return len(level.row_of) - 1

    def end(side: int, trunk: int) -> int:
        if side >= 0:
            return side
        if (side, trunk) not in level.ports:
            level.ports[side, trunk] = vertex(0 if side == TOP else last)
        return level.ports[side, trunk]

    for wire in level.wires:
        trunk, high, low = wire
        begin, finish = level.wires[wire] = end(high, trunk), end(low, trunk)
        bends = level.bends.setdefault((trunk, begin), [])
        for row in range(level.row_of[begin] + 1 + len(bends), level.row_of[finish]):
            bends.append(vertex(row))
    level.rows = [[] for _ in range(last + 1)]
    for at, row in enumerate(level.row_of):
        level.rows[row].append(at)


def _order_rows(level: Level, outer: Level | None, place: Mapping[str, int]) -> None:
    """Order the rows, the ports first as the level outside wants them, then the lines along each child's sides."""
    if outer is not None and level.id is not None:
        at = place[level.id]
        level.rows[0] = [level.ports[TOP, trunk] for trunk in outer.tops[at]]
        level.rows[-1] = [level.ports[BOTTOM, trunk] for trunk in outer.bottoms[at]]
    pieces = level.segments()
    ends = list(dict.fromkeys((high, low) for high, low, _ in pieces))
    level.rows = untangle(level.rows, ends, fixed_top=True, fixed_bottom=True)
    spot = {vertex: index for row in level.rows for index, vertex in enumerate(row)}
    size = len(level.children)
    below: list[dict[int, list[int]]] = [{} for _ in range(size)]
    over: list[dict[int, list[int]]] = [{} for _ in range(size)]
    for high, low, trunk in pieces:
        if high < size:
            below[high].setdefault(trunk, []).append(spot[low])
        if low < size:
            over[low].setdefault(trunk, []).append(spot[high])
    level.bottoms = [_sort_trunks(side) for side in below]
    level.tops = [_sort_trunks(side) for side in over]


def _sort_trunks(side: Mapping[int, Sequence[int]]) -> list[int]:
    """Trunks from left to right by where they come from or go to."""
    return sorted(side, key=lambda trunk: (sum(side[trunk]) / len(side[trunk]), trunk))
