"""Lesson files that nobody wrote: bytes, words, lines and values of good ones changed by chance, with a fixed seed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

from lessonpress.core import yaml_reader

WORDS = re.compile(rb"[\w.]+|[^\w\s]|\s+")
ODD = ("\x00", "\x1b[31m", "\u202e", "\u2066", "\u2028", "\ufeff", "\ufffe", "\U0001f9ea", "\u0301", "\x85", "é", "\t")
TOKENS = (
    "&a", "*a", "!!python/object:os.system", "!!binary", "!!set", "? ", "<<: *a", "---", "...", "%YAML 9.9", "{", "[",
    "}", "]", "|", ">", "'", '"', "\\", "#", "null", "~", "yes", ".nan", "-.inf", "1e999", "0x", "0b2", "0o9", "1_0",
    "9" * 30, "9" * 5000, "1e-400", "2001-01-01", "10:20:30", '"\\ud800"', '"\\x00"', '"\\U0010ffff"', "- - -", ": :",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 2**63, -(2**63), 10**40, 10**4500, 1e308, float("nan"), float("inf"), "", " ", "x",
    "../x", "/etc/passwd", "a/../../x.py", "..py", "a\x00b.py", "\ud800", "\u202egnp", "\x07", "{{ 7*7 }}", "</script>",
    "$\\frac{$", "x" * 5000, [], {}, [[]], [[1], 2], [1, [2, [3]]], {"": ""}, {"a": {"b": {}}}, {"float": "NaN"},
    {"float": []}, {"fill": "eye", "shape": [0]}, {"fill": "ones", "shape": [2**62, 2**62]}, {"values": {"float": 1}},
    {"literal": {"float": "x"}}, {"tuple": [{"list": []}, {"dict": {}}]}, {"dict": {"a": {"fill": 0, "shape": []}}},
    {"values": []}, {"values": [[[]]]}, {"values": ["1+2j"], "dtype": "complex64"}, {"\0number": "nan"}, [None] * 50,
    "output#*", "output[", '"', "input:", "param:\x00", "[::0]", "[" * 200, "([" * 50, "metric_", "con", "model.py/",
)  # fmt: skip


def mutated(text: bytes, chance: random.Random) -> bytes:
    """A recipe with one to three changes of one kind."""
    change = chance.choice((_bytes, _words, _lines, _tokens, _structure, _structure, _structure))
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        text = change(text, chance)
    return text


def script(text: bytes, chance: random.Random) -> bytes:
    """A Python file with one to three changes, of bytes, words or lines."""
    for _ in range(chance.randint(1, 3)):
        text = chance.choice((_bytes, _words, _lines))(text, chance)
    return text


def _bytes(text: bytes, chance: random.Random) -> bytes:
    """Some bytes flipped, dropped or doubled, or an odd character put between them."""
    at, length = chance.randrange(len(text) + 1), chance.choice((1, 1, 2, 20))
    change: Callable[[bytes], bytes] = chance.choice((
        lambda part: bytes(byte ^ 1 << chance.randrange(8) for byte in part),
        lambda part: b"",
        lambda part: part * chance.choice((2, 3, 200)),
        lambda part: part + chance.choice(ODD).encode("utf-8", "surrogatepass"),
    ))  # fmt: skip
    return text[:at] + change(text[at : at + length]) + text[at + length :]


def _words(text: bytes, chance: random.Random) -> bytes:
    """Two words of the file exchanged."""
    words = WORDS.findall(text)
    if len(words) > 1:
        one, other = chance.randrange(len(words)), chance.randrange(len(words))
        words[one], words[other] = words[other], words[one]
    return b"".join(words)


def _lines(text: bytes, chance: random.Random) -> bytes:
    """A line dropped, doubled, moved, or put further in or out."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    at = chance.randrange(len(lines))
    line = lines.pop(at)
    instead = chance.choice(([], [line, line], [b"  " + line], [line[2:]]))
    lines[at:at] = instead
    if chance.random() < 0.3:
        lines.insert(chance.randrange(len(lines) + 1), line)
    return b"".join(lines)


def _tokens(text: bytes, chance: random.Random) -> bytes:
    """A word of the file replaced by something that means something to YAML."""
    words = WORDS.findall(text) or [b""]
    words[chance.randrange(len(words))] = chance.choice(TOKENS).encode()
    return b"".join(words)


def _structure(text: bytes, chance: random.Random) -> bytes:
    """A value, key or branch of the document replaced, dropped, doubled, wrapped or moved elsewhere."""
    try:
        tree = yaml_reader.read(text.decode(), "lesson.yaml").value
    except (UnicodeDecodeError, yaml_reader.LessonError):
        return text
    places = list(_places(tree))
    if not places:
        return text
    holder, key = chance.choice(places)
    act = chance.randrange(6)
    if act == 0:
        del holder[key]
    elif act == 1:
        other, name = chance.choice(places)
        if _size(other[name]) * _size(tree) < 4e5:
            holder[key] = json.loads(json.dumps(other[name]))  # a copy, so that no value holds itself
    elif act == 2:
        holder[key] = chance.choice(([holder[key]], {"x": holder[key]}, [holder[key]] * 2, str(holder[key])))
    elif act == 3 and isinstance(holder, dict):
        holder[chance.choice((*map(str, VALUES[13:28]), "shape", "fill", "values"))] = holder.pop(key)
    elif act == 4:
        for _ in range(chance.choice((3, 30, 70))):
            holder[key] = [holder[key]]
    else:
        holder[key] = chance.choice(VALUES)
    return written(tree).encode("utf-8", "surrogatepass")


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document as its holder and key."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(items):
        yield tree, key
        yield from _places(value)


def _size(value: Any) -> int:
    return len(str(value)) if not isinstance(value, int) else 20


def written(value: Any) -> str:
    """A value as YAML in flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}[str(value)]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**4000:
        return "9" * 4500  # Python refuses to write numbers of so many digits
    return json.dumps(value)
