"""The worker's answer is read as hostile data: it is what the plan asked for, whole and consistent, or refused."""

import base64
import copy
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonpress.core import canonical_json
from lessonpress.graph import drawing, graph, layout
from lessonpress.sandbox import capture
from lessonpress.worker import recorded
from tests import tiers, tiny

PLAN = tiny.plan()
FILES = {"model.py": b"\n".join([b"x" * 24] * 9)}


def answer() -> dict[str, Any]:
    """The `ok` part of a good answer."""
    whole = tiny.capture()
    return {key: whole[key] for key in ("runs", "modules", "blobs")}


ANSWER = answer()


def read_whole(answer: dict[str, Any]) -> None:
    """What every later module does first: every array of every run, and canonical bytes."""
    assert canonical_json.compact(answer).encode()
    for run in recorded.Runs(answer).values():
        for value in run.run["values"]:
            array = recorded.decode_array(value, answer["blobs"])
            assert array.shape == tuple(value["shape"])
            assert array.nbytes == len(base64.b64decode(answer["blobs"][value["blob"]]))
        for call in run.run["calls"]:
            assert call["inside"] is None or call["inside"] < len(run.run["calls"])
    drawn = graph.build_graph(answer)
    assert {c["source"] for c in drawn["connections"]} <= {layer["id"] for layer in drawn["layers"]}
    for path, module in answer["modules"].items():
        steps = 0
        while module["parent"] is not None:
            module, steps = answer["modules"][module["parent"]], steps + 1
            assert steps <= len(path) + 1


def test_a_good_answer_is_accepted_as_it_is() -> None:
    """Validation changes nothing."""
    assert capture.validate(copy.deepcopy(ANSWER), PLAN, FILES) == ANSWER
    read_whole(ANSWER)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every part of a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


PLACES = list(places(ANSWER))
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([10**30, -1, 2**63, 0.5, "", "x", "0", [], {}, [[]]]),
    st.sampled_from(
        [
            {"tensor": 0},
            {"tensor": 99},
            {"tensor": 0, "from": [[9, ""]]},
            {"tuple": {}},
            {"float": []},
            {"dict": [[1]]},
            {"opaque": {}},
            {"slice": [1]},
            {"complex": "x"},
            {"a": 1},
            [[0, ""]],
            {"file": "m", "line": 1, "endLine": 1, "column": -1, "endColumn": True},
        ]
    ),
    st.sampled_from(sorted(ANSWER["blobs"])),
    st.text(max_size=4),
)


def mutated(value: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """A copy of a document with one part changed in its container."""
    out = copy.deepcopy(value)
    holder = out
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return out


def replaced(junk: Any) -> Callable[[Any, Any], None]:
    """Put something else in the place."""
    return lambda holder, key: holder.__setitem__(key, junk)


def removed(holder: Any, key: Any) -> None:
    """Take the part away."""
    del holder[key]


def doubled(holder: Any, key: Any) -> None:
    """Let the part stand twice (in a list), or under another name."""
    holder.insert(key, holder[key]) if isinstance(holder, list) else holder.__setitem__(f"{key}'", holder[key])


CHANGES = st.one_of(JUNK.map(replaced), st.just(removed), st.just(doubled))


@settings(max_examples=tiers.amount(300, 1500))
@given(st.sampled_from(PLACES[1:]), CHANGES)
def test_a_changed_answer_is_refused_or_consistent(path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> None:
    """Whatever part is replaced, removed or doubled: Malformed, or everything in it can still be read."""
    forged = mutated(ANSWER, path, change)
    try:
        answer = capture.validate(forged, PLAN, FILES)
    except capture.Malformed:
        return
    read_whole(answer)


@settings(max_examples=tiers.amount(100, 500))
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["runs", "modules", "blobs", "execution", "x"]), inner, max_size=3)
        ),
    )
)
def test_no_document_at_all_raises_anything_else(document: Any) -> None:
    """Documents that were never an answer are Malformed too."""
    with pytest.raises(capture.Malformed):
        capture.validate(document, PLAN, FILES)


def value(forged: dict[str, Any]) -> dict[str, Any]:
    """The first value of the execution."""
    return forged["runs"]["execution"]["values"][0]


