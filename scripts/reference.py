"""Write the generated parts of docs/reference.md: every key of the recipe, and the operations of live pages.

Types, defaults and meanings are those of the published JSON Schema; the examples are those of docs/examples/every-key,
a lesson that uses every key and that a test publishes.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from lessonpress.lesson import recipe
from lessonpress.replay import operations

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "reference.md"
EXAMPLE = PROJECT / "docs" / "examples" / "every-key" / "lesson.yaml"
WORDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "null": "nothing"}
LONGEST = 60  # characters of an example in a table
WHOLE = "Recipe"  # how the page calls the record of a whole file


def definitions() -> dict[str, dict[str, Any]]:
    """Every record of the recipe by its name, the whole recipe first, in the order in which a reader meets them."""
    schema = recipe.schema()
    known = {WHOLE: schema, **schema["$defs"]}
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            order.append(name)
            for each in re.findall(r'#/\$defs/(\w+)', json.dumps(known[name].get("properties", {}))):
                visit(each)

    visit(WHOLE)
    return {name: known[name] for name in order}


def type_words(part: Mapping[str, Any]) -> str:
    """A JSON Schema type in words, records as links."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in part:
        kinds = [type_words(each) for each in part["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in part or "const" in part:
        return ", ".join(f"`{value}`" for value in part.get("enum", [part.get("const")]))
    if part.get("type") == "array":
        return f"list of {type_words(part.get('items', {}))}"
    if part.get("type") == "object":
        inner = part.get("additionalProperties", True)
        return f"{type_words(inner)} by name" if isinstance(inner, dict) else "values by name"
    return WORDS.get(part.get("type", ""), "any value")


def default_words(part: Mapping[str, Any], *, required: bool) -> str:
    """What holds where the key is left out."""
    if required:
        return "**required**"
    value = part.get("default")
    return "" if value in (None, "", [], {}) else f"`{json.dumps(value)}`"


def examples(document: Any, name: str = WHOLE) -> Iterator[tuple[tuple[str, str], Any]]:
    """Every key of a recipe that a document uses, as (record, key), with its value there."""
    properties = definitions_by_name()[name].get("properties", {})
    for key, value in document.items():
        yield (name, key), value
        for part, inner in _inside(properties[key], value):
            yield from examples(inner, part)


def definitions_by_name() -> dict[str, dict[str, Any]]:
    """The schema's records, looked up by name."""
    schema = recipe.schema()
    return {WHOLE: schema, **schema["$defs"]}


def _inside(part: Mapping[str, Any], value: Any) -> Iterator[tuple[str, Any]]:
    """The records below a value, each with the name of its kind."""
    if "$ref" in part and isinstance(value, dict):
        yield part["$ref"].rpartition("/")[2], value
    for each in part.get("anyOf", ()):
        yield from _inside(each, value)
    if part.get("type") == "array" and isinstance(value, list):
        for item in value:
            yield from _inside(part["items"], item)
    if part.get("type") == "object" and isinstance(part.get("additionalProperties"), dict) and isinstance(value, dict):
        for item in value.values():
            yield from _inside(part["additionalProperties"], item)


def read_example() -> dict[str, Any]:
    """The recipe of the example lesson as plain data."""
    return dict(YAML(typ="safe").load(EXAMPLE.read_text(encoding="utf-8")))


def make_recipe_tables() -> str:
    """A section for each record: what it is, and a table of its keys."""
    used: dict[tuple[str, str], Any] = {}
    for key, value in examples(read_example()):
        used.setdefault(key, value)
    sections = []
    for name, part in definitions().items():
        if "properties" not in part:
            continue
        required = part.get("required", [])
        rows = [f"### {name}", "", _paragraphs(part.get("description", "")), "",
                "| key | type | default | meaning | example |", "|---|---|---|---|---|"]  # fmt: skip
        for key, body in part["properties"].items():
            cells = [f"`{key}`", type_words(body), default_words(body, required=key in required),
                     body.get("description", ""), _example(used[name, key])]  # fmt: skip
            rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        sections.append("\n".join(rows))
    return "\n\n".join(sections)


def _paragraphs(text: str) -> str:
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text).strip()


def _example(value: Any) -> str:
    """A value as it may be typed: a long text only as far as a line goes, a long structure at its own keys' tables."""
    typed = json.dumps(value, ensure_ascii=False)
    if len(typed) <= LONGEST:
        return f"`{typed}`"
    return f"`{typed[:LONGEST]}…`" if isinstance(value, str) else "its keys are shown below"


def make_operations() -> str:
    """The operations that a live page can compute, by family."""
    families: dict[str, list[str]] = {}
    for name, row in sorted(operations.TABLE.items()):
        families.setdefault(row.family, []).append(f"`{name}`")
    return "\n\n".join(f"**{family}**: {', '.join(names)}" for family, names in sorted(families.items()))


PARTS = {"recipe": make_recipe_tables, "operations": make_operations}


def fill(text: str) -> str:
    """The page with its generated parts made anew."""
    for name, make in PARTS.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n\n{make()}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
