"""Reads config.yaml, or says in which line it is wrong."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from lessonpress.core import source_map, suggestions, yaml_reader
from lessonpress.core.errors import LessonError, LessonErrors, WrongUsage
from lessonpress.core.settings import Config

__all__ = ["Config", "read"]

DEFAULT = Path("config.yaml")
SECTION = "lessonpress"  # where our settings stand in the configuration of a larger workflow


def read(path: Path = DEFAULT) -> Config:
    """The settings of a config file, or the defaults where there is none.

    Raises LessonError with file, line and key for anything that is no setting, and WrongUsage when a
    file that was named is not there.
    """
    name = os.path.relpath(path)
    if not path.is_file():
        if path != DEFAULT:
            raise WrongUsage(name, "there is no such file", "the settings that --config names")
        return Config()
    try:
        return _parsed(path.read_text(encoding="utf-8-sig"), name)
    except UnicodeDecodeError as error:
        raise LessonError(name, f"byte {error.start} is no UTF-8", "text in UTF-8") from None


@functools.lru_cache(maxsize=8)  # whoever does one command after the other reads the same text each time
def _parsed(text: str, name: str) -> Config:
    """The settings in a text; where it is the configuration of a larger workflow, its section `lessonpress`."""
    placed = yaml_reader.read(text, name)
    inner = isinstance(placed.value, dict) and isinstance(placed.value.get(SECTION), dict)
    at: tuple[str, ...] = (SECTION,) if inner else ()
    try:
        return Config.model_validate((placed.value[SECTION] if inner else placed.value) or {})
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise LessonErrors([_describe_mistake(detail, placed, name, at) for detail in details]) from None


def override(config: Config, overrides: Sequence[str]) -> Config:
    """Replace settings, each written as `limits.wall_seconds=30`. Raises WrongUsage for anything else."""
    document = config.model_dump()
    for override in overrides:
        name, sign, text = override.partition("=")
        *above, last = name.split(".")
        section: Any = document
        for part in above:
            section = section.get(part) if isinstance(section, dict) else None
        if not (sign and isinstance(section, dict) and last in section) or isinstance(section[last], dict):
            raise WrongUsage(f"--set {override}", "there is no such setting", "KEY=VALUE with a key of config.yaml")
        section[last] = text if isinstance(section[last], str) else _number(text)
    try:
        return Config.model_validate(document) if overrides else config
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        said = [source_map.format_path(tuple(detail["loc"])), detail["msg"].removeprefix("Value error, ")]
        raise WrongUsage("--set", ": ".join(filter(None, said))) from None


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return text  # which the settings refuse in their own words


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of config.yaml, as workflow/schemas/config.schema.json holds it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}


def text() -> str:
    """config.yaml with every setting at its default, and what it means."""
    head = "# Settings of this repository. What stands here is each one's default, so any line may be left out."
    return "\n".join([head, *_lines(Config, Config(), "")]) + "\n"


def _lines(of: type[BaseModel], given: BaseModel, indent: str) -> Iterator[str]:
    for name, field in of.model_fields.items():
        value = getattr(given, name)
        if not indent:
            yield ""
        yield f"{indent}# {field.description}"
        if isinstance(value, BaseModel):
            yield f"{indent}{name}:"
            yield from _lines(type(value), value, f"{indent}  ")
        else:
            yield f"{indent}{name}: {json.dumps(value) if value == '' else value}"


def _describe_mistake(detail: Any, placed: source_map.Placed, name: str, at: tuple[str, ...] = ()) -> LessonError:
    loc, message = tuple(detail["loc"]), detail["msg"]
    where = f"{name}:{placed.line((*at, *loc))}" + (f": {source_map.format_path((*at, *loc))}" if loc else "")
    if detail["type"] == "extra_forbidden":
        known = _known(loc)
        fix = suggestions.did_you_mean(str(loc[-1]), known)
        return LessonError(where, "unknown key", f"known here: {', '.join(known)}", fix)
    if detail["type"] in ("model_type", "dict_type"):
        message = "expected a mapping"
    if detail["type"] == "value_error":
        return LessonError(where, message.removeprefix("Value error, "))
    return LessonError(where, f"{detail['input']!r:.60} given", message[:1].lower() + message[1:])


def _known(loc: tuple[str | int, ...]) -> list[str]:
    """The keys that may stand where an unknown one stands."""
    section: Any = Config
    for part in loc[:-1]:
        section = section.model_fields[part].annotation
    return sorted(section.model_fields)