def place(forged: dict[str, Any]) -> dict[str, Any]:
    """The place of the execution's second call."""
    return forged["runs"]["execution"]["calls"][1]["at"]


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "an operation of no layer": lambda a: a["runs"]["execution"]["calls"][1].update(layer=""),
    "a shape that is larger than the bytes": lambda a: value(a).update(shape=[2, 4]),
    "a shape that is smaller than the bytes": lambda a: value(a).update(shape=[2, 2]),
    "a negative size": lambda a: value(a).update(shape=[-2, -3]),
    "a size that is true": lambda a: value(a).update(shape=[True, 6]),
    "a dtype of another width": lambda a: value(a).update(dtype="float32"),
    "a dtype that nobody knows": lambda a: value(a).update(dtype="float128"),
    "a dtype of objects": lambda a: value(a).update(dtype="object"),
    "more axes than an array has": lambda a: value(a).update(shape=[1] * 70 + [2, 3]),
    "an empty array of endless axes": lambda a: (
        a["blobs"].update({hashlib.sha256(b"").hexdigest(): ""}),
        value(a).update(shape=[0, 2**62, 2**62], blob=hashlib.sha256(b"").hexdigest()),
    ),
    "bytes under another name": lambda a: a["blobs"].update({value(a)["blob"]: base64.b64encode(b"x" * 48).decode()}),
    "bytes that are no base64": lambda a: a["blobs"].update({value(a)["blob"]: "§"}),
    "a blob that is a list": lambda a: value(a).update(blob=[]),
    "a run that nobody planned": lambda a: a["runs"].update(extra=a["runs"]["one"]),
    "a run left out": lambda a: a["runs"].pop("two"),
    "runs in another order": lambda a: a.update(runs=dict(reversed(a["runs"].items()))),
    "another seed": lambda a: a["runs"]["one"].update(seed=2),
    "a seed that is true": lambda a: a["runs"]["one"].update(seed=True),
    "a probe that says it is a case": lambda a: a["runs"]["off"].update(kind="case"),
    "another name of an input": lambda a: a["runs"]["one"]["inputs"][0].__setitem__(0, "patch"),
    "an input left out": lambda a: a["runs"]["one"].update(inputs=[]),
    "no calls": lambda a: a["runs"]["one"].update(calls=[]),
    "a call inside itself": lambda a: a["runs"]["one"]["calls"][1].update(inside=1),
    "a call that reads what comes later": lambda a: a["runs"]["one"]["calls"][1].update(
        args=[{"tensor": 0, "from": [[3, ""]]}]
    ),
    "an input that reads a call": lambda a: a["runs"]["one"]["inputs"][0].__setitem__(
        1, {"tensor": 0, "from": [[1, ""]]}
    ),
    "a source that is no input": lambda a: a["runs"]["one"]["calls"][1].update(
        args=[{"tensor": 0, "from": [["input", "batches"]]}]
    ),
    "a value that is not there": lambda a: a["runs"]["one"]["calls"][1].update(out={"tensor": 6}),
    "a parameter without a value": lambda a: a["runs"]["one"]["params"].update(w=6),
    "a module above itself": lambda a: a["modules"]["part"].update(parent="part"),
    "a circle of modules": lambda a: a["modules"]["part"].update(parent="part.line"),
    "a module without a parent": lambda a: a["modules"]["part"].update(parent=None),
    "code as a structure": lambda a: a["runs"]["one"].update(output={"__reduce__": ["os.system", "x"]}),
    "one key too many": lambda a: a.update(provenance={}),
    "a line that would keep a reader's browser busy for hours": lambda a: place(a).update(endLine=2_000_000_000),
    "a line beyond the file": lambda a: place(a).update(line=10, endLine=10),
    "a line before the first": lambda a: place(a).update(line=0),
    "an end before the beginning": lambda a: place(a).update(line=5, endLine=4),
    "a column beyond its line": lambda a: place(a).update(endColumn=26),
    "a column before the first": lambda a: place(a).update(column=0),
    "a file of somebody else": lambda a: place(a).update(file="../../../etc/passwd"),
    "a file that the run did not have": lambda a: place(a).update(file="checks.py"),
    "a module in a file of somebody else": lambda a: a["modules"]["part"].update(source={**place(a), "file": "x.py"}),
    "an output without its source": lambda a: a["runs"]["one"].update(output={"tensor": 4}),
    "an argument without its source": lambda a: a["runs"]["one"]["calls"][1].update(args=[{"tensor": 0}]),
    "a source that made no tensor": lambda a: a["runs"]["one"]["calls"][3].update(out=None),
    "a source that is no parameter of the run": lambda a: a["runs"]["one"]["calls"][1].update(
        args=[{"tensor": 0, "from": [["param", "weight"]]}]
    ),
    "a name that fills a page": lambda a: a["runs"]["one"]["calls"][1].update(layer="a." * 501),
    "a text that fills a book": lambda a: a["runs"]["one"]["calls"][1].update(args=["x" * 100_001]),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_answer_is_refused(forgery: str) -> None:
    """What a lesson could write in the worker's place is noticed before anything reads it."""
    forged = copy.deepcopy(ANSWER)
    FORGERIES[forgery](forged)
    with pytest.raises(capture.Malformed):
        capture.validate(forged, PLAN, FILES)


