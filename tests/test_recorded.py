"""Addresses: what a curator writes to name an array, and what comes of it."""

import base64
import contextlib
import struct
from difflib import SequenceMatcher
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lessonpress.worker import recorded
from tests import tiny

X = np.arange(6.0).reshape(2, 3)


def runs() -> recorded.Runs:
    """The hand-made runs."""
    return recorded.Runs(tiny.capture())


@pytest.mark.parametrize(
    ("text", "base", "picks", "call"),
    [
        ("encoder", "encoder", (), None),
        ("encoder[0]", "encoder", (0,), None),
        ('encoder[-1][state]["a b"]', "encoder", (-1, "state", "a b"), None),
        ("alignment.softmax", "alignment.softmax", (), None),
        ("input:batch.boxes.0", "input:batch.boxes.0", (), None),
        ("cell#2", "cell", (), 2),
        ("cell[1]#*", "cell", (1,), "*"),
        ("cat@Model#0", "cat@Model#0", (), None),
        ("split@a.b#12[1]", "split@a.b#12", (1,), None),
        ("add@block#0#3", "add@block#0", (), 3),
        ('"odd.part".inner', "odd.part.inner", (), None),
        ('heads."a#1"[0]', "heads.a#1", (0,), None),
        ('add@"my block"#0', "add@my block#0", (), None),
        ('"a\\"b"', 'a"b', (), None),
        ("output", "output", (), None),
    ],
)
def test_an_address_is_read(text: str, base: str, picks: tuple[str | int, ...], call: object) -> None:
    """What it names, the picks inside that, and which call."""
    assert recorded.parse(text) == recorded.Address(base, picks, call)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[0]",
        "#1",
        "a[0",
        "a]0[",
        "a#x",
        "a#1#2",
        "a[0]b",
        '"open',
        '"\\q"',
        "a[" + "9" * 5000 + "]",
        "a#" + "9" * 5000,
        '"\n"',
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """Broken brackets, quotes and numbers are reported as such."""
    with pytest.raises(recorded.NoSuchAddress):
        recorded.parse(text)


@given(st.text(max_size=25) | st.text(alphabet='ab.#*@[]"\\0 ', max_size=15))
def test_any_text_is_an_address_or_none(text: str) -> None:
    """No text whatever makes the reader of addresses, or of a run, raise anything but its own error."""
    with contextlib.suppress(recorded.NoSuchAddress):
        recorded.parse(text)
        runs()["one"][text]


PART = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="."), min_size=1, max_size=6)
ODD = st.text(alphabet='a#@[]" \\\n0é', min_size=1, max_size=6)


@given(st.lists(PART | ODD, min_size=1, max_size=3))
def test_any_module_path_can_be_addressed(parts: list[str]) -> None:
    """torch allows every character but a dot in a module's name; quoted, each path reads back as itself."""
    path = ".".join(parts)
    assert recorded.parse(recorded.quote(path)) == recorded.Address(path, (), None)
    pick = recorded.parse(recorded.quote(path) + "[0]#*")
    assert (pick.base, pick.picks, pick.call) == (path, (0,), "*")


@given(st.sampled_from(["add", "cat_", "fft_rfft"]), st.lists(PART | ODD, min_size=1, max_size=3), st.integers(0, 99))
def test_any_operation_can_be_addressed(op: str, scope: list[str], number: int) -> None:
    """The same holds for operations in oddly named scopes."""
    name = f"{op}@{'.'.join(scope)}#{number}"
    assert recorded.parse(recorded.quote(name) + "[1]") == recorded.Address(name, (1,), None)


@pytest.mark.parametrize("plain", ["a", "a.b", "a-b", "encoder.layers.0", "add@a.b#0"])
def test_plain_paths_need_no_quotes(plain: str) -> None:
    """Quotes are for the odd ones only."""
    assert recorded.quote(plain) == plain


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("input:batch.x", X),
        ("part.line#0", X * 2),
        ("part.line#1", X * 4),
        ("part.line#*", np.stack([X * 2, X * 4])),
        ("same.line#1", X * 4),
        ("add@Pair#0[0]", X * 4 + 1),
        ("add@Pair#0[1][0]", [7, 8]),
        ("add@Pair#0[1][-1]", 3),
        ("add@Pair#0[-2]", X * 4 + 1),
        ("output[sum]", X * 4 + 1),
        ("output[count]", [7, 8]),
        ('output["sum"]', X * 4 + 1),
        ("param:part.line.weight", np.eye(3) * 2),
    ],
)
def test_an_address_finds_its_array(address: str, expected: Any) -> None:
    """Inputs, calls, aliases, picks, parameters and outputs, with the numbers that numpy gives."""
    array = runs()["one"][address]
    assert np.array_equal(array, expected)
    assert address in runs()["one"]


