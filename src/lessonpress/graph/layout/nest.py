"""The published graph as a nest of modules: parents, children, leaves, and what stands for what when folded."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lessonpress.lesson.records import Connection, Layer


@dataclass(frozen=True)
class Nest:
    """Layers by id, children by parent (None for the top), and each layer's ancestors from the outermost down."""

    layers: Mapping[str, Layer]
    children: Mapping[str | None, Sequence[str]]
    above: Mapping[str, tuple[str, ...]]
    connections: Sequence[Connection]

    def leaves(self, layer: str) -> int:
        """How many leaves a module holds at any depth."""
        stack, count = list(self.children.get(layer, ())), 0
        while stack:
            below = self.children.get(stack.pop(), ())
            stack.extend(below)
            count += not below
        return count

    def shown(self, layer: str, collapsed: Collection[str]) -> str:
        """The outermost collapsed module around a layer, or the layer itself."""
        return next((module for module in self.above[layer] if module in collapsed), layer)

    def join(self, a: str, b: str) -> str | None:
        """The innermost module that holds both layers, None for the top."""
        common = None
        for one, other in zip(self.above[a], self.above[b], strict=False):
            if one != other:
                break
            common = one
        return common

    # What folding asks again and again is worked out once for a graph.

    @functools.cached_property
    def after(self) -> Mapping[str, Sequence[str]]:
        """The targets of each layer's connections."""
        after: dict[str, list[str]] = {}
        for connection in self.connections:
            after.setdefault(connection["source"], []).append(connection["target"])
        return after

    @functools.cached_property
    def position(self) -> Mapping[str, int]:
        """Where each layer stands in the order of the run."""
        return {layer: at for at, layer in enumerate(self.layers)}

    @functools.cached_property
    def backward(self) -> Sequence[tuple[int, int]]:
        """The connections that lead from a later layer to an earlier one, as positions."""
        ends = ((self.position[c["source"]], self.position[c["target"]]) for c in self.connections)
        return [(source, target) for source, target in ends if target <= source]

    @functools.cached_property
    def structures(self) -> Mapping[str, int]:
        """A number for each layer: two have the same exactly when they are built and wired alike inside."""
        wires = self._list_inner_wires()
        numbers: dict[object, int] = {}
        numbered: dict[str, int] = {}
        for layer in sorted(self.layers, key=lambda layer: -len(self.above[layer])):
            facts = self.layers[layer]
            parts = tuple(numbered[child] for child in self.children.get(layer, ()))
            params = repr(sorted(facts["params"].items(), key=lambda item: str(item[0])))
            shape = (facts["op"], facts["kind"], params, parts, tuple(sorted(wires.get(layer, ()))))
            numbered[layer] = numbers.setdefault(shape, len(numbers))
        return numbered

    def _list_inner_wires(self) -> dict[str, list[tuple[int, int]]]:
        """For each module, the connections between its children as pairs of their positions."""
        position = {child: index for children in self.children.values() for index, child in enumerate(children)}
        wires: dict[str, list[tuple[int, int]]] = {}
        for connection in self.connections:
            source, target = connection["source"], connection["target"]
            module = self.join(source, target)
            if module is not None:
                depth = len(self.above[module]) + 1
                ends = [(*self.above[layer], layer)[depth] for layer in (source, target)]
                wires.setdefault(module, []).append((position[ends[0]], position[ends[1]]))
        return wires


def read_nest(layers: Sequence[Layer], connections: Sequence[Connection]) -> Nest:
    """Arrange layers and connections as they are published.

    Raises ValueError for an id that occurs twice, a parent that is missing or circular, and a connection that does
    not join two leaves.
    """
    by_id = {layer["id"]: layer for layer in layers}
    if len(by_id) != len(layers):
        raise ValueError("the graph's layers do not have distinct ids")
    children: dict[str | None, list[str]] = {None: []}
    for layer in layers:
        children.setdefault(layer["parent"], []).append(layer["id"])
    nest = Nest(by_id, children, _list_ancestors(children, by_id), connections)
    _require_leaf_ends(nest)
    return nest


def _list_ancestors(
    children: Mapping[str | None, Sequence[str]], layers: Mapping[str, Layer]
) -> dict[str, tuple[str, ...]]:
    """Every layer's chain of modules, worked out from the top downwards."""
    above: dict[str, tuple[str, ...]] = dict.fromkeys(children[None], ())
    stack = list(children[None])
    while stack:
        module = stack.pop()
        for child in children.get(module, ()):
            above[child] = (*above[module], module)
            stack.append(child)
    if lost := [layer for layer in layers if layer not in above]:
        raise ValueError(f"layer {lost[0]!r} has no way up to the top: a parent is missing or circular")
    return above


def _require_leaf_ends(nest: Nest) -> None:
    """Refuse a connection with an unknown end or one at a module that has children."""
    seen = set()
    for connection in nest.connections:
        for layer in (connection["source"], connection["target"]):
            if layer not in nest.layers:
                raise ValueError(f"connection {connection['id']!r}: there is no layer {layer!r}")
            if nest.children.get(layer):
                raise ValueError(f"connection {connection['id']!r} ends at the module {layer!r}, not at a leaf in it")
        if connection["id"] in seen:
            raise ValueError(f"connection id {connection['id']!r} occurs twice")
        seen.add(connection["id"])
