"""YAML as plain values with the line of every key, and the refusal of everything that is more than that."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonpress.core import source_map, yaml_reader
from lessonpress.core.errors import LessonError

TEXT = """\
# a comment
schema: 1
cases:
  - id: zero
    inputs:
      state:
        fill: 0
  - {id: one, inputs: {state: {fill: 1}}}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("schema",), 2),
        (("cases",), 3),
        (("cases", 0), 4),
        (("cases", 0, "id"), 4),
        (("cases", 0, "inputs"), 5),
        (("cases", 0, "inputs", "state", "fill"), 7),
        (("cases", 1, "inputs", "state", "fill"), 8),
        ((), 1),
    ],
)
def test_every_key_knows_its_line(path: source_map.Path, line: int) -> None:
    """A value's place is the line on which its key stands, counted from 1 as editors count."""
    assert yaml_reader.read(TEXT, "x.yaml").line(path) == line


def test_a_missing_key_points_at_its_parent() -> None:
    """What does not stand in the file is reported at the nearest line that does."""
    placed = yaml_reader.read(TEXT, "x.yaml")
    assert placed.line(("cases", 0, "inputs", "mood", "fill")) == 5
    assert placed.line(("nothing",)) == 1


def test_a_path_is_spelled_as_people_write_it() -> None:
    """Keys are joined with dots, positions stand in brackets."""
    assert source_map.format_path(("experiment", "cases", 2, "inputs", "state")) == "experiment.cases[2].inputs.state"
    assert source_map.format_path(()) == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1.5", 1.5),
        ("-3", -3),
        ("true", True),
        ("yes", "yes"),
        ("no", "no"),
        ("~", None),
        ("0o17", 15),
        ("0x1F", 31),
        ("12:30", "12:30"),
        ("2014-09-01", "2014-09-01"),
        ("'1'", "1"),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("[1, [2.0]]", [1, [2.0]]),
        ("{a: {}}", {"a": {}}),
        ("!!str 5", "5"),
        ("", None),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    """`1e-3` is a number, `yes` is a word, a date stays text."""
    value_read = yaml_reader.read(text, "x.yaml").value
    assert value_read == value
    assert type(value_read) is type(value)


def test_nan_is_a_number() -> None:
    """`.nan` is how a recipe writes what is no number."""
    assert math.isnan(yaml_reader.read(".nan", "x").value)


@given(st.lists(st.integers() | st.floats(allow_nan=False, allow_infinity=False), max_size=8))
def test_numbers_are_read_to_the_last_bit(numbers: list[float]) -> None:
    """Python's own shortest spelling of a number reads back as the same number."""
    assert yaml_reader.read(repr(numbers), "x").value == numbers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", "x.yaml:3: this is no YAML"),
        ("a: 1\n\tb: 2\n", "x.yaml:2: this is no YAML"),
        ("a: 'open\n", "this is no YAML"),
        ("a: 1\nb: 2\na: 3\n", "x.yaml:3: a: this key stands here twice; each key once. Delete one."),
        ("a: {b: 1, b: 2}\n", "x.yaml:1: a.b: this key stands here twice"),
        ("a:\n  - !shout loud\n", "x.yaml:2: a[0]: the tag !shout on 'loud'; plain YAML values only. Remove the tag."),
        ("a: !!python/object:os.system {}\n", "x.yaml:1: a: the tag !"),
        ("a: !!set {b, c}\n", "x.yaml:1: a: the tag !set"),
        ("a: !own [1]\n", "x.yaml:1: a: the tag !own"),
        ("a: !!binary aGk=\n", "x.yaml:1: a: the tag !binary"),
        ("a: !!int five\n", "x.yaml:1: a: 'five' is no int"),
        ("? [a, b]\n: 1\n", "x.yaml:1: a key that is no text; keys are plain words"),
        ("a: *nobody\n", "x.yaml:1: this is no YAML"),
        ("a: 1\n---\nb: 2\n", "this is no YAML"),
        ("a: \x07\n", "this is no YAML"),
        (f"a: {'9' * 5000}\n", "x.yaml:1: a: '999"),
    ],
)
def test_what_is_no_plain_yaml_is_refused(text: str, message: str) -> None:
    """Broken syntax, doubled keys, tags and odd keys are one message with file and line."""
    with pytest.raises(LessonError) as caught:
        yaml_reader.read(text, "x.yaml")
    assert caught.value.message().startswith(message) or message in caught.value.message()
    assert caught.value.message().startswith("x.yaml:")
    assert "\n" not in caught.value.message()


@pytest.mark.parametrize("depth", [70, 100_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    """However deep the brackets go, the answer is a message and not a crash."""
    with pytest.raises(LessonError, match="deep"):
        yaml_reader.read("a: " + "[" * depth + "]" * depth, "x.yaml")


def test_an_alias_bomb_is_refused() -> None:
    """Nine lines that stand for a billion values are counted as often as they are used."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(LessonError, match="too many"):
        yaml_reader.read("\n".join(lines), "x.yaml")


def test_an_alias_that_holds_itself_is_refused() -> None:
    """A list inside itself has no end."""
    with pytest.raises(LessonError, match="deep"):
        yaml_reader.read("a: &a [*a]", "x.yaml")


def test_a_small_alias_is_a_value_like_any_other() -> None:
    """Anchors save typing; both places have the value."""
    assert yaml_reader.read("a: &x {fill: 0}\nb: *x\n", "x").value == {"a": {"fill": 0}, "b": {"fill": 0}}


def test_a_huge_file_is_refused_before_it_is_read() -> None:
    """The size is the first thing that is looked at."""
    with pytest.raises(LessonError, match="characters"):
        yaml_reader.read("#" * (yaml_reader.MAX_BYTES + 1), "x.yaml")


@given(st.text(max_size=60))
def test_any_text_is_values_or_one_message(text: str) -> None:
    """No text whatever makes the reader raise anything but its own error."""
    message = "x.yaml: good"
    try:
        yaml_reader.read(text, "x.yaml")
    except LessonError as error:
        message = error.message()
    assert message.startswith("x.yaml")
