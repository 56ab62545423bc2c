"""Which modules to fold so that a picture stays readable, and which equal neighbours to roll into one box."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby

from lessonpress.graph.layout import nest
from lessonpress.graph.layout.nest import Layer, Nest

ROLL = 3  # so many equal neighbours are worth one box instead of several


def choose_folded(layers: Sequence[Layer], connections: Sequence[Layer], *, budget: int = 60) -> frozenset[str]:
    """Choose the modules to collapse so that at most `budget` boxes are drawn, if folding can reach that.

    The deepest modules go first, and of those the ones that occur most often; modules of one structure fold
    together. Raises ValueError as `nest.read_nest` does.
    """
    graph = nest.read_nest(layers, connections)
    if count_boxes(graph, frozenset()) <= budget:
        return frozenset()
    groups = _groups(graph, number_structures(graph))
    low, high = 1, len(groups)
    while low < high:  # more folding never draws more boxes: bisect for the least
        middle = (low + high) // 2
        if count_boxes(graph, _union(groups[:middle])) <= budget:
            high = middle
        else:
            low = middle + 1
    return _union(groups[:high])


def _union(groups: Sequence[Sequence[str]]) -> frozenset[str]:
    """All modules of some groups."""
    return frozenset(module for group in groups for module in group)


def _groups(graph: Nest, kinds: Mapping[str, int]) -> list[list[str]]:
    """The modules grouped by (depth, structure), in the order in which they are given up."""
    found: dict[tuple[int, int], list[str]] = {}
    for module in graph.layers:
        if graph.children.get(module):
            found.setdefault((-len(graph.above[module]), kinds[module]), []).append(module)
    order = sorted(found, key=lambda key: (key[0], -len(found[key])))
    return [found[key] for key in order]


def count_boxes(graph: Nest, collapsed: frozenset[str]) -> int:
    """How many boxes are drawn when these modules are collapsed, equal neighbours rolled up."""
    boxes = {graph.shown(layer, collapsed) for layer in graph.layers if not graph.children.get(layer)}
    return len(boxes) - sum(len(members) - 1 for members in find_rolls(graph, collapsed).values())


def number_structures(graph: Nest) -> dict[str, int]:
    """Number the layers so that two have the same number exactly when they are built and wired alike inside."""
    wires = _inner_wires(graph)
    numbers: dict[object, int] = {}
    found: dict[str, int] = {}
    for layer in sorted(graph.layers, key=lambda layer: -len(graph.above[layer])):
        facts = graph.layers[layer]
        parts = tuple(found[child] for child in graph.children.get(layer, ()))
        params = repr(sorted((facts.get("params") or {}).items(), key=lambda item: str(item[0])))
        shape = (facts.get("op"), facts.get("kind"), params, parts, tuple(sorted(wires.get(layer, ()))))
        found[layer] = numbers.setdefault(shape, len(numbers))
    return found


def _inner_wires(graph: Nest) -> dict[str, list[tuple[int, int]]]:
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
    return {row[0]: row for row in _rows(graph, collapsed, kinds) if not _returns(graph, row)}


def _rows(graph: Nest, collapsed: Collection[str], kinds: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Candidates: at least `ROLL` sibling modules in a row, collapsed and equal, not inside a collapsed one."""
    for parent, children in graph.children.items():
        if parent is not None and graph.shown(parent, collapsed) in collapsed:
            continue
        modules = [child for child in children if graph.children.get(child)]
        for (folded, _), row in groupby(modules, key=lambda module: (module in collapsed, kinds[module])):
            members = tuple(row)
            if folded and len(members) >= ROLL:
                yield members


def _returns(graph: Nest, row: tuple[str, ...]) -> bool:
    """Whether data leaves these modules and comes back to them through others."""
    members = set(row)
    depth = len(graph.above[row[0]])
    after: dict[str, list[str]] = {}
    for connection in graph.connections:
        after.setdefault(connection["source"], []).append(connection["target"])
    inside = {layer for layer in after if _at(graph, layer, depth) in members}
    stack = [target for layer in inside for target in after[layer] if _at(graph, target, depth) not in members]
    seen = set(stack)
    while stack:
        for target in after.get(stack.pop(), ()):
            if _at(graph, target, depth) in members:
                return True
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return False


def _at(graph: Nest, layer: str, depth: int) -> str | None:
    """The ancestor of a layer (or itself) at a depth."""
    chain = (*graph.above[layer], layer)
    return chain[depth] if len(chain) > depth else None
