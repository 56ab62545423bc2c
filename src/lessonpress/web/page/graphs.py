"""The graph's pictures in the page: one style for all, the first one shown, the others ready to be swapped in."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from lessonpress.graph import layout

ROOM, A_NODE = 24_000, 20  # bytes that further pictures may cost: in all, and for each node of the graph
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
class OwnWay:
    """A case whose run went another way than the execution: what it called in addition, what not, and its picture."""

    more: tuple[str, ...]
    less: tuple[str, ...]
    picture: Markup


def make_graph(svg: str, folded: Sequence[str], views: Mapping[tuple[str, ...], str]) -> Graph | None:
    """The pictures of a graph, or None when there is no picture; `views` holds the others by their folded modules."""
    if not svg:
        return None
    style, first = _apart(svg)
    plain = {names: _DESCRIPTION.sub("", _apart(text)[1]) for names, text in views.items()}
    others = (View(_listed(names), Markup(text)) for names, text in plain.items())
    return Graph(Markup(style), View(_listed(folded), Markup(first)), tuple(others))


def compare_graphs(manifest: Mapping[str, Any], case: Mapping[str, Any], pictures: Mapping[str, str]) -> OwnWay | None:
    """How a case's own graph differs from the lesson's, or None for a case that ran like the execution."""
    told = case.get("graph")
    if not told:
        return None
    common = [str(layer["id"]) for layer in manifest.get("layers") or []]
    own = [str(layer["id"]) for layer in told.get("layers") or []]
    more, less = ([name for name in a if name not in set(b)] for a, b in ((own, common), (common, own)))
    return OwnWay(tuple(more), tuple(less), Markup(_apart(pictures.get(case["id"], ""))[1]))


def _listed(names: Sequence[str]) -> str:
    return json.dumps(sorted(names), ensure_ascii=False)


def _apart(svg: str) -> tuple[str, str]:
    """A picture's style and the picture without it."""
    svg = _SAID_TWICE.sub(r"\1", svg)
    found = _STYLE.search(svg)
    return (found[1].replace("\n", ""), _STYLE.sub("", svg, count=1)) if found else ("", svg)


def draw_views(drawn: Mapping[str, Any], draw: Callable[[frozenset[str], str], str]) -> dict[tuple[str, ...], str]:
    """Further pictures of a graph, by their folded modules: every module opened or folded, as far as `ROOM` reaches.

    `drawn` is the published graph; `draw(folded, ids)` gives a picture whose element ids start with `ids`. With up to
    three modules these are all pictures that there are; with more, those one module away from the first picture.
    """
    layers, connections = drawn["layers"], drawn["connections"]
    first = layout.choose_folded(layers, connections)
    room, found = ROOM + A_NODE * len(layers), dict[tuple[str, ...], str]()
    for at, folded in enumerate(_foldings(layers, first)):
        if folded != first:
            text = draw(folded, f"v{at}-")
            room -= len(_apart(text)[1])
            if room < 0:
                break
            found[tuple(sorted(folded))] = text
    return found


def _foldings(layers: Sequence[Mapping[str, Any]], first: frozenset[str]) -> list[frozenset[str]]:
    """Sets of modules to fold, without those inside of one that is folded already; the first one is `first`."""
    inside: dict[str, list[str]] = {}
    for layer in layers:
        if layer.get("parent"):
            inside.setdefault(layer["parent"], []).append(layer["id"])
    modules = list(inside)
    if len(modules) <= 3:
        chosen = [frozenset(c) for n in range(len(modules) + 1) for c in itertools.combinations(modules, n)]
    else:
        chosen = [first ^ {m} | (set(inside[m]) & inside.keys() if m in first else set()) for m in modules]
    parents = {layer["id"]: layer.get("parent") for layer in layers}
    return list(dict.fromkeys([first, *(_outermost(each, parents) for each in chosen)]))


def _outermost(folded: frozenset[str], parents: Mapping[str, Any]) -> frozenset[str]:
    """Those of some modules that are inside none of the others."""

    def around(module: str) -> Iterator[str]:
        while parents.get(module):
            module = parents[module]
            yield module

    return frozenset(module for module in folded if not folded & set(around(module)))
