"""What changed between two graphs: layers by their ids, connections by their ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from lessonpress.revision.edits import Edit, EditDocument, format_count, list_documents, list_edits

if TYPE_CHECKING:
    from lessonpress.lesson.records import Connection, Layer

# Where a layer or connection stands in the source says nothing about the graph.
PLACES = frozenset({"source", "called"})


class DrawnGraph(TypedDict):
    """What of a graph, or of a manifest, is compared."""

    layers: list[Layer]
    connections: list[Connection]


class GraphDiffDocument(TypedDict):
    """The difference of two graphs as plain data, connections by their ends."""

    added: list[str]
    removed: list[str]
    changed: dict[str, list[EditDocument]]
    connectionsAdded: list[str]
    connectionsRemoved: list[str]


@dataclass(frozen=True)
class GraphDiff:
    """Layers (and connections, by their ends) that came, went or changed; a change lists what of it did."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[Edit, ...]] | None = None
    connections_added: tuple[str, ...] = ()
    connections_removed: tuple[str, ...] = ()

    def same(self) -> bool:
        """Whether both graphs compute the same thing in the same way."""
        return not (self.added or self.removed or self.changed or self.connections_added or self.connections_removed)

    def words(self) -> str:
        """The change in a clause: `1 layer added, 2 changed`."""
        counts = {"added": len(self.added), "removed": len(self.removed), "changed": len(self.changed or {})}
        wires = {"added": len(self.connections_added), "removed": len(self.connections_removed)}
        parts = [f"{count} {word}" for word, count in counts.items() if count]
        parts += [f"{format_count(count, 'connection')} {word}" for word, count in wires.items() if count]
        return ", ".join(parts) or "unchanged"

    def document(self) -> GraphDiffDocument:
        """The difference as plain data."""
        return {
            "added": list(self.added), "removed": list(self.removed),
            "changed": {name: list_documents(edits) for name, edits in (self.changed or {}).items()},
            "connectionsAdded": list(self.connections_added), "connectionsRemoved": list(self.connections_removed),
        }  # fmt: skip


def compare_graphs(old: DrawnGraph, new: DrawnGraph) -> GraphDiff:
    """Compare two graphs by the ids of their layers and the ends of their connections."""
    layers = [{layer["id"]: _drop_places(layer) for layer in side["layers"]} for side in (old, new)]
    ends = [[_format_ends(wire) for wire in side["connections"]] for side in (old, new)]
    changed = {name: list_edits(layers[0][name], layers[1][name]) for name in layers[0] if name in layers[1]}
    return GraphDiff(
        tuple(name for name in layers[1] if name not in layers[0]),
        tuple(name for name in layers[0] if name not in layers[1]),
        {name: edits for name, edits in changed.items() if edits},
        tuple(_list_missing(ends[1], ends[0])), tuple(_list_missing(ends[0], ends[1])),
    )  # fmt: skip


def _drop_places(layer: Layer) -> dict[str, object]:
    """A layer without its places in the source."""
    return {key: value for key, value in layer.items() if key not in PLACES}


def _format_ends(wire: Connection) -> str:
    """A connection by its ends, with ports and the numbers of calls."""
    sides = (wire["source"], wire["sourcePort"]), (wire["target"], wire["targetPort"])
    ends = [f"{layer}.{port}" if port else layer for layer, port in sides]
    numbers = [number for number in (wire.get("sourceCall"), wire.get("targetCall")) if number is not None]
    return " → ".join(ends) + (f" (calls {', '.join(f'#{number}' for number in numbers)})" if numbers else "")


def _list_missing(some: list[str], others: list[str]) -> Iterator[str]:
    """Those of `some` that are not among `others`, each as often as it is missing there."""
    left = list(others)
    for name in some:
        if name in left:
            left.remove(name)
        else:
            yield name
