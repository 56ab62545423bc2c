"""Reads YAML into plain values that remember their places. Only this room knows the YAML library."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lessonpress.errors import LessonError
from lessonpress.places import Path, Placed, spelled

MAX_BYTES, MAX_NODES, MAX_DEPTH = 4_000_000, 200_000, 60


def read(text: str, name: str) -> Placed:
    """Parse YAML 1.2 text; `name` is what errors call the file.

    Raises LessonError for text that is no YAML, duplicate keys, keys that are no text, unknown tags, and documents
    that are too large or too deep (an alias counts as often as it is used).
    """
    if len(text) > MAX_BYTES:
        raise LessonError(name, f"{len(text)} characters", f"a recipe has at most {MAX_BYTES}")
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise LessonError(f"{name}:{line}", f"this is no YAML: {error.problem or error.context}") from None
    except RecursionError:
        raise LessonError(name, "the values nest too deeply", f"at most {MAX_DEPTH} deep") from None
    except (YAMLError, ValueError) as error:
        raise LessonError(name, f"this is no YAML: {' '.join(str(error).split())[:300]}") from None
    walk = _Walk(name)
    return Placed(walk.value(root, (), 1) if root is not None else None, walk.lines)


class _Walk:
    """Turns nodes into values and keeps the lines."""

    def __init__(self, name: str) -> None:
        self.name, self.lines, self.count = name, dict[Path, int](), 0
        self.scalars = YAML(typ="safe", pure=True).constructor

    def value(self, node: Node, path: Path, line: int) -> Any:
        self.lines[path] = line
        self.count += 1
        if self.count > MAX_NODES or len(path) > MAX_DEPTH:
            raise self.error(
                line, path, "too many or too deeply nested values", f"at most {MAX_NODES}, {MAX_DEPTH} deep"
            )
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
            if key in out:
                raise self.error(line, (*path, key), "this key stands here twice", "each key once", "Delete one.")
            out[key] = self.value(value_node, (*path, key), line)
        return out

    def scalar(self, node: Node, path: Path, line: int) -> Any:
        kind = str(node.tag).rpartition(":")[2]
        if kind == "str":
            return node.value
        if kind not in {"int", "float", "bool", "null"}:
            text = str(node.value)[:60]
            if kind == "timestamp":
                return node.value
            seen = f"the tag !{kind.lstrip('!')} on {text!r}"
            raise self.error(line, path, seen, "plain YAML values only", "Remove the tag.")
        try:
            return getattr(self.scalars, f"construct_yaml_{kind}")(node)
        except (ValueError, ArithmeticError) as error:
            raise self.error(line, path, f"{str(node.value)[:60]!r} is no {kind} ({error})") from None

    def error(self, line: int, path: Path, seen: str, expected: str = "", fix: str = "") -> LessonError:
        where = f"{self.name}:{line}" + (f": {spelled(path)}" if path else "")
        return LessonError(where, seen, expected, fix)
