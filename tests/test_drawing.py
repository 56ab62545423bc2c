"""The picture: valid XML whatever the names, complete for eye, keyboard and screen reader, in light and dark."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonpress.graph import drawing, layout
from tests.graph_sample import Graph, attention, connect, graphs, layer, nested_blocks, recurrent

SVG = "{http://www.w3.org/2000/svg}"


def draw(graph: Graph, *, collapsed: frozenset[str] = frozenset(), **options: Any) -> str:
    """Place and draw a graph."""
    placement = layout.place_graph(*graph, collapsed=collapsed)
    return drawing.draw_svg(*graph, placement, **{"title": "A graph", **options})


def parsed(graph: Graph, **options: Any) -> ET.Element:
    """Draw a graph and read the picture back."""
    return ET.fromstring(draw(graph, **options))


def of_class(root: ET.Element, name: str) -> list[ET.Element]:
    """Find the elements that carry a class."""
    return [element for element in root.iter() if name in element.get("class", "").split()]


def test_every_node_edge_and_frame_is_drawn_and_named() -> None:
    """Each layer, connection and frame has its id in `data-id`, under a neutral element id."""
    layers, connections = attention()
    root = parsed((layers, connections))
    nodes = of_class(root, "node")
    assert [node.get("data-id") for node in nodes] == [one["id"] for one in layers if one["id"] != "focus"]
    assert [node.get("id") for node in nodes] == [f"n{at}" for at in range(len(nodes))]
    drawn = [name for edge in of_class(root, "edge") for name in edge.get("data-id", "").split()]
    assert sorted(drawn) == sorted(one["id"] for one in connections)
    assert [frame.get("data-id") for frame in of_class(root, "frame")] == ["focus"]


def test_shapes_are_on_the_edges_once_per_tensor() -> None:
    """Every box whose output goes somewhere says the shape below itself."""
    layers, connections = attention()
    root = parsed((layers, connections))
    expected = ["×".join(map(str, one["outputs"][0]["shape"])) for one in layers
                if one["id"] in {connection["source"] for connection in connections}]  # fmt: skip
    assert sorted(text.text or "" for text in of_class(root, "shape")) == sorted(expected)


def test_the_text_alternative_comes_from_the_data() -> None:
    """Title and description are tied to the picture and tell inputs with shapes, boxes, and frames."""
    root = parsed(attention(), title="How it looks up")
    names = {element.get("id"): element.text for element in root if element.tag in (f"{SVG}title", f"{SVG}desc")}
    assert names[root.get("aria-labelledby")] == "How it looks up"
    words = names[root.get("aria-describedby")] or ""
    assert words.startswith("19 nodes and 20 connections, read from top to bottom. Inputs: words (1×5), memory (1×8)")
    assert "softmax (Softmax)" in words
    assert words.endswith("Frames: focus.")


def test_a_node_can_be_reached_and_read() -> None:
    """Every box takes the keyboard's focus and has a name of its own for a screen reader."""
    for node in of_class(parsed(recurrent()), "node"):
        assert node.get("tabindex") == "0"
        assert node.get("role") == "img"
        assert node.get("aria-label", "").startswith(node.get("data-id", "?"))


def test_kinds_differ_by_shape_as_well_as_by_colour() -> None:
    """Pills for inputs and output, a bar in layers with a class, sharp corners for operations, cards for modules."""
    root = parsed(attention(), collapsed=frozenset({"focus"}))

    def corners(node: ET.Element) -> float:
        return float(of_class(node, "body")[0].get("rx", "0"))

    (module,) = of_class(root, "module")
    (operation,) = of_class(root, "op")
    assert {corners(node) for node in of_class(root, "input") + of_class(root, "output")} == {21.0}
    assert all(of_class(node, "bar") for node in of_class(root, "layer"))
    assert not of_class(operation, "bar")
    assert corners(operation) < corners(module)
    assert len(of_class(module, "card")) == 2


def test_highlighting_finds_the_box_that_shows_a_layer() -> None:
    """A layer inside a collapsed module lights up that module, an open module its frame; a stranger is refused."""
    graph = attention()
    assert [node.get("data-id") for node in of_class(parsed(graph, highlight="focus.tanh"), "on")] == ["focus.tanh"]
    folded = parsed(graph, highlight="focus.tanh", collapsed=frozenset({"focus"}))
    assert [node.get("data-id") for node in of_class(folded, "on")] == ["focus"]
    assert [frame.get("class") for frame in of_class(parsed(graph, highlight="focus"), "on")] == ["frame on"]
    with pytest.raises(ValueError, match="no layer 'nobody'"):
        draw(graph, highlight="nobody")


