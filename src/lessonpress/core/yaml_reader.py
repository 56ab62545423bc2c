"""Reads YAML into plain values that remember their places. Only this module knows the YAML library."""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lessonpress.core.errors import LessonError
from lessonpress.core.source_map import Path, Placed, format_path

MAX_BYTES, MAX_NODES, MAX_DEPTH = 1_000_000, 50_000, 60
MAX_TEXT, MAX_BITS = 100_000, 1023  # of one text in characters, of one whole number (so that it is a finite float)
_HALF = re.compile("[\ud800-\udfff]")  # half a character: no file can hold it
# What the parser says, and what has mostly been typed.
USUAL = {
    "'\\t'": "Indent with spaces.",
    "mapping values are not allowed": "Put a text with a colon into quotes.",
    "expected ':'": "Write the key, a colon, a space, the value.",
    "expected <block end>": "Let the keys of one mapping begin in the same column.",
    "expected ',' or": "Close the bracket, and put a text with commas or brackets into quotes.",
}
MANY, FEW = "too many or too deeply nested values", f"at most {MAX_NODES}, {MAX_DEPTH} deep"


def read(text: str, name: str) -> Placed:
    """Parse YAML 1.2 text; `name` is what errors call the file.

    Raises LessonError for text that is no YAML, duplicate keys, keys that are no text, unknown tags, texts and whole
    numbers that are too long, halves of characters, and documents that are too large or too deep (an alias counts as
    often as it is used).
    """
    if len(text) > MAX_BYTES:
        raise LessonError(name, f"{len(text)} characters", f"a recipe has at most {MAX_BYTES}")
    try:
        reader = YAML(typ="safe", pure=True)
        reader.Composer = _Composer
        root = reader.compose(text)
    except _Large as error:
        raise LessonError(f"{name}:{error.line}", MANY, FEW) from None
    except MarkedYAMLError as error:
        raise _no_yaml(error, name) from None
    except RecursionError:
        raise LessonError(name, "the values nest too deeply", f"at most {MAX_DEPTH} deep") from None
    except (YAMLError, ValueError) as error:
        raise LessonError(name, f"this is no YAML: {' '.join(str(error).split())[:300]}") from None
    walk = _Walk(name)
    return Placed(walk.value(root, (), 1) if root is not None else None, walk.lines)


def _no_yaml(error: MarkedYAMLError, name: str) -> LessonError:
    """The parser's message at the line where the mistake is, and the usual cause in words."""
    problem = error.problem or error.context or ""
    # A key without its colon is noticed on the next line only.
    mark = error.context_mark if "expected ':'" in problem else error.problem_mark
    mark = mark or error.problem_mark or error.context_mark
    fix = next((words for mistake, words in USUAL.items() if mistake in problem), "")
    return LessonError(f"{name}:{mark.line + 1 if mark else 1}", f"this is no YAML: {problem}", "", fix)


class _Large(Exception):
    """There is more in the file than is read, at a line."""

    def __init__(self, line: int) -> None:
        self.line = line


class _Composer(Composer):
    """Stops while the file is read, before a huge one has cost its time."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader)
        self.seen = self.inside = 0
        self.warn_double_anchors = False  # YAML 1.2 lets an anchor be used again

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.seen += 1
        self.inside += 1
        if self.seen > 2 * MAX_NODES or self.inside > MAX_DEPTH + 1:  # keys are nodes too
            raise _Large(self.loader.parser.peek_event().start_mark.line + 1)
        node = super().compose_node(parent, index)
        self.inside -= 1
        return node


# What the kinds of plain values look like.
SCALARS = {"int": "a whole number such as 12", "float": "a number such as 0.5", "bool": "true or false", "null": "null"}


class _Walk:
    """Turns nodes into values and keeps the lines."""

    def __init__(self, name: str) -> None:
        self.name, self.lines, self.count = name, dict[Path, int](), 0
        self.scalars = YAML(typ="safe", pure=True).constructor

    def value(self, node: Node, path: Path, line: int) -> Any:
        self.lines[path] = line
        self.count += 1
        if self.count > MAX_NODES or len(path) > MAX_DEPTH:
            raise self.error(line, path, MANY, FEW)
        kind = str(node.tag).rpartition(":")[2]
        if not isinstance(node, ScalarNode) and kind not in {"map", "seq"}:
            raise self.error(line, path, f"the tag !{kind.lstrip('!')}", "plain YAML values only", "Remove the tag.")
        if isinstance(node, MappingNode):
            return self.mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, i), item.start_mark.line + 1) for i, item in enumerate(node.value)]
        return self.scalar(node, path, line)

    def mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = key_node.value if isinstance(key_node, ScalarNode) else None
            if key is None:
                raise self.error(line, path, "a key that is no text", "keys are plain words")
            self.text(key, path, line)
            if key in out:
                raise self.error(line, (*path, key), "this key stands here twice", "each key once", "Delete one.")
            out[key] = self.value(value_node, (*path, key), line)
        return out

    def scalar(self, node: Node, path: Path, line: int) -> Any:
        kind = str(node.tag).rpartition(":")[2]
        self.text(node.value, path, line)
        if kind == "str":
            return node.value
        if kind not in {"int", "float", "bool", "null"}:
            text = str(node.value)[:60]
            if kind == "timestamp":
                return node.value
            seen = f"the tag !{kind.lstrip('!')} on {text!r}"
            raise self.error(line, path, seen, "plain YAML values only", "Remove the tag.")
        try:
            value = getattr(self.scalars, f"construct_yaml_{kind}")(node)
        except (ValueError, ArithmeticError) as error:
            raise self.error(line, path, f"{str(node.value)[:60]!r} is no {kind} ({error})", SCALARS[kind]) from None
        if kind == "int" and value.bit_length() > MAX_BITS:
            raise self.error(line, path, f"a whole number of {value.bit_length()} bits", f"at most {MAX_BITS}")
        return value

    def text(self, text: str, path: Path, line: int) -> None:
        """Refuse a text that is too long to show, and one that no file can hold."""
        if len(text) > MAX_TEXT:
            raise self.error(line, path, f"a text of {len(text)} characters", f"at most {MAX_TEXT}")
        if half := _HALF.search(text):
            raise self.error(line, path, f"half a character, \\u{ord(half.group()):04x}", "whole characters")

    def error(self, line: int, path: Path, seen: str, expected: str = "", fix: str = "") -> LessonError:
        where = f"{self.name}:{line}" + (f": {format_path(path)}" if path else "")
        return LessonError(where, seen, expected, fix)