def many_modules(forged: dict[str, Any], number: int) -> None:
    """More modules than anybody has."""
    forged["modules"].update({f"m{i}": forged["modules"]["part"] for i in range(number)})


def many_calls(forged: dict[str, Any], number: int) -> None:
    """More layers than anybody has, each fed by the one before it."""
    calls = forged["runs"]["execution"]["calls"]
    calls += [{**calls[1], "layer": f"m{i}", "args": [{"tensor": 2, "from": [[len(calls) + i - 1, ""]]}]}
              for i in range(number)]  # fmt: skip


def many_sources(forged: dict[str, Any], number: int) -> None:
    """Every layer fed by all before it."""
    many_calls(forged, 2 * int(number**0.5))
    for at, call in enumerate(forged["runs"]["execution"]["calls"][4:], 4):
        call["args"] = [{"tensor": 2, "from": [[source, ""] for source in range(2, at)]}]


@pytest.mark.parametrize(("forge", "number"), [(many_modules, 100_000), (many_calls, 30_000), (many_sources, 60_000)])
def test_an_answer_beyond_all_measure_is_refused_at_once(forge: Callable[..., None], number: int) -> None:
    """A hundred thousand forged modules took 55 seconds of the parent's time."""
    forged = copy.deepcopy(ANSWER)
    forge(forged, number)
    start = time.process_time()
    with pytest.raises(capture.Malformed, match="more"):
        capture.validate(forged, PLAN, FILES)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("forge", [many_modules, many_calls, many_sources])
def test_a_large_answer_is_drawn_in_bounded_time(forge: Callable[..., None]) -> None:
    """What is allowed costs seconds, not hours."""
    forged = copy.deepcopy(ANSWER)
    forge(forged, 2_000)
    start = time.process_time()
    drawn = graph.build_graph(capture.validate(forged, PLAN, FILES))
    placed = layout.place_graph(drawn["layers"], drawn["connections"])
    drawing.draw_svg(drawn["layers"], drawn["connections"], placed, title="large")
    assert time.process_time() - start < 10


def test_a_line_of_a_million_parts_is_not_read() -> None:
    """Sixty megabytes of empty lists would be gigabytes of memory."""
    with pytest.raises(capture.Malformed, match="parts"):
        capture.loads(b"[" + b"[]," * capture.PARTS + b"[]]")


def test_deep_structures_are_refused() -> None:
    """A structure that nests a thousandfold would exhaust every recursive reader."""
    deep: Any = 1
    for _ in range(200):
        deep = {"list": [deep]}
    forged = copy.deepcopy(ANSWER)
    forged["runs"]["one"]["output"] = deep
    with pytest.raises(capture.Malformed, match="deep"):
        capture.validate(forged, PLAN, FILES)
    params: dict[str, Any] = {}
    for _ in range(200):
        params = {"a": params}
    forged = copy.deepcopy(ANSWER)
    forged["modules"]["part"]["params"] = params
    with pytest.raises(capture.Malformed, match="deep"):
        capture.validate(forged, PLAN, FILES)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"{} {}",
        b"nope",
        b"NaN",
        b"[Infinity]",
        b"[-Infinity]",
        b"[1e999]",
        b"[-1e999]",
        b'{"a":1,"a":2}',
        b"\xff",
        b'"\\ud800"',
        b'["\\uDC00 alone"]',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" + b"9" * 5000 + b"]",
    ],
)
def test_only_strict_json_is_read(line: bytes) -> None:
    """Doubled keys, numbers that are not finite, half characters, endless brackets: Malformed, never a crash."""
    with pytest.raises(capture.Malformed, match="no strict JSON"):
        capture.loads(line)


@given(st.binary(max_size=40))
def test_any_bytes_are_json_or_malformed(line: bytes) -> None:
    """No bytes whatever make the reader raise anything else; what it reads can be written again."""
    try:
        answer = capture.loads(line)
    except capture.Malformed:
        return
    assert canonical_json.compact(answer).encode()


def test_good_json_is_read() -> None:
    """Both halves of a character are one, and floats keep their last bit."""
    assert capture.loads(b'["\\ud83d\\ude00", 0.1, -0.0]') == ["😀", 0.1, 0.0]
    assert capture.loads(json.dumps(ANSWER).encode()) == ANSWER


def test_every_width_is_numpys() -> None:
    """The table of widths agrees with numpy for every dtype that numpy has."""
    for name, width in capture.BYTES.items():
        assert width == (2 if name == "bfloat16" else np.dtype(name).itemsize)
