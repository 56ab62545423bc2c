"""The published graph as a nest of modules: parents, children, leaves, and what stands for what when folded."""

from __future__ import annotations

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