def test_several_pictures_fit_in_one_page() -> None:
    """With their own beginnings no element id occurs twice, and every rule of the style is scoped to the picture."""
    ids = [element.get("id") for name in ("a", "b") for element in parsed(attention(), ids=name).iter()]
    known = [name for name in ids if name]
    assert len(known) == len(set(known))
    rules = re.sub(r"@media[^{]*\{", "", drawing.STYLE)
    selectors = [part for block in re.findall(r"([^{}]+)\{", rules) for part in block.split(",")]
    assert all(part.strip().startswith(("svg.lpg", ":where(svg.lpg)")) for part in selectors)
    with pytest.raises(ValueError, match="cannot begin"):
        draw(attention(), ids='x" onload="')


def test_dark_and_light_are_both_complete() -> None:
    """The dark theme redefines every colour that the light one defines."""
    light, dark = (set(re.findall(r"(--lpg-[\w-]+):", part)) for part in drawing.STYLE.split("@media")[:2])
    assert light == dark
    assert set(re.findall(r"var\((--lpg-[\w-]+)\)", drawing.STYLE)) <= light


def luminance(colour: str) -> float:
    """Compute the relative luminance of `#rgb` or `#rrggbb` as WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [0, 1])
def test_text_and_lines_have_enough_contrast(theme: int) -> None:
    """Words reach 4.5:1 on every ground they stand on, borders and lines 3:1 (WCAG 2.2, AA)."""
    colours = dict(re.findall(r"--lpg-([\w-]+):(#[0-9a-f]+)", drawing.STYLE.split("@media")[theme]))

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(colours[one]), luminance(colours[other])))
        return (high + 0.05) / (low + 0.05)

    for ground in ("paper", "frame", "io-fill", "layer-fill", "op-fill", "module-fill"):
        assert contrast("ink", ground) >= 4.5
        assert contrast("soft", ground) >= 4.5
    for ground in ("paper", "frame"):
        for line in ("line", "io", "layer", "op", "module", "mark"):
            assert contrast(line, ground) >= 3, (line, ground)


NASTY = [
    "</title><script>alert(1)</script>", 'a" onload="x', "a&amp;b", "]]>", "line\nbreak\ttab", "\x00\x1b[31m",
    "\u202egnp.exe", "\ud800", "\ufffe", "x" * 500, "漢字", "", "<!--", "a'b`c",
]  # fmt: skip


@pytest.mark.parametrize("name", NASTY)
def test_no_name_can_break_the_picture(name: str) -> None:
    """Markup, quotes, controls, overrides, surrogates and length in any text leave one well-formed picture."""
    layers, connections = connect(
        [
            layer(f"{name}1", name, kind="input", dtype=name),
            layer(f"{name}2", name, kind="module"),
            layer(f"{name}3", name, f"{name}2"),
        ],
        [(f"{name}1", f"{name}3")],
    )
    connections[0]["id"] = name
    source = draw((layers, connections), title=name)
    source.encode()
    root = ET.fromstring(source)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "g", "path", "text"
    }  # fmt: skip
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on")]
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", "".join(root.itertext()))
    assert max(len(text.text or "") for text in root.iter(f"{SVG}text")) < 80


def test_a_true_id_survives_in_the_data() -> None:
    """Whatever XML can hold comes back from `data-id` unchanged, line breaks and overrides included."""
    name = 'a"<b>&\n\t\u202e漢'
    (node,) = of_class(parsed(([layer(name, "Linear")], [])), "node")
    assert node.get("data-id") == name


class Tags(HTMLParser):
    """Note which elements are open when HTML is read, as a page that holds the picture would be."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Push an element."""
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Let a closed element pass."""

    def handle_endtag(self, tag: str) -> None:
        """Pop an element, which must be the innermost."""
        assert self.open.pop() == tag


def test_the_picture_is_also_good_html() -> None:
    """Inside a page, where the picture is no XML, all elements close in order."""
    reader = Tags()
    reader.feed(draw(attention()))
    assert not reader.open


@settings(max_examples=60)
@given(graphs(), st.text(max_size=30))
def test_any_graph_gives_well_formed_xml(drawn: tuple[Graph, frozenset[str]], title: str) -> None:
    """Arbitrary graphs, folds and titles parse, and show every box."""
    graph, collapsed = drawn
    placement = layout.place_graph(*graph, collapsed=collapsed)
    root = ET.fromstring(drawing.draw_svg(*graph, placement, title=title))
    assert len(of_class(root, "node")) == len(placement.boxes)


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    """It runs no script, loads no file or font and carries no inline style attribute."""
    source = draw(nested_blocks(3, 3))
    assert not re.search(r"<script|href|url\(|@import|style=|@font-face", source)
    assert source.count("http") == 1, "only the namespace is an address"


def test_words_fit_their_boxes() -> None:
    """Labels are at most as wide as their box by the layout's own measure, however long a name is."""
    layers = [layer("a.very.long.path.to.a.layer.with.an.even.longer.name." * 3, "AnOperationWithALongName" * 4)]
    (box,) = layout.place_graph(layers, []).boxes.values()
    assert layout.text.measure_width(box.label, 13) <= box.w - 20
    assert layout.text.measure_width(box.detail, 11) <= box.w - 20
