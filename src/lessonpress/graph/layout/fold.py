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


def choose_folded(layers: Sequence[Layer], connections: Sequence[Connection], *, budget: int = 60) -> frozenset[str]:
    """Choose the modules to collapse so that at most `budget` boxes are drawn, if folding can reach that.

    The deepest modules go first, and of those the ones that occur most often; modules of one structure fold
    together. Raises ValueError as `nest.read_nest` does.
    """
    graph = nest.read_nest(layers, connections)
    if count_boxes(graph, frozenset()) <= budget:
        return frozenset()
    groups = _group_modules(graph, number_structures(graph))
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
    boxes = {graph.shown(layer, collapsed) for layer in graph.layers if not graph.children.get(layer)}
    return len(boxes) - sum(len(members) - 1 for members in find_rolls(graph, collapsed).values())


def number_structures(graph: Nest) -> dict[str, int]:
    """Number the layers so that two have the same number exactly when they are built and wired alike inside."""
    wires = _list_inner_wires(graph)
    numbers: dict[object, int] = {}
    numbered: dict[str, int] = {}
    for layer in sorted(graph.layers, key=lambda layer: -len(graph.above[layer])):
        facts = graph.layers[layer]
        parts = tuple(numbered[child] for child in graph.children.get(layer, ()))
        params = repr(sorted(facts["params"].items(), key=lambda item: str(item[0])))
        shape = (facts["op"], facts["kind"], params, parts, tuple(sorted(wires.get(layer, ()))))
        numbered[layer] = numbers.setdefault(shape, len(numbers))
    return numbered


def _list_inner_wires(graph: Nest) -> dict[str, list[tuple[int, int]]]:
    """For each module, the connections between its children as pairs of their positions."""
    position = {child: index for children in graph.children.values() for index, child in enumerate(children)}
    wires: dict[str, list[tuple[int, int]]] = {}
    for connection in graph.connections:
        source, target = connection["source"], connection["target"]
        module = graph.join(source, target)
        if module is not None:
            depth = len(graph.above[module]) + 1
            ends = [(*graph.above[layer], layer)[depth] for layer in (source, target)]
            wires.setdefault(module, []).append((position[ends[0]], position[ends[1]]))
    return wires


def find_rolls(graph: Nest, collapsed: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Rows of equal collapsed neighbours that are drawn as one box: first member → all members, in order.

    Neighbours are rolled up only where no data leaves the row and comes back, so that rolling makes no new cycle.
    """
    if not collapsed:
        return {}
    kinds = number_structures(graph)
    return {row[0]: row for row in _list_candidates(graph, collapsed, kinds) if not _comes_back(graph, row)}


def _list_candidates(graph: Nest, collapsed: Collection[str], kinds: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Candidates: at least `ROLL` sibling modules in a row, collapsed and equal, not inside a collapsed one."""
    for parent, children in graph.children.items():
        if parent is not None and graph.shown(parent, collapsed) in collapsed:
            continue
        modules = [child for child in children if graph.children.get(child)]
        for (folded, _), row in groupby(modules, key=lambda module: (module in collapsed, kinds[module])):
            members = tuple(row)
            if folded and len(members) >= ROLL:
                yield members


def _comes_back(graph: Nest, row: tuple[str, ...]) -> bool:
    """Whether data leaves these modules and comes back to them through others."""
    members = set(row)
    depth = len(graph.above[row[0]])
    after: dict[str, list[str]] = {}
    for connection in graph.connections:
        after.setdefault(connection["source"], []).append(connection["target"])

    def is_inside(layer: str) -> bool:
        return _find_ancestor(graph, layer, depth) in members

    stack = [target for layer in after if is_inside(layer) for target in after[layer] if not is_inside(target)]
    seen = set(stack)
    while stack:
        for target in after.get(stack.pop(), ()):
            if is_inside(target):
                return True
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return False


def _find_ancestor(graph: Nest, layer: str, depth: int) -> str | None:
    """The ancestor of a layer (or itself) at a depth."""
    chain = (*graph.above[layer], layer)
    return chain[depth] if len(chain) > depth else None
