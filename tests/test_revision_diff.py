"""What changed is listed value by value, and a graph by its layers and connections."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.publishing.diff_view import merge_layers
from lessonpress.revision import edits, graph_diff, revision_diff
from lessonpress.revision.graph_diff import GraphDiff

LEAF = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
TREE = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
)


@given(TREE)
def test_nothing_differs_from_itself(value: Any) -> None:
    """Equal values have no edits."""
    assert edits.list_edits(value, value) == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({"a": 1}, {"a": 2}, ["a: 1 → 2"]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, ["a.b[1]: 2 → 3"]),
        ({"a": 1}, {"b": 1}, ["a: 1 → absent", "b: absent → 1"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a: [1] → [1,2]"]),
        ({"a": 1}, {"a": 1.0}, ["a: 1 → 1.0"]),
        ({"a": 1}, {"a": True}, ["a: 1 → true"]),
        ([{"id": "x", "n": 1}], [{"id": "y"}, {"id": "x", "n": 2}], ["x.n: 1 → 2", 'y: absent → {"id":"y"}']),
    ],
)
def test_every_edit_is_named_by_its_path(old: Any, new: Any, words: list[str]) -> None:
    """Lists whose entries have ids are compared by them, so that an insertion is one edit."""
    assert [edit.words() for edit in edits.list_edits(old, new)] == words


def test_long_texts_are_cut_around_what_differs() -> None:
    """Two paragraphs that begin and end alike are shown where they do not."""
    before, after = "the same words " * 40, " and so on to the end" * 40
    [edit] = edits.list_edits({"note": f"{before}red{after}"}, {"note": f"{before}green{after}"})
    assert (edit.old[0], edit.old[-1], edit.new[0], edit.new[-1]) == ("…", "…", "…", "…")
    assert "red" in edit.old
    assert "green" in edit.new
    assert max(len(edit.old), len(edit.new)) <= 202
    [edit] = edits.list_edits(before, before + "more")
    assert edit.new.endswith("same words more")
    assert edit.old.endswith("same words ")
    [edit] = edits.list_edits("x" * 900, "y" * 900)
    assert edit.old == "x" * 200 + "…"


def layer(name: str, **more: Any) -> dict[str, Any]:
    """A layer as the manifest has it."""
    return {"id": name, "label": name, "op": "torch.add", "kind": "layer", "parent": None, "params": {}, **more}


def wire(source: str, target: str, **more: Any) -> dict[str, Any]:
    """A connection as the manifest has it."""
    return {"id": "edge-1", "source": source, "target": target, "sourcePort": None, "targetPort": "input", **more}


def test_a_graph_is_compared_without_its_places() -> None:
    """A layer that only stands in another line is the same; ids of connections say nothing."""
    old = {"layers": [layer("a", source={"line": 1}, called=[{"line": 2}])], "connections": [wire("a", "a")]}
    new = {"layers": [layer("a", source={"line": 9}, called=[])], "connections": [wire("a", "a", id="edge-7")]}
    assert graph_diff.compare_graphs(old, new).same()
    assert graph_diff.compare_graphs(old, new).words() == "unchanged"


def test_what_came_went_and_changed() -> None:
    """Each layer by its id, each connection by its ends, as often as it is there."""
    old = {"layers": [layer("a"), layer("b")], "connections": [wire("a", "b"), wire("a", "b")]}
    new = {"layers": [layer("a", op="torch.sub"), layer("c")], "connections": [wire("a", "b"), wire("a", "c")]}
    graph = graph_diff.compare_graphs(old, new)
    assert (graph.added, graph.removed) == (("c",), ("b",))
    assert {name: [e.words() for e in changed] for name, changed in (graph.changed or {}).items()} == {
        "a": ["op: torch.add → torch.sub"]
    }
    assert (graph.connections_added, graph.connections_removed) == (("a → c.input",), ("a → b.input",))
    assert graph.words() == "1 added, 1 removed, 1 changed, 1 connection added, 1 connection removed"
    assert [entry["id"] for entry in merge_layers(old["layers"], new["layers"])] == ["a", "c", "b"]


IDENTITY = {"digests": {}, "recorded": {}, "weights": "", "files": {}, "torch": "2"}


def test_the_graph_is_a_reason_before_environment_and_templates() -> None:
    """The words keep one order, and `graph` appears only where the graph computes something else."""
    changed = GraphDiff(added=("a",))
    new = {**IDENTITY, "digests": {"source": "x"}, "torch": "3"}
    assert revision_diff.list_reasons(IDENTITY, new, GraphDiff()) == ("source", "environment")
    assert revision_diff.list_reasons(IDENTITY, new, changed) == ("source", "graph", "environment")


def test_other_templates_are_a_reason_beside_other_words() -> None:
    """A page with other words cannot tell whether its template changed too, so the digest of the templates does."""
    new = {**IDENTITY, "digests": {"prose": "x"}}
    assert revision_diff.list_reasons(IDENTITY, new, GraphDiff()) == ("prose",)
    assert revision_diff.list_reasons(IDENTITY, new, GraphDiff(), templates=True) == ("prose", "templates")
    assert revision_diff.list_reasons(IDENTITY, IDENTITY, GraphDiff(), templates=True) == ()
