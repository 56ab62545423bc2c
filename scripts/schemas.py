"""Write the JSON Schemas from the typed models that they follow: `make schemas`."""

from pathlib import Path

from lessonpress import canon, config, recipe, schema

PROJECT = Path(__file__).resolve().parents[1]
WRITTEN = {
    "templates/manifest.schema.json": schema.document, "templates/lesson.schema.json": recipe.schema,
    "workflow/schemas/config.schema.json": config.schema,
}  # fmt: skip

if __name__ == "__main__":
    for name, made in WRITTEN.items():
        (PROJECT / name).write_text(canon.pretty(made()), encoding="utf-8")
