"""What is wrong with a recipe, in words to act on: file, line, key, what was seen, what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import ValidationError

from lessonpress.core import source_map, suggestions
from lessonpress.core.errors import LessonError
from lessonpress.core.source_map import Path as Where
from lessonpress.core.source_map import Placed
from lessonpress.lesson.recipe import Recipe

MAX_MISTAKES = 100  # are shown at once


def describe_errors(error: ValidationError, placed: Placed, name: str) -> list[LessonError]:
    """Pydantic's messages in our words, one for each place, in the file's order, the first MAX_MISTAKES of them."""
    errors: dict[Where, LessonError] = {}
    details = [(_real(detail["loc"], placed.value), detail) for detail in error.errors(include_url=False)]
    for path, detail in sorted(details, key=lambda pair: placed.line(pair[0]))[:MAX_MISTAKES]:
        kind, value = detail["type"], detail.get("input")
        if kind == "missing":
            path = (*path, str(detail["loc"][-1])) if path[-1:] != (detail["loc"][-1],) else path
            seen, expected, fix = "this key is missing", "it is required", ""
        elif kind == "extra_forbidden":
            seen, expected, fix = "unknown key", *_nearest(str(path[-1]), _known(path))
        else:
            quotes = kind == "string_type" and isinstance(value, (bool, int, float))
            seen, expected = f"{_shown(value)} given", _expected(detail)
            fix = "Write it in quotes." if quotes else ""
        if path not in errors:
            where = f"{name}:{placed.line(path)}: {source_map.format_path(path)}"
            errors[path] = LessonError(where, seen, expected, fix)
    return list(errors.values())


def _real(loc: Sequence[Any], value: Any) -> Where:
    """The part of pydantic's location that is a place of the document (union branches are none)."""
    path: list[Any] = []
    for part in loc:
        placed = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        if part in placed:
            value = value[part]
        else:
            continue
        path.append(part)
    return tuple(path)


def _expected(detail: Mapping[str, Any]) -> str:
    context = detail.get("ctx", {})
    if detail["type"] == "string_pattern_mismatch":
        return f"text that matches {context['pattern']}"
    words: dict[str, str] = {
        "int_type": "expected a whole number", "float_type": "expected a number", "string_type": "expected text",
        "bool_type": "expected true or false", "list_type": "expected a list", "dict_type": "expected a mapping",
        "model_type": "expected a mapping", "model_attributes_type": "expected a mapping",
        "literal_error": f"expected {context.get('expected')}",
    }  # fmt: skip
    return words.get(detail["type"], "expected: " + str(detail["msg"])[:1].lower() + str(detail["msg"])[1:])


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _known(path: Where) -> list[str]:
    """The keys that may stand where an unknown one stands."""
    hint: Any = Recipe
    for part in path[:-1]:
        hint = _below(hint, part)
    fields = getattr(_bare(hint), "model_fields", {})
    return sorted(field.alias or name for name, field in fields.items())


def _below(hint: Any, part: str | int) -> Any:
    """The type of one part of a record, list or mapping."""
    kind = _bare(hint)
    if hasattr(kind, "model_fields"):
        return next((f.annotation for n, f in kind.model_fields.items() if part in (n, f.alias)), None)
    return get_args(kind)[-1] if get_args(kind) else None


def _bare(hint: Any) -> Any:
    """A type without `Annotated` and `| None`."""
    while get_origin(hint) in (Annotated, Union, UnionType):
        hint = next((arg for arg in get_args(hint) if arg is not type(None)), None)
    return hint


def _nearest(word: str, known: Sequence[str]) -> tuple[str, str]:
    return f"known here: {', '.join(known)}" if known else "", suggestions.did_you_mean(word, known)
