"""Layout: boxes, frames and lines stay clear of each other for every graph, folded or open, always alike."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonpress.graph import layout
from lessonpress.graph.layout import Box, Placement, columns, fold, nest, order, rank, text
from tests.graph_sample import (
    SAMPLES,
    Graph,
    attention,
    chain,
    connect,
    fan,
    graphs,
    layer,
    nested_blocks,
    recurrent,
    transformer,
)

Rectangle = tuple[float, float, float, float]  # left, top, right, bottom


def rectangle(box: Any) -> Rectangle:
    """Give a box's or a frame's sides."""
    return box.x, box.y, box.x + box.w, box.y + box.h


def overlap(a: Rectangle, b: Rectangle, slack: float = 0.15) -> bool:
    """Tell whether two areas share more than a border; coordinates are rounded to a tenth."""
    return min(a[2], b[2]) - max(a[0], b[0]) > slack and min(a[3], b[3]) - max(a[1], b[1]) > slack


def strokes(points: Sequence[layout.Point]) -> Iterator[Rectangle]:
    """Yield the pieces that a route is drawn with; an S-curve as sixteen chords (its ends are upright)."""
    for (x, y), (to_x, to_y) in pairwise(points):
        steps = 1 if x == to_x else 16
        curve = []
        for step in range(steps + 1):
            t = step / steps
            across = t * t * (3 - 2 * t)  # the Bézier polynomial of (x, x, to_x, to_x)
            down = 1.5 * t * (1 - t) ** 2 + 1.5 * t * t * (1 - t) + t**3  # of (0, ½, ½, 1)
            curve.append((x + (to_x - x) * across, y + (to_y - y) * down))
        yield from ((*one, *other) for one, other in pairwise(curve))


def enters(stroke: Rectangle, area: Rectangle, slack: float = 0.15) -> bool:
    """Tell whether a straight piece passes through the inside of an area (Liang and Barsky's clipping)."""
    x, y, to_x, to_y = stroke
    left, top, right, bottom = area[0] + slack, area[1] + slack, area[2] - slack, area[3] - slack
    first, last = 0.0, 1.0
    for change, space in ((x - to_x, x - left), (to_x - x, right - x), (y - to_y, y - top), (to_y - y, bottom - y)):
        if change == 0:
            if space < 0:
                return False
        elif change < 0:
            first = max(first, space / change)
        else:
            last = min(last, space / change)
    return first < last


def near(areas: dict[str, Rectangle], cell: float = 400.0) -> dict[int, list[str]]:
    """Sort areas into bands of the picture, so that a thousand of them are compared quickly."""
    bands: dict[int, list[str]] = {}
    for name, area in areas.items():
        for band in range(int(area[1] // cell), int(area[3] // cell) + 1):
            bands.setdefault(band, []).append(name)
    return bands


def faults(layers: Sequence[dict[str, Any]], placement: Placement) -> list[str]:
    """List everything in a placement that lies where it must not."""
    parents = {one["id"]: one["parent"] for one in layers}

    def around(name: str | None) -> set[str]:
        names = set()
        while name is not None and (name := parents[name]) is not None:
            names.add(name)
        return names

    shown: dict[str, Box | layout.Frame] = {**placement.boxes, **placement.frames}
    areas = {name: rectangle(one) for name, one in shown.items()}
    kin = {name: around(name) for name in shown}
    wrong = []
    for names in near(areas).values():
        for at, one in enumerate(names):
            for other in names[at + 1 :]:
                if one not in kin[other] and other not in kin[one] and overlap(areas[one], areas[other]):
                    wrong.append(f"{one} overlaps {other}")
    for name, area in areas.items():
        parent = parents[name]
        if parent is not None:
            frame = areas[parent]
            if not (frame[0] < area[0] and frame[1] < area[1] and frame[2] > area[2] and frame[3] > area[3]):
                wrong.append(f"{name} is not inside {parent}")
        if area[0] < 0 or area[1] < 0 or area[2] > placement.width or area[3] > placement.height:
            wrong.append(f"{name} leaves the picture")
    for frame in placement.frames.values():
        end = frame.title_x + text.measure_width(frame.title, 11)
        areas[f"the title of {frame.id}"] = (frame.title_x, frame.y + 6, end, frame.y + 20)
    bands = near(areas)
    for route in placement.routes.values():
        own = kin[route.source] | kin[route.target]
        for stroke in strokes(route.points):
            low, high = sorted((stroke[1], stroke[3]))
            for band in range(int(low // 400), int(high // 400) + 1):
                for name in bands.get(band, ()):
                    if name not in own and enters(stroke, areas[name]):
                        wrong.append(f"{route.source} → {route.target} passes {name}")
    return wrong


def check(graph: Graph, collapsed: frozenset[str] = frozenset()) -> Placement:
    """Place a graph and assert all that must hold for any placement."""
    layers, connections = graph
    placement = layout.place_graph(layers, connections, collapsed=collapsed)
    assert not faults(layers, placement)
    shown = [name for line in (*placement.routes.values(), *placement.loops.values()) for name in line.connections]
    assert sorted([*shown, *placement.hidden]) == sorted(one["id"] for one in connections)
    assert set(shown) == set(placement.drawn)
    for route in placement.routes.values():
        for name, (x, y) in ((route.source, route.points[0]), (route.target, route.points[-1])):
            left, top, right, bottom = rectangle(placement.boxes[name])
            assert left - 0.1 <= x <= right + 0.1, "a route ends at its box"
            assert min(abs(y - top), abs(y - bottom)) < 0.11, "a route ends at its box's upper or lower edge"
    return placement


def test_a_fault_is_noticed() -> None:
    """The check itself can fail: a box moved onto a neighbour, onto a line, out of its frame or out of the picture."""
    layers, connections = attention()
    placement = layout.place_graph(layers, connections)

    def moved(name: str, **change: float) -> list[str]:
        boxes = {**placement.boxes, name: replace(placement.boxes[name], **change)}
        return faults(layers, replace(placement, boxes=boxes))

    reader, (line, *_) = placement.boxes["reader"], placement.routes[placement.drawn[connections[-1]["id"]]].points
    assert "lookup overlaps reader" in moved("lookup", x=reader.x, y=reader.y)
    assert any("passes last_lookup" in fault for fault in moved("last_lookup", x=line[0] - 20, y=line[1] + 40))
    assert "focus.tanh is not inside focus" in moved("focus.tanh", x=0.0)
    assert "head leaves the picture" in moved("head", x=placement.width)


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_touches_what_it_should_not(name: str) -> None:
    """Boxes are apart, children are in their frame, and no line enters a foreign box or frame."""
    check(SAMPLES[name])


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_holds_when_folded(name: str) -> None:
    """A folded picture obeys the same rules, at any budget."""
    for budget in (1, 12, 60):
        check(SAMPLES[name], layout.choose_folded(*SAMPLES[name], budget=budget))


@settings(max_examples=150)
@given(graphs())
def test_any_graph_is_placed_cleanly(drawn: tuple[Graph, frozenset[str]]) -> None:
    """The rules hold for arbitrary nests and connections, whatever is collapsed."""
    graph, collapsed = drawn
    check(graph, collapsed)


def test_data_flows_downwards() -> None:
    """Without cycles every route leads from a lower edge down to an upper one."""
    for name in ("attention", "transformer", "fan", "thousand"):
        placement = layout.place_graph(*SAMPLES[name])
        assert not any(route.upward for route in placement.routes.values())
        assert all(a[1] <= b[1] for route in placement.routes.values() for a, b in pairwise(route.points))


def test_a_cycle_has_an_upward_route_and_a_repeated_cell_a_loop() -> None:
    """Five calls of one cell give one arc for four connections; the shared layer's return leads upwards."""
    placement = check(recurrent())
    (loop,) = placement.loops.values()
    assert (loop.box, len(loop.connections)) == ("cell", 4)
    assert [(route.source, route.target) for route in placement.routes.values() if route.upward] == [
        ("tanh@Net#0", "gate.shared")
    ]


def test_connections_of_one_output_to_one_box_share_a_route() -> None:
    """A tensor used twice by one operation is drawn once and knows both connections; other ports are kept apart."""
    layers, connections = connect([layer("a", "LSTM"), layer("b", "Linear")], [("a", "b")] * 3)
    connections[2]["sourcePort"] = "1.0"
    routes = layout.place_graph(layers, connections).routes
    assert [route.connections for route in routes.values()] == [("edge-1", "edge-2"), ("edge-3",)]


def test_inputs_stand_in_one_row_at_the_top_and_the_output_at_the_bottom() -> None:
    """The reading order of a picture: inputs first, output last."""
    placement = layout.place_graph(*attention())
    tops = {box.y for box in placement.boxes.values() if box.kind == "input"}
    assert tops == {min(box.y for box in placement.boxes.values())}
    assert max(placement.boxes.values(), key=lambda box: box.y).id == "output"


def test_a_collapsed_module_is_one_box_that_counts_its_inside() -> None:
    """Collapsing hides what is inside, keeps the outer connections, and says how much is hidden."""
    layers, connections = attention()
    placement = check((layers, connections), frozenset({"focus"}))
    box = placement.boxes["focus"]
    assert (box.inside, box.detail) == (9, "Module · 9 layers inside")
    assert not placement.frames
    assert placement.home["focus.softmax"] == "focus"
    inside = {one["id"] for one in layers if one["parent"] == "focus"}
    assert set(placement.hidden) == {one["id"] for one in connections if {one["source"], one["target"]} <= inside}


def test_equal_neighbours_are_rolled_up_with_a_count() -> None:
    """Twelve equal blocks become one box ×12; opening one of them leaves a roll on each side."""
    layers, connections = transformer(12)
    folded = layout.choose_folded(layers, connections)
    placement = check((layers, connections), folded)
    assert placement.boxes["stack.0"].label == "0 … 11 ×12"
    assert placement.boxes["stack.0"].members == tuple(f"stack.{at}" for at in range(12))
    opened = check((layers, connections), folded - {"stack.5"})
    assert opened.boxes["stack.0"].label == "0 … 4 ×5"
    assert opened.boxes["stack.6"].label == "6 … 11 ×6"
    assert "stack.5" in opened.frames


def test_blocks_that_differ_are_not_rolled_up() -> None:
    """Another parameter, another wiring or a way out and back keeps blocks apart."""
    layers, connections = transformer(4)
    blocks = frozenset(f"stack.{at}" for at in range(4))
    assert len(layout.place_graph(layers, connections, collapsed=blocks).boxes) == 6
    changed = [{**one, "params": {"p": 1}} if one["id"] == "stack.1.norm1" else one for one in layers]
    assert len(layout.place_graph(changed, connections, collapsed=blocks).boxes) == 9
    back = [*connections, {**connections[0], "id": "back", "source": "head", "target": "stack.0.norm1"}]
    assert len(layout.place_graph(layers, back, collapsed=blocks).boxes) == 9


def test_folding_keeps_to_its_budget_where_modules_allow_it() -> None:
    """A small graph stays open; a thousand layers fit in sixty boxes; a flat graph cannot be folded."""
    assert layout.choose_folded(*attention()) == frozenset()
    graph = nested_blocks(10, 10, 10)
    assert len(layout.place_graph(*graph, collapsed=layout.choose_folded(*graph)).boxes) <= 60
    assert layout.choose_folded(*fan(100)) == frozenset()


def loop(steps: int) -> Graph:
    """Make a loop whose body is x = (x * w).tanh(), once written, `steps` times run."""
    place = {"file": "model.py", "line": 9, "endLine": 9}
    layers, pairs, last = [layer("input:x", "Input", kind="input")], [], "input:x"
    for at in range(steps):
        for name, column in (("mul", 13), ("tanh", 13)):
            one = layer(f"{name}@Net#{at}", f"torch.{name}")
            one["called"] = [{**place, "column": column, "endColumn": 20 + len(name)}]
            layers.append(one)
            pairs.append((last, one["id"]))
            last = one["id"]
    return connect([*layers, layer("output", "Output", kind="output")], [*pairs, (last, "output")])


def test_a_long_loop_is_drawn_as_its_body() -> None:
    """Of fifty steps the picture shows one, with a line that leads back; a short loop is drawn step by step."""
    placement = check(loop(50), frozenset())
    assert [box.label for box in placement.boxes.values()] == ["x", "mul ×50", "tanh ×50", "output"]
    assert placement.home["mul@Net#37"] == "mul@Net#0"
    [back] = [route for route in placement.routes.values() if route.upward]
    assert (back.source, back.target, len(back.connections)) == ("tanh@Net#0", "mul@Net#0", 49)
    assert len(check(loop(20), frozenset()).boxes) == 42


class Counting(dict[str, Any]):
    """A mapping that counts how often it is asked."""

    asked = 0

    def get(self, key: Any, default: Any = None) -> Any:
        """The value, counted."""
        self.asked += 1
        return super().get(key, default)


def test_folding_looks_at_each_layer_a_few_times() -> None:
    """The work on rows of equal modules grows as the graph does, not with its square."""
    asked = []
    for size in (10, 20):
        groups = nested_blocks(size, 10, 4)
        graph = nest.read_nest(*groups)
        graph.__dict__["after"] = counting = Counting(graph.after)
        folded = frozenset(one for one in graph.layers if graph.children.get(one) and len(graph.above[one]) == 1)
        assert fold.find_rolls(graph, folded)
        asked.append(counting.asked / len(graph.layers))
    assert max(asked) < 4


@pytest.mark.parametrize(
    ("layers", "pairs", "words"),
    [
        ([layer("a", "Linear"), layer("a", "Linear")], [], "distinct ids"),
        ([layer("a", "Linear", "b")], [], "missing or circular"),
        ([layer("a", "M", "b"), layer("b", "M", "a")], [], "missing or circular"),
        ([layer("m", "M"), layer("a", "Linear", "m")], [("a", "m")], "not at a leaf"),
    ],
)
def test_a_graph_that_is_none_is_refused(
    layers: list[dict[str, Any]], pairs: list[tuple[str, str]], words: str
) -> None:
    """Double ids, lost parents and connections with a module are said in words."""
    with pytest.raises(ValueError, match=words):
        layout.place_graph(*connect(layers, pairs))


def test_unknown_ends_and_folds_are_refused() -> None:
    """A connection to nowhere, a doubled connection id and a collapsed leaf are mistakes."""
    layers, connections = connect([layer("a", "Linear"), layer("b", "Linear")], [("a", "b")])
    with pytest.raises(ValueError, match="no layer 'c'"):
        layout.place_graph(layers, [{**connections[0], "target": "c"}])
    with pytest.raises(ValueError, match="occurs twice"):
        layout.place_graph(layers, connections * 2)
    with pytest.raises(ValueError, match="cannot be collapsed"):
        layout.place_graph(layers, connections, collapsed=frozenset({"a"}))


def test_a_long_shared_line_does_not_make_the_picture_lean() -> None:
    """A chain of 200 layers that all read one mask is as narrow as one of 20."""
    wide = []
    for count in (20, 200):
        names = [f"layer{at}" for at in range(count)]
        layers = [layer("input:x", "Input", kind="input"), layer("input:mask", "Input", kind="input")]
        layers += [layer(name, "Linear") for name in names]
        pairs = chain("input:x", *names) + [("input:mask", name) for name in names]
        wide.append(layout.place_graph(*connect(layers, pairs)).width)
    assert wide[0] == wide[1]


def digest() -> str:
    """Give one digest of every sample's placement, open and folded."""
    whole = hashlib.sha256()
    for graph in SAMPLES.values():
        for collapsed in (frozenset[str](), layout.choose_folded(*graph, budget=12)):
            whole.update(repr(layout.place_graph(*graph, collapsed=collapsed)).encode())
    return whole.hexdigest()


@pytest.mark.slow
def test_placements_do_not_depend_on_hash_order() -> None:
    """Two processes with different hash seeds place every sample alike, to the byte."""
    here = str(Path(__file__).resolve().parents[1])
    code = "from tests import test_layout; print(test_layout.digest())"
    outputs = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([here, *sys.path])}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_coordinates_have_one_decimal() -> None:
    """Numbers are rounded, so that pictures are the same bytes where sums differ in their last bits."""
    placement = layout.place_graph(*transformer(2))
    numbers = [n for route in placement.routes.values() for point in route.points for n in point]
    numbers += [n for box in placement.boxes.values() for n in (box.x, box.y, box.w, box.h)]
    assert all(n == round(n, 1) for n in numbers)


def test_a_thousand_layers_take_less_than_a_second() -> None:
    """A thousand visible layers are placed in CPU time below a second, also with a line that all of them read."""
    layers, connections = nested_blocks(10, 10, 10)
    mask = [{**one, "id": f"mask-{one['id']}", "source": "input:x"} for one in connections[1:-1]]
    begin = time.process_time()
    placement = layout.place_graph(layers, [*connections, *mask])
    assert time.process_time() - begin < 1.0
    assert len(placement.boxes) == 1002


def test_isotonic_regression_meets_its_optimality_conditions() -> None:
    """Blocks of the answer are weighted means of their wishes and rise from left to right (the known optimum)."""
    wishes, weights = [3.0, 1.0, 2.0, 5.0, 4.0], [1.0, 1.0, 2.0, 1.0, 3.0]
    assert columns.fit_isotonic(wishes, weights) == pytest.approx([2.0, 2.0, 2.0, 4.25, 4.25])
    assert columns.fit_isotonic([1.0, 2.0], [1.0, 1.0]) == [1.0, 2.0]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_crossings_are_counted_as_by_hand(pairs: list[tuple[int, int]]) -> None:
    """The fast count equals the definition: every pair of segments whose ends are in opposite order."""
    down: list[list[int]] = [[] for _ in range(16)]
    for high, low in pairs:
        down[high].append(8 + low)
    expected = sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for at, a in enumerate(pairs) for b in pairs[at + 1 :])
    assert order.count_crossings([range(8), range(8, 16)], down) == expected


def test_two_rows_that_can_be_untangled_are() -> None:
    """A permutation between two rows loses every crossing."""
    rows = order.untangle([[0, 1, 2, 3], [4, 5, 6, 7]], [(0, 7), (1, 5), (2, 6), (3, 4)], fixed_top=True,
                          fixed_bottom=False)  # fmt: skip
    assert rows == [[0, 1, 2, 3], [7, 5, 6, 4]]


def test_ranks_are_longest_paths_and_open_cycles() -> None:
    """A diamond with a long side puts its end below both; a cycle loses the edge that closes it."""
    free = [False] * 4
    assert rank.assign_rows(4, [(0, 1), (1, 2), (2, 3), (0, 3)], top=free, bottom=free, held=free) == [0, 1, 2, 3]
    assert rank.assign_rows(3, [(0, 1), (1, 2), (2, 0)], top=free, bottom=free, held=free) == [0, 1, 2]


def test_text_is_measured_and_cut() -> None:
    """A cut text fits its limit, ends in an ellipsis and is a beginning of the original."""
    long = "a_layer_with_a_very_long_name" * 5
    cut = text.fit_width(long, 13, 150)
    assert text.measure_width(cut, 13) <= 150
    assert cut.endswith("…")
    assert long.startswith(cut[:-1])
    assert text.fit_width("short", 13, 150) == "short"
    assert text.measure_width("漢字", 10) == 20


def test_nothing_invisible_is_shown() -> None:
    """Control characters become their pictures; direction overrides and other invisible ones become a substitute."""
    assert text.make_visible("a\nb\x00\x7f") == "a␊b␀␡"
    assert text.make_visible("\u202edrow\u2069\ufeff\ud800\uffff") == "␦drow␦␦␦␦"
    assert text.make_visible("größe × 漢字") == "größe × 漢字"
