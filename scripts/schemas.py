"""Write the JSON Schemas from the typed models: `make schemas`."""

from pathlib import Path

from lessonpress.core import canonical_json, config
from lessonpress.lesson import recipe
from lessonpress.revision import manifest_schema

PROJECT = Path(__file__).resolve().parents[1]
SCHEMAS = {
    "templates/manifest.schema.json": manifest_schema.make_schema, "templates/lesson.schema.json": recipe.schema,
    "workflow/schemas/config.schema.json": config.schema,
}  # fmt: skip

if __name__ == "__main__":
    for name, make in SCHEMAS.items():
        (PROJECT / name).write_text(canonical_json.pretty(make()), encoding="utf-8")