@pytest.mark.parametrize(
    ("address", "why", "nearest"),
    [
        ("part.lime", "matches nothing that ran", "part.line#0"),
        ("line#0", "matches nothing that ran", "part.line#0"),
        ("add@Pair#1", "matches nothing that ran", "add@Pair#0[0]"),
        ("input:batch.y", "matches nothing that ran", "input:batch.x"),
        ("param:part.line.wieght", "matches nothing that ran", "param:part.line.weight"),
        ("part.line", "was called 2 times; say which: #0 to #1, or #* for all", None),
        ("part.line#2", "was called 2 times, counted from #0", None),
        ("output", "holds no single array", "output[sum]"),
        ("output[total]", "has nothing at [total]", None),
        ("add@Pair#0[7]", "has nothing at [7]", None),
        ("input:batch", "holds no single array", None),
    ],
)
def test_what_matches_nothing_is_reported_with_the_nearest(address: str, why: str, nearest: str | None) -> None:
    """The message says why, and what there is that looks most like it."""
    with pytest.raises(recorded.NoSuchAddress) as caught:
        runs()["one"][address]
    assert caught.value.why == why
    if nearest is not None:
        assert nearest in caught.value.nearest
        assert nearest in str(caught.value)
        assert ("it holds: " if why == "holds no single array" else "near it: ") in str(caught.value)
    assert address not in runs()["one"]


@pytest.mark.parametrize("address", ["part.", "", "e", "zzz.qqq", "part.line.", "x#0"])
def test_what_is_not_near_is_not_called_near(address: str) -> None:
    """An address that ends in nothing, or in a letter that others end in, is like none of them."""
    with pytest.raises(recorded.NoSuchAddress) as caught:
        runs()["one"][address]
    for name in caught.value.nearest:
        assert name.endswith(".x") or SequenceMatcher(None, address, name).ratio() >= 0.5


def test_every_listed_address_works() -> None:
    """A run lists exactly what can be asked of it."""
    run = runs()["two"]
    assert len(run) == len(list(run)) > 6
    for address in run:
        assert isinstance(run[address], np.ndarray)


def test_calls_of_different_shapes_are_not_stacked() -> None:
    """`#*` needs one shape; the message says which there are."""
    captured = tiny.capture()
    captured["runs"]["one"]["calls"][2]["out"] = {"tensor": 5}
    with pytest.raises(recorded.NoSuchAddress, match="cannot be stacked"):
        recorded.Runs(captured)["one"]["part.line#*"]


def test_a_run_that_is_none_is_reported() -> None:
    """A misspelt case in a check names the runs there are."""
    with pytest.raises(recorded.NoSuchAddress, match="'ones' is no run; runs: execution, one, two, off"):
        runs()["ones"]


def test_recorded_arrays_cannot_be_written_to() -> None:
    """A check cannot change what the next check sees."""
    with pytest.raises(ValueError, match="read-only"):
        runs()["one"]["input:batch.x"][0, 0] = 5


def test_parameters_are_seen_in_the_runs_precision() -> None:
    """They are stored as drawn (float32) and were used in float64: a check sees what was used."""
    assert runs()["one"]["param:part.line.weight"].dtype == np.float64


@given(st.floats(width=32))
def test_bfloat16_widens_exactly(number: float) -> None:
    """A bfloat16 is the upper half of a float32."""
    upper = struct.pack("<f", number)[2:]
    blob = {"b": base64.b64encode(upper).decode()}
    array = recorded.decode_array({"dtype": "bfloat16", "shape": [1], "blob": "b"}, blob)
    assert array.astype("<f4").tobytes()[2:] == upper


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("[0]", X[0]),
        ("0", X[0]),
        ("[:, 1]", X[:, 1]),
        ("[-1, ::2]", X[-1, ::2]),
        ("[...]", X),
        ("[None, 0]", X[None, 0]),
        ("[0, 0]", X[0, 0]),
        ("[::-1]", X[::-1]),
        ("[0:1]", X[0:1]),
        ("[(0)]", X[0]),
        ("[0,]", X[0]),
    ],
)
def test_select_is_basic_indexing(spec: str, expected: Any) -> None:
    """What numpy calls basic indexing, and the same answer."""
    assert np.array_equal(recorded.select(X, spec, None), expected)


@pytest.mark.parametrize(
    "spec",
    [
        "[x]",
        "[[0, 1]]",
        "[True]",
        "[0.5]",
        "['a']",
        "[0][1]",
        "[0] or x",
        "[__import__('os')]",
        "[0:1.5]",
        "[0:'1']",
        "[True:2]",
        "[open('x')]",
        "[lambda: 0]",
        "[",
        "]",
        "[]",
        "",
        " ",
        "[0)]",
        "[x := 1]",
        "[*x]",
        "[1 + 1]",
        "[\x00]",
        "[" + "(" * 300 + "0" + ")" * 300 + "]",
        "[" + "-" * 100_000 + "1]",
    ],
)
def test_select_refuses_all_else(spec: str) -> None:
    """No names, no calls, no lists, no chains: a recipe is data."""
    if not spec:
        assert recorded.select(X, spec, None) is X
        return
    with pytest.raises(ValueError, match="is no basic indexing"):
        recorded.select(X, spec, None)


@pytest.mark.parametrize(
    ("spec", "shape"), [("[2]", None), ("[0, 0, 0]", None), (None, [4]), ("[0]", [2, 2]), ("[::0]", None)]
)
def test_cuts_that_do_not_fit_are_refused(spec: str | None, shape: list[int] | None) -> None:
    """An index outside the array and a shape of another size are mistakes of the recipe."""
    with pytest.raises((ValueError, IndexError)):
        recorded.select(X, spec, shape)


@given(arrays.arrays(np.float64, arrays.array_shapes(max_dims=4, max_side=3), elements=st.floats(-9, 9)))
def test_reshape_keeps_the_order(array: Any) -> None:
    """Numbers stand in row-major order before and after."""
    assert recorded.select(array, None, [-1]).tolist() == array.ravel().tolist()
