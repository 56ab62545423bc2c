"""Which modules to fold so that a picture stays readable, and which equal neighbours to roll into one box."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from lessonpress.graph.layout import nest
from lessonpress.graph.layout.nest import Nest

if TYPE_CHECKING:
    from lessonpress.lesson.records import Connection, Layer

ROLL = 3  # so many equal neighbours are worth one box instead of several
MANY = 60  # more boxes than that nobody can look at


def choose_folded(layers: Sequence[Layer], connections: Sequence[Connection], *, budget: int = MANY) -> frozenset[str]:
    """Choose the modules to collapse so that at most `budget` boxes are drawn, if folding can reach that.

    The deepest modules go first, and of those the ones that occur most often; modules of one structure fold
    together. Raises ValueError as `nest.read_nest` does.
    """
    graph = nest.read_nest(layers, connections)
    if count_boxes(graph, frozenset()) <= budget:
        return frozenset()
    groups = _group_modules(graph, graph.structures)
    low, high = 1, len(groups)
    while low < high:  # more folding never draws more boxes: bisect for the least
        middle = (low + high) // 2
        if count_boxes(graph, _join_groups(groups[:middle])) <= budget:
            high = middle
        else:
            low = middle + 1
    return _join_groups(groups[:high])


def _join_groups(groups: Sequence[Sequence[str]]) -> frozenset[str]:
    """All modules of some groups."""
    return frozenset(module for group in groups for module in group)


def _group_modules(graph: Nest, kinds: Mapping[str, int]) -> list[list[str]]:
    """The modules grouped by (depth, structure), in the order in which they are folded."""
    groups: dict[tuple[int, int], list[str]] = {}
    for module in graph.layers:
        if graph.children.get(module):
            groups.setdefault((-len(graph.above[module]), kinds[module]), []).append(module)
    order = sorted(groups, key=lambda key: (key[0], -len(groups[key])))
    return [groups[key] for key in order]


def count_boxes(graph: Nest, collapsed: frozenset[str]) -> int:
    """How many boxes are drawn when these modules are collapsed, equal neighbours rolled up."""
    return len(_list_boxes(graph, collapsed)) - _count_saved(find_rolls(graph, collapsed))


def find_rolls(graph: Nest, collapsed: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Rows of equal boxes that are drawn as one: first member → all members, in order.

    Equal collapsed neighbours are rolled up, where no data leaves the row and comes back, so that this makes no new
    cycle. Where that leaves more boxes than anybody can look at, so is what one place of the code has called again
    and again: a loop is then drawn as its body, with lines that lead back.
    """
    rows = {row[0]: row for row in _list_candidates(graph, collapsed) if not _comes_back(graph, row)}
    boxes = _list_boxes(graph, collapsed)
    if len(boxes) - _count_saved(rows) > MANY:
        rows |= _roll_loops(graph, boxes)
    return rows


def _list_boxes(graph: Nest, collapsed: Collection[str]) -> set[str]:
    """The leaves and collapsed modules that are drawn, before any are rolled up."""
    return {graph.shown(layer, collapsed) for layer in graph.layers if not graph.children.get(layer)}


def _count_saved(rows: Mapping[str, tuple[str, ...]]) -> int:
    """How many boxes fewer there are because of rows."""
    return sum(len(members) - 1 for members in rows.values())


def _roll_loops(graph: Nest, boxes: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Leaves of one frame that the same place in the code called, and that do the same."""
    rows: dict[object, list[str]] = {}
    for layer, facts in graph.layers.items():
        places = facts.get("called")
        if places and layer in boxes and facts["kind"] == "layer" and not graph.children.get(layer):
            place = tuple(sorted(places[0].items()))
            rows.setdefault((facts["parent"], facts["op"], place), []).append(layer)
    return {members[0]: tuple(members) for members in rows.values() if len(members) >= ROLL}


def _list_candidates(graph: Nest, collapsed: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Candidates: at least `ROLL` sibling modules in a row, collapsed and equal, not inside a collapsed one."""
    for parent, children in graph.children.items() if collapsed else ():
        if parent is not None and graph.shown(parent, collapsed) in collapsed:
            continue
        modules = [child for child in children if graph.children.get(child)]
        for (folded, _), row in groupby(modules, key=lambda module: (module in collapsed, graph.structures[module])):
            members = tuple(row)
            if folded and len(members) >= ROLL:
                yield members


def _comes_back(graph: Nest, row: tuple[str, ...]) -> bool:
    """Whether data leaves these modules and comes back to them through others."""
    inside = set(_list_inside(graph, row))
    last = max(graph.position[layer] for layer in inside)
    # What stands after all of them leads back only along a connection against the order of the run.
    beyond = any(target <= last < source for source, target in graph.backward)
    stack = [target for layer in inside for target in graph.after.get(layer, ()) if target not in inside]
    seen = set(stack)
    while stack:
        layer = stack.pop()
        if graph.position[layer] > last and not beyond:
            continue
        for target in graph.after.get(layer, ()):
            if target in inside:
                return True
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return False


def _list_inside(graph: Nest, modules: Sequence[str]) -> Iterator[str]:
    """Some modules and everything inside them."""
    stack = list(modules)
    while stack:
        module = stack.pop()
        yield module
        stack.extend(graph.children.get(module, ()))
