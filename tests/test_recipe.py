"""The recipe's published schema says what the recipe's records say, to any reader of JSON Schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lessonpress.core import canonical_json, yaml_reader
from lessonpress.core.errors import LessonError
from lessonpress.lesson import recipe
from lessonpress.lesson.reader import read
from tests import tiny
from tests.test_lesson import FULL, MISTAKES

SCHEMA = recipe.schema()
PROJECT = Path(__file__).resolve().parents[1]
RECIPES = sorted(path for at in ("lessons", "tests/lessons") for path in PROJECT.glob(f"{at}/*/lesson.yaml"))


def value(text: str) -> Any:
    """A recipe as plain values, as an editor reads it."""
    return yaml_reader.read(text, "lesson.yaml").value


def test_the_published_schema_is_the_generated_one(project: Path) -> None:
    """templates/lesson.schema.json is what recipe.py says; write it anew with canon.pretty(recipe.schema())."""
    text = (project / "templates" / "lesson.schema.json").read_text(encoding="utf-8")
    assert text == canonical_json.pretty(SCHEMA)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.parent.name)
def test_every_lesson_fits_the_schema(path: Path) -> None:
    """What we publish, and what the tests use, is valid for an editor too."""
    jsonschema.Draft202012Validator(SCHEMA).validate(value(path.read_text(encoding="utf-8")))


def test_every_key_and_every_part_is_described() -> None:
    """An editor that completes a key says what it means."""
    for name, part in {"recipe": SCHEMA, **SCHEMA["$defs"]}.items():
        assert part.get("description") or "enum" in part, name
        for key, field in part.get("properties", {}).items():
            assert field.get("description", "").endswith("."), f"{name}.{key}"


TYPES = ["unknown key", "unknown key deep inside", "unknown key of a case", "unknown key of an axis", "missing key",
         "missing key inside", "text for a number", "number for text", "text for a list", "list for a mapping",
         "text for a seed", "dtype that torch lacks", "fill that nobody knows", "size below zero",
         "slug with capitals"]  # fmt: skip


@pytest.mark.parametrize("mistake", TYPES)
def test_the_schema_refuses_what_the_records_refuse(tmp_path: Path, mistake: str) -> None:
    """A red line in an editor where lessonpress would stop."""
    old, new, _ = MISTAKES[mistake]
    text = FULL.replace(old, new)
    with pytest.raises(LessonError):
        read(tiny.write(tmp_path / "echo", recipe=text, checks=""))
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(value(FULL))
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(value(text))
