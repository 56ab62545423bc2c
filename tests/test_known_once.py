"""What is known in one place alone: the roles of a recipe's keys, the schemas' words, the names of variables."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lessonpress.core import canonical_json, variables
from lessonpress.lesson import lesson_files, recipe
from lessonpress.revision import manifest_schema

# The words of JSON Schema 2020-12 that our schemas use; any other would be passed over by a validator in silence.
WORDS = frozenset({
    "$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required", "additionalProperties",
    "items", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength",
    "maxLength", "pattern", "enum", "const", "default", "anyOf",
})  # fmt: skip


def test_every_key_of_the_recipe_declares_its_role() -> None:
    """A key that says neither that it is words nor that it runs would be hashed, compared and shown by chance."""
    assert [name for name in recipe.Recipe.model_fields if not isinstance(recipe.role(name), recipe.Role)] == []


def test_a_key_without_a_role_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgetting the role of a new key fails."""
    monkeypatch.setattr(recipe.Recipe.model_fields["title"], "metadata", [])
    with pytest.raises(LookupError, match="title"):
        recipe.role("title")


def test_what_the_catalogue_shows_is_published_and_is_words() -> None:
    """The pages around the lessons read manifests alone, so what they show must stand there."""
    for name in recipe.Recipe.model_fields:
        role = recipe.role(name)
        assert role.manifest or not role.catalogue, name
    assert set(recipe.keys(lambda role: role.manifest)) <= manifest_schema.Manifest.__annotations__.keys()


def words(document: Any, path: str = "", *, names: bool = False) -> Iterator[tuple[str, str]]:
    """Every keyword of a schema with its place; below `properties` and `$defs` stand names."""
    if isinstance(document, dict):
        for key, value in document.items():
            if not names:
                yield path, key
            if names or key not in ("default", "const", "enum"):
                yield from words(value, f"{path}/{key}", names=not names and key in ("properties", "$defs"))
    if isinstance(document, list):
        for at, value in enumerate(document):
            yield from words(value, f"{path}/{at}")


@pytest.mark.parametrize("name", ["templates/manifest.schema.json", "templates/lesson.schema.json",
                                  "workflow/schemas/config.schema.json"])  # fmt: skip
def test_a_schema_says_only_what_json_schema_knows(project: Path, name: str) -> None:
    """A strict validator refuses words that others pass over, such as `ge` in the place of `minimum`."""
    document = json.loads((project / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(document)
    assert [(place, word) for place, word in words(document) if word not in WORDS] == []


@pytest.mark.parametrize(("tolerance", "good"), [("{atol: 0, rtol: 0}", True), ("{atol: -1, rtol: 0}", False)])
def test_an_editor_refuses_what_the_reader_refuses(tolerance: str, good: bool) -> None:
    """Bounds of numbers stand in the published schema, not only in our types."""
    atol = float(re.findall(r"-?\d+", tolerance)[0])
    document = {"schema": 1, "slug": "a", "title": "A", "model": {"class": "A"}, "execution": {},
                "tolerance": {"atol": atol, "rtol": 0}}  # fmt: skip
    assert jsonschema.Draft202012Validator(recipe.schema()).is_valid(document) is good


def test_what_is_published_has_no_key_that_its_schema_lacks(project: Path) -> None:
    """The published schema stays open for later keys; our own manifests fit the strict one."""
    strict = jsonschema.Draft202012Validator(manifest_schema.make_strict_schema())
    manifests = sorted(project.glob("results/models/*/*/manifest.json"))
    assert manifests
    for path in manifests:
        strict.validate(canonical_json.read(path))


def test_the_strict_schema_notices_a_key_that_nobody_declared(project: Path) -> None:
    """Strict is strict in every part, not only at the top."""
    path = next(iter(sorted(project.glob("results/models/*/*/manifest.json"))))
    manifest = canonical_json.read(path)
    manifest["provenance"]["surprise"] = 1
    assert not jsonschema.Draft202012Validator(manifest_schema.make_strict_schema()).is_valid(manifest)
    assert jsonschema.Draft202012Validator(manifest_schema.make_schema()).is_valid(manifest)


def test_the_client_of_a_run_says_the_same_variable(project: Path) -> None:
    """It imports nothing, so it has its own copy of the one name that it needs."""
    source = (project / "src/lessonpress/cli/command_client.py").read_text(encoding="utf-8")
    texts = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    assert {text for text in texts if str(text).startswith("LESSONPRESS_")} == {variables.RUN}


@pytest.mark.parametrize("slug", ["a", "a" * 100, "a" * 101, "-a", "A", "a_b", ""])
def test_a_slug_is_the_same_everywhere(slug: str) -> None:
    """The recipe's schema and the rules take the same names."""
    pattern = recipe.schema()["properties"]["slug"]["pattern"]
    assert bool(re.search(pattern, slug)) == bool(lesson_files.SLUG.fullmatch(slug))
