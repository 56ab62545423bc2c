"""What a lesson is, parted by what a change means."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from lessonpress.build import source_record
from lessonpress.lesson import plan, reader
from tests import tiny


def source(folder: Path) -> dict[str, Any]:
    """What the folder's lesson is."""
    return source_record.make_source_record(reader.read(folder))


def test_files_are_listed_with_their_bytes(tmp_path: Path) -> None:
    """Every file of the folder stands there with the digest that sha256sum gives."""
    folder = tiny.write(tmp_path / "echo")
    files = source(folder)["files"]
    assert [file["path"] for file in files] == ["lesson.yaml", "model.py"]
    model = (folder / "model.py").read_bytes()
    assert files[1] == {"path": "model.py", "sha256": hashlib.sha256(model).hexdigest(), "bytes": len(model)}


def test_the_step_writes_down_what_the_lesson_is(tmp_path: Path) -> None:
    """Its one file holds what `source` says, the worker's plan included, and the recipe as it was read."""
    work = tiny.made(tiny.repository(tmp_path), last="hash")
    source, read = dict(work.source), reader.read(work.source_dir)
    document = source.pop("document")
    assert source == source_record.make_source_record(read)
    again = reader.reopen(work.source_dir, {**source, "document": document})
    assert (again.recipe, again.places, again.files) == (read.recipe, read.places, read.files)
    assert source["plan"] == plan.plan_runs(read.recipe)


CHANGES = {
    "source": ("model.py", "nn.Linear(2, width)", "nn.Linear(2, width, bias=True)"),
    "a sibling is source": ("layers.py", "* 0.5", "* 0.25"),
    "recipe: seed": ("lesson.yaml", "seed: 6", "seed: 7"),
    "recipe: a case": ("lesson.yaml", "[4, -4, 8]", "[4, -4, 9]"),
    "recipe: what is recorded": ("lesson.yaml", 'tensor: "input:shift"', 'tensor: "output[1]"'),
    "prose: title": ("lesson.yaml", "title: What does", "title: And what does"),
    "prose: a step's note": ("lesson.yaml", "note: Twice.", "note: Two times."),
    "prose: a case's label": ("lesson.yaml", "label: Shifted", "label: Moved"),
    "prose: a glossary entry": ("lesson.yaml", "beginner: A push.", "beginner: A nudge."),
    "checks": ("checks.py", '"bound": 0.5', '"bound": 0.25'),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_moves_its_own_digest_only(tmp_path: Path, change: str) -> None:
    """A reader of the history learns which part of a lesson changed, and that the others did not."""
    folder = tiny.repository(tmp_path).lesson(tiny.SLUG)
    before = source(folder)["digests"]
    file, old, new = CHANGES[change]
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))
    after = source(folder)["digests"]
    kind = "source" if change.startswith("a sibling") else change.split(":")[0]
    assert {key for key in before if before[key] != after[key]} == {kind}


def test_comments_and_order_in_the_recipe_change_nothing_but_its_file(tmp_path: Path) -> None:
    """How the recipe is written down is no part of what it says."""
    folder = tiny.repository(tmp_path).lesson(tiny.SLUG)
    before = source(folder)["digests"]
    text = (folder / "lesson.yaml").read_text().replace("category: Tests\n", "")
    (folder / "lesson.yaml").write_text("# a comment\n" + text + "category: Tests\n")
    assert source(folder)["digests"] == before


def test_numbers_that_json_lacks_have_a_digest(tmp_path: Path) -> None:
    """A recipe may say .nan anywhere."""
    folder = tiny.write(tmp_path / "echo", recipe=tiny.RECIPE.replace("fill: ones", "fill: .nan"))
    assert len(source(folder)["digests"]["recipe"]) == 64
