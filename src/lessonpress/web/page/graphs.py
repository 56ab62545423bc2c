"""The graph's pictures in the page: one style for all, the first one shown, the others ready to be swapped in."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from lessonpress.graph import layout

if TYPE_CHECKING:
    from lessonpress.lesson import records
    from lessonpress.revision.manifest_schema import Manifest, PublishedCase

MAX_BYTES, BYTES_PER_NODE = 24_000, 20  # what further pictures may cost: in all, and for each node of the graph
MAX_NODES = 1_000  # of a larger graph, as for one of so many
# Titles that say what a node's aria-label, or an edge's ends and its shape beside it, say already.
_SAID_TWICE = re.compile(r'(<g class="(?:node[^>]* aria-label="[^"]*"|edge[^>]*)>)<title>[^<]*</title>')
_DESCRIPTION = re.compile(r' aria-describedby="[^"]*"|<desc [^>]*>[^<]*</desc>\n?')
_STYLE = re.compile(r"<style>(.*?)</style>\s*", re.DOTALL)


@dataclass(frozen=True)
class View:
    """One picture of the graph; `folded` is the JSON list of the modules that it shows as boxes."""

    folded: str
    svg: Markup


@dataclass(frozen=True)
class Graph:
    """All pictures of a lesson's graph and the style that they share."""

    style: Markup
    first: View
    others: tuple[View, ...]


@dataclass(frozen=True)
class OwnGraph:
    """A case whose run went another way than the execution: what it called in addition, what not, and its picture."""

    more: tuple[str, ...]
    less: tuple[str, ...]
    picture: Markup


def make_graph(svg: str, folded: Sequence[str], views: Mapping[tuple[str, ...], str]) -> Graph | None:
    """The pictures of a graph, or None when there is no picture; `views` holds the others by their folded modules."""
    if not svg:
        return None
    style, first = _split_style(svg)
    plain = {names: _DESCRIPTION.sub("", _split_style(text)[1]) for names, text in views.items()}
    others = (View(_name_picture(names), Markup(text)) for names, text in plain.items())
    return Graph(Markup(style), View(_name_picture(folded), Markup(first)), tuple(others))


def compare_graphs(manifest: Manifest, case: PublishedCase, pictures: Mapping[str, str]) -> OwnGraph | None:
    """How a case's own graph differs from the lesson's, or None for a case that ran like the execution."""
    graph = case.get("graph")
    if not graph:
        return None
    common = [layer["id"] for layer in manifest.get("layers") or []]
    own = [layer["id"] for layer in graph.get("layers") or []]
    more, less = ([name for name in a if name not in set(b)] for a, b in ((own, common), (common, own)))
    return OwnGraph(tuple(more), tuple(less), Markup(_split_style(pictures.get(case["id"], ""))[1]))


def _name_picture(folded: Sequence[str]) -> str:
    """The name by which a script finds the picture with these modules folded: their JSON list, in order."""
    return json.dumps(sorted(folded), ensure_ascii=False)


def _split_style(svg: str) -> tuple[str, str]:
    """A picture's style and the picture without it."""
    svg = _SAID_TWICE.sub(r"\1", svg)
    style = _STYLE.search(svg)
    return (style[1].replace("\n", ""), _STYLE.sub("", svg, count=1)) if style else ("", svg)


def draw_views(
    graph: records.Graph, draw: Callable[[frozenset[str], str], str]
) -> dict[tuple[str, ...], str]:  # fmt: skip
    """Further pictures of a graph, by their folded modules: every module opened or folded, up to `MAX_BYTES` in all.

    `draw(folded, ids)` gives a picture whose element ids start with `ids`. With up to three modules these are all
    pictures that there are; with more, those one module away from the first picture.
    """
    layers, connections = graph["layers"], graph["connections"]
    first = layout.choose_folded(layers, connections)
    left, pictures = MAX_BYTES + BYTES_PER_NODE * min(len(layers), MAX_NODES), dict[tuple[str, ...], str]()
    for at, folded in enumerate(_list_foldings(layers, first)):
        if folded != first:
            picture = draw(folded, f"v{at}-")
            left -= len(_split_style(picture)[1])
            if left < 0:
                break
            pictures[tuple(sorted(folded))] = picture
    return pictures


def _list_foldings(layers: Sequence[records.Layer], first: frozenset[str]) -> Iterator[frozenset[str]]:
    """Sets of modules to fold, without those inside of one that is folded already; the first one is `first`."""
    inside: dict[str, list[str]] = {}
    for layer in layers:
        if parent := layer.get("parent"):
            inside.setdefault(parent, []).append(layer["id"])
    modules = list(inside)
    chosen: Iterator[frozenset[str]]
    if len(modules) <= 3:
        chosen = (frozenset(c) for n in range(len(modules) + 1) for c in itertools.combinations(modules, n))
    else:
        chosen = (first ^ {m} | (set(inside[m]) & inside.keys() if m in first else set()) for m in modules)
    parents = {layer["id"]: layer.get("parent") for layer in layers}
    seen = {first}
    yield first
    for each in chosen:  # one at a time: of a large graph most are never asked for
        folding = _keep_outermost(each, parents)
        if folding not in seen:
            seen.add(folding)
            yield folding


def _keep_outermost(folded: frozenset[str], parents: Mapping[str, str | None]) -> frozenset[str]:
    """Those of some modules that are inside none of the others."""

    def walk_up(module: str) -> Iterator[str]:
        while parent := parents.get(module):
            module = parent
            yield module

    return frozenset(module for module in folded if not folded & set(walk_up(module)))
