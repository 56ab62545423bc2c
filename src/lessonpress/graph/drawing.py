"""The graph as one stand-alone SVG: data in, text out, for light and dark, eye, keyboard and screen reader."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from lessonpress.graph.layout import CARDS, Box, Frame, Label, Loop, Placement, Point, Route, format_shape, text

if TYPE_CHECKING:
    from lessonpress.lesson.records import Connection, Layer

NAMED = 40  # the text alternative names so many nodes at most

# Colours after Okabe and Ito, four kinds told apart by lightness and by shape as well: pills are inputs and outputs,
# an inner bar marks a layer, sharp corners an operation, stacked cards a folded module. `:where` has no weight, so a
# page can set any of these properties on the svg element or on what is around it.
STYLE = """
:where(svg.lpg){--lpg-paper:#fff;--lpg-ink:#1b2433;--lpg-soft:#566072;--lpg-line:#7b8698;--lpg-frame:#f5f7fa;
--lpg-rim:#c3cbd8;--lpg-io:#0b62a3;--lpg-io-fill:#e4f1fb;--lpg-layer:#b25f00;--lpg-layer-fill:#fdf1de;
--lpg-op:#6b7587;--lpg-op-fill:#fff;--lpg-module:#9b3f7c;--lpg-module-fill:#faeaf4;--lpg-mark:#1b2433}
@media (prefers-color-scheme:dark){:where(svg.lpg){--lpg-paper:#12161d;--lpg-ink:#e8ecf3;--lpg-soft:#a5afbf;
--lpg-line:#8490a3;--lpg-frame:#191f29;--lpg-rim:#3b4658;--lpg-io:#6cb8f0;--lpg-io-fill:#12293c;
--lpg-layer:#f0a848;--lpg-layer-fill:#33240f;--lpg-op:#8f9bb0;--lpg-op-fill:#1a202a;--lpg-module:#e394c4;
--lpg-module-fill:#341d2e;--lpg-mark:#fff}}
svg.lpg{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","Liberation Sans",Arial,
sans-serif;color:var(--lpg-ink)}
svg.lpg .paper{fill:var(--lpg-paper)}
svg.lpg .frame rect{fill:var(--lpg-frame);stroke:var(--lpg-rim)}
svg.lpg .frame.even rect{fill:var(--lpg-paper)}
svg.lpg .title{fill:var(--lpg-soft);font-size:11px;font-weight:600}
svg.lpg .edge path{fill:none;stroke:var(--lpg-line);stroke-width:1.4;stroke-linejoin:round}
svg.lpg .edge .head{fill:var(--lpg-line);stroke-width:.6}
svg.lpg .edge.up .line{stroke-dasharray:5 3}
svg.lpg .many,svg.lpg .shape{fill:var(--lpg-soft);font-size:10.5px;text-anchor:middle;
paint-order:stroke;stroke:var(--lpg-paper);stroke-width:4px;stroke-linejoin:round}
svg.lpg .shape.tint{stroke:var(--lpg-frame)}
svg.lpg .many{text-anchor:start;stroke:none}
svg.lpg .frame.on rect{stroke:var(--lpg-mark);stroke-width:2.5}
svg.lpg .node{cursor:default;outline:none}
svg.lpg .node .body,svg.lpg .node .card{fill:var(--c-fill);stroke:var(--c);stroke-width:1.4}
svg.lpg .node .bar{fill:var(--c)}
svg.lpg .node .ring{fill:none;stroke:none}
svg.lpg .node .label{fill:var(--lpg-ink);font-size:13px;font-weight:500;text-anchor:middle}
svg.lpg .node .detail{fill:var(--lpg-soft);font-size:11px;text-anchor:middle}
svg.lpg .input,svg.lpg .output{--c:var(--lpg-io);--c-fill:var(--lpg-io-fill)}
svg.lpg .output .body{stroke-width:3}
svg.lpg .layer{--c:var(--lpg-layer);--c-fill:var(--lpg-layer-fill)}
svg.lpg .op{--c:var(--lpg-op);--c-fill:var(--lpg-op-fill)}
svg.lpg .module{--c:var(--lpg-module);--c-fill:var(--lpg-module-fill)}
svg.lpg .node.on .ring,svg.lpg .node:focus-visible .ring{stroke:var(--lpg-mark);stroke-width:2.2}
svg.lpg .node:hover .body{stroke-width:2.2}
@media (forced-colors:active){svg.lpg .node .body,svg.lpg .node .card{fill:Canvas;stroke:CanvasText}
svg.lpg text{fill:CanvasText;stroke:none}svg.lpg .edge path{stroke:CanvasText}}
"""


def draw_svg(
    layers: Sequence[Layer],
    connections: Sequence[Connection],
    placement: Placement,
    *,
    title: str,
    highlight: str | None = None,
    ids: str = "n",
) -> str:
    """Draw a placed graph as one SVG element, valid as XML and inside HTML.

    Element ids start with `ids`, which must be a letter followed by letters, digits, `_` or `-` (else ValueError), so
    that several pictures fit in one page; a node's own id is in `data-id`. `highlight` names a layer whose box, or
    the box that it is folded into, gets a ring; a name that is nowhere in the graph raises ValueError.
    """
    if not re.fullmatch(r"[A-Za-z][\w-]*", ids, flags=re.ASCII):
        raise ValueError(f"{ids!r} cannot begin an element's id: give a letter, then letters, digits, _ or -")
    if highlight is not None and highlight not in placement.home:
        raise ValueError(f"there is no layer {highlight!r} to highlight")
    on = None if highlight is None else placement.home[highlight]
    by_id = {layer["id"]: layer for layer in layers}
    wires = {connection["id"]: connection for connection in connections}
    w, h = _round(placement.width), _round(placement.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lpg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" '
        f'role="group" aria-labelledby="{ids}-title" aria-describedby="{ids}-desc">',
        f'<title id="{ids}-title">{_escape(title)}</title>',
        f'<desc id="{ids}-desc">{_escape(describe_picture(layers, connections, placement))}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{w}" height="{h}"/>',
    ]
    depths = _count_frames_around(placement)
    parts += _draw_frames(placement, ids, on, depths)
    parts += [_draw_route(route, f"{ids}-e{at}", wires) for at, route in enumerate(placement.routes.values())]
    parts += [_draw_loop(loop, f"{ids}-l{at}", wires) for at, loop in enumerate(placement.loops.values())]
    parts += [_draw_label(label, depths[by_id[label.box]["parent"]]) for label in placement.labels]
    parts += [_draw_title(frame, depths[frame.id]) for frame in placement.frames.values()]
    nodes = enumerate(placement.boxes.values())
    parts += [_draw_node(box, f"{ids}{at}", by_id[box.id], box.id == on) for at, box in nodes]
    return "\n".join([*parts, "</svg>"]) + "\n"


def describe_picture(layers: Sequence[Layer], connections: Sequence[Connection], placement: Placement) -> str:
    """The picture in words: how much there is, what comes in, what follows from top to bottom, what goes out."""
    boxes = sorted(placement.boxes.values(), key=lambda box: (box.y, box.x))
    by_id = {layer["id"]: layer for layer in layers}
    inputs = [_add_shape(by_id[box.id], box) for box in boxes if box.kind == "input"]
    middle = [f"{box.label} ({box.detail})" for box in boxes if box.kind not in ("input", "output")]
    frames = [frame.title for frame in placement.frames.values()]
    counts = _format_count(len(boxes), "node"), _format_count(len(connections), "connection")
    sentences = [f"{counts[0]} and {counts[1]}, read from top to bottom"]
    sentences += [f"Inputs: {_join_names(inputs)}"] if inputs else []
    sentences += [f"Then: {_join_names(middle)}"] if middle else []
    sentences += [f"Frames: {_join_names(frames)}"] if frames else []
    return ". ".join(sentences) + "."


def _format_count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _join_names(names: Sequence[str]) -> str:
    """Names with commas, the rest as a number."""
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])


def _add_shape(layer: Layer, box: Box) -> str:
    """An input with its shape where that is known."""
    shapes = [format_shape(output["shape"]) for output in layer.get("outputs") or ()]
    return f"{box.label} ({', '.join(filter(None, shapes))})" if any(shapes) else box.label


def _escape(value: str) -> str:
    """Text content: nothing in it is markup, nothing is invisible."""
    return escape(text.make_visible(value), quote=False)


def _quote(value: str) -> str:
    """An attribute's value as it is, white space as references; what XML cannot hold becomes a visible stand-in."""
    held = "".join(
        c if c in "\t\n\r" or " " <= c < "\ud800" or "\ue000" <= c < "\ufffe" or c > "\uffff" else text.make_visible(c)
        for c in value
    )
    return escape(held).replace("\t", "&#9;").replace("\n", "&#10;").replace("\r", "&#13;")


def _round(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def _format_path(points: Sequence[Point]) -> str:
    """Straight down within a column, an S-curve with upright ends from one column to the next."""
    parts = [f"M{_round(points[0][0])} {_round(points[0][1])}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        if x == to_x:
            parts.append(f"V{_round(to_y)}")
        else:
            middle, end = _round((y + to_y) / 2), _round(to_x)
            parts.append(f"C{_round(x)} {middle} {end} {middle} {end} {_round(to_y)}")
    return "".join(parts)


def _count_frames_around(placement: Placement) -> dict[str | None, int]:
    """How many frames are around what stands directly in a frame (None: in none)."""
    depths: dict[str | None, int] = {None: 0}
    for frame in placement.frames.values():
        depths[frame.id] = depths[frame.parent] + 1
    return depths


def _draw_frames(placement: Placement, ids: str, on: str | None, depths: Mapping[str | None, int]) -> list[str]:
    """The frames' areas, outer ones first, alternately tinted."""
    parts = []
    for at, frame in enumerate(placement.frames.values()):
        classes = "frame" + " even" * (depths[frame.id] % 2 == 0) + " on" * (frame.id == on)
        parts.append(
            f'<g class="{classes}" id="{ids}-f{at}" data-id="{_quote(frame.id)}"><title>{_escape(frame.id)}</title>'
            f'<rect x="{_round(frame.x)}" y="{_round(frame.y)}" width="{_round(frame.w)}" '
            f'height="{_round(frame.h)}" rx="10"/></g>'
        )
    return parts


def _draw_title(frame: Frame, depth: int) -> str:
    """A frame's title, drawn after the edges."""
    x, y = _round(frame.title_x), _round(frame.y + 17)
    return f'<text class="title{_choose_tint(depth)}" x="{x}" y="{y}">{_escape(frame.title)}</text>'


def _choose_tint(depth: int) -> str:
    """The class of what stands on a tinted ground."""
    return " tint" if depth % 2 else ""


def _describe_edge(names: Sequence[str], wires: Mapping[str, Connection]) -> str:
    """What an edge carries, a line for each connection."""
    lines = []
    for name in names:
        wire = wires[name]
        facts = f"{format_shape(wire.get('shape'))} {wire.get('dtype') or ''}".strip()
        lines.append(f"{wire['source']} → {wire['target']}" + (f": {facts}" if facts else ""))
    return "; ".join(lines)


def _draw_route(route: Route, name: str, wires: Mapping[str, Connection]) -> str:
    """An edge with its arrowhead, and the number of connections where it stands for several."""
    (x, y), down = route.points[-1], route.points[-1][1] > route.points[-2][1]
    back = y - 7 if down else y + 7
    head = f"M{_round(x - 3.8)} {_round(back)}L{_round(x)} {_round(y)}L{_round(x + 3.8)} {_round(back)}Z"
    many = len(route.connections)
    note = (
        f'<text class="many" x="{_round(x + 6)}" y="{_round(y - 5 if down else y + 12)}">×{many}</text>'
        if many > 1
        else ""
    )
    return (
        f'<g class="edge{"" if not route.upward else " up"}" id="{name}" data-id="{_join_ids(route.connections)}" '
        f'data-source="{_quote(route.source)}" data-target="{_quote(route.target)}">'
        f"<title>{_escape(_describe_edge(route.connections, wires))}</title>"
        f'<path class="line" d="{_format_path(route.points)}"/><path class="head" d="{head}"/>{note}</g>'
    )


def _join_ids(names: Sequence[str]) -> str:
    """Connection ids as one attribute, parted by spaces."""
    return _quote(" ".join(names))


def _draw_loop(loop: Loop, name: str, wires: Mapping[str, Connection]) -> str:
    """An arc from a box's side back to it, with the number of times that data takes it."""
    x, y, r = loop.x, loop.y, loop.r
    begin, end = y - 0.8 * r, y + 0.8 * r
    out, far = _round(x + 2.2 * r), [_round(y - 1.3 * r), _round(y + 1.3 * r)]
    arc = f"M{_round(x)} {_round(begin)}C{out} {far[0]} {out} {far[1]} {_round(x)} {_round(end)}"
    tip = [_round(end - 3.8), _round(end), _round(end + 3.8)]
    head = f"M{_round(x + 6.5)} {tip[0]}L{_round(x)} {tip[1]}L{_round(x + 6.5)} {tip[2]}Z"
    box = _quote(loop.box)
    return (
        f'<g class="edge loop" id="{name}" data-id="{_join_ids(loop.connections)}" '
        f'data-source="{box}" data-target="{box}">'
        f"<title>{_escape(_describe_edge(loop.connections[:1], wires))}</title>"
        f'<path class="line" d="{arc}"/><path class="head" d="{head}"/>'
        f'<text class="many" x="{_round(x + 1.75 * r + 3)}" y="{_round(y + 3.5)}">×{len(loop.connections)}</text></g>'
    )


def _draw_label(label: Label, depth: int) -> str:
    """A shape on its edge."""
    x, y = _round(label.x), _round(label.y + 3.5)
    return f'<text class="shape{_choose_tint(depth)}" x="{x}" y="{y}">{_escape(label.text)}</text>'


def _classify(box: Box, layer: Layer) -> str:
    """The kind of a box: input, output, module, op for a bare operation, layer for a module of its own."""
    if box.kind == "layer" and layer["op"].startswith("torch."):
        return "op"
    return box.kind if box.kind in ("input", "output", "module") else "layer"


def _draw_node(box: Box, name: str, layer: Layer, on: bool) -> str:
    """A box: its shape says what kind it is, its first line what it is called, its second what it does."""
    kind = _classify(box, layer)
    words = f"{layer['id']} ({layer['op'] or box.kind})" if not box.members else f"{box.label}: {box.detail}"
    back = CARDS if box.inside else 0.0
    front = replace(box, y=box.y + back, w=box.w - back, h=box.h - back)
    middle = _round(front.x + front.w / 2)
    radius = {"input": box.h / 2, "output": box.h / 2, "op": 3.0, "layer": 8.0, "module": 8.0}[kind]
    cards = [_draw_rect(front, "card", radius, shift) for shift in ((back, back / 2) if back else ())]
    bar = _draw_rect(Box(box.id, box.kind, box.x + 5, box.y + 10, 3, box.h - 20, "", ""), "bar", 1.5)
    return "".join(
        [
            f'<g class="node {kind}{" on" if on else ""}" id="{name}" data-id="{_quote(box.id)}" tabindex="0" '
            f'role="img" aria-label="{_quote(text.make_visible(words))}"><title>{_escape(words)}</title>',
            *cards,
            _draw_rect(front, "body", radius),
            bar if kind == "layer" else "",
            _draw_rect(front, "ring", radius + 3.5, 0, 3.5),
            f'<text class="label" x="{middle}" y="{_round(front.y + 18.5)}">{_escape(box.label)}</text>',
            f'<text class="detail" x="{middle}" y="{_round(front.y + 33)}">{_escape(box.detail)}</text></g>',
        ]
    )


def _draw_rect(box: Box, css: str, radius: float, shift: float = 0, grow: float = 0) -> str:
    """A rectangle at a box, moved up and to the right, or grown on all sides."""
    x, y = _round(box.x + shift - grow), _round(box.y - shift - grow)
    w, h = _round(box.w + 2 * grow), _round(box.h + 2 * grow)
    return f'<rect class="{css}" x="{x}" y="{y}" width="{w}" height="{h}" rx="{_round(radius)}"/>'
