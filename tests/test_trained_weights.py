"""Weights as source: what is stored of a training, whether it still fits, and that both files are written or none."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from lessonpress.authoring import lint, train
from lessonpress.build import source_record
from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import plan, reader, trained_weights
from lessonpress.web.page import provenance
from tests import tiny

FIT = Path(__file__).parent / "lessons" / "tiny-fit"
SLUG = "tiny-fit"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the trained lesson."""
    shutil.copytree(FIT, tmp_path / "lessons" / SLUG, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "lessons" / SLUG


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text that stands once in a file."""
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")


def message_of(folder: Path) -> str:
    """The message that a lesson earns before anything runs."""
    with pytest.raises(LessonError) as caught:
        source_record.make_source_record(reader.read(folder))
    return caught.value.message().replace(os.path.relpath(folder) + "/", "")


def test_what_is_stored_is_source(folder: Path) -> None:
    """Both files are hashed with the code: other weights are another source."""
    before = source_record.make_source_record(reader.read(folder))
    assert {"prepared.json", "prepared.safetensors"} <= {file["path"] for file in before["files"]}
    edit(folder / "prepared.json", '"lines": 200', '"lines": 201')
    after = source_record.make_source_record(reader.read(folder))
    assert before["digests"]["source"] != after["digests"]["source"]
    assert before["digests"]["recipe"] == after["digests"]["recipe"]


def test_the_record_reads_back_as_it_was_written(folder: Path) -> None:
    """Reading and writing prepared.json changes no byte, so that preparing twice leaves git quiet."""
    record = trained_weights.read_record(reader.read(folder))
    assert record is not None
    assert record.text() == (folder / "prepared.json").read_text(encoding="utf-8")
    assert not trained_weights.store(folder, record, (folder / "prepared.safetensors").read_bytes())


def untrained(folder: Path) -> None:
    """Take the training and every word about weights out of the recipe."""
    lines = (folder / "lesson.yaml").read_text(encoding="utf-8").splitlines()
    begin, end = lines.index("prepare:"), lines.index("execution:")
    left = [line for line in lines[:begin] + lines[end:] if line != "  weights: trained"]
    kept = [re.sub("weights: [a-z]+, ", "", line) for line in left]
    (folder / "lesson.yaml").write_text("\n".join(kept), encoding="utf-8")


MISTAKES: dict[str, tuple[Any, str]] = {
    "nothing stored": (
        lambda at: [(at / name).unlink() for name in ("prepared.json", "prepared.safetensors")],
        "lesson.yaml:15: execution.weights: no weights called 'trained' have been prepared. "
        "Run `lessonpress prepare tiny-fit`.",
    ),
    "a name not kept": (
        lambda at: edit(at / "lesson.yaml", "weights: halfway", "weights: half_way"),
        "lesson.yaml:22: experiment.cases[1].weights: no weights called 'half_way' have been prepared; "
        "kept are: halfway, trained. Did you mean halfway?",
    ),
    "a name like none": (
        lambda at: edit(at / "lesson.yaml", "weights: halfway", "weights: begun"),
        "lesson.yaml:22: experiment.cases[1].weights: no weights called 'begun' have been prepared; "
        "kept are: halfway, trained. Name one of these, or let the training yield 'begun'.",
    ),
    "one without the other": (
        lambda at: (at / "prepared.json").unlink(),
        "prepared.json: prepared.safetensors is there without the other; "
        "prepared.json and prepared.safetensors together. Run `lessonpress prepare tiny-fit`.",
    ),
    "other weights": (
        lambda at: (at / "prepared.safetensors").write_bytes(b"x"),
        "prepared.json: prepared.safetensors is not the file that this one tells of; both as they were written. Run",
    ),
    "no json": (lambda at: (at / "prepared.json").write_text("{"), "prepared.json: Invalid JSON"),
    "a wrong record": (lambda at: edit(at / "prepared.json", '"seed": 3', '"seed": "3"'), "prepared.json: seed: "),
    "no recipe": (
        untrained,
        "prepared.json: the recipe has no `prepare`; it says how these weights are made. Write one, or delete both "
        "files.",
    ),
    "a file that is not there": (
        lambda at: edit(at / "lesson.yaml", "file: fit.py", "file: fitting.py"),
        "lesson.yaml:9: prepare.file: there is no fitting.py in the folder; Python files there: "
        "checks.py, fit.py, model.py.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_before_anything_runs(folder: Path, name: str) -> None:
    """Where, what was seen, what to do."""
    break_it, message = MISTAKES[name]
    break_it(folder)
    assert message_of(folder).startswith(message)


def stored(folder: Path, data: bytes) -> None:
    """Put another file of weights in place, with a record that tells of it."""
    (folder / "prepared.safetensors").write_bytes(data)
    record = json.loads((folder / "prepared.json").read_text(encoding="utf-8"))
    text = json.dumps({**record, "weights": canonical_json.digest(data)})
    (folder / "prepared.json").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("data", [b"", b"x", b"\xff" * 40])
def test_weights_that_cannot_be_read_are_one_message(
    folder: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    """Before anything runs, and before a training is repeated to be compared with them."""
    stored(folder, data)
    assert message_of(folder).startswith("prepared.safetensors: this cannot be read: ")
    monkeypatch.setattr(train, "run_training", lambda *given: pytest.fail("it was trained"))
    with pytest.raises(LessonError, match=r"prepared\.safetensors: this cannot be read: .* prepare tiny-fit"):
        train.repeat_training(Config(lessons=str(folder.parent)), SLUG)


def test_weights_that_are_no_numbers_are_refused(folder: Path) -> None:
    """A training never stores them, so somebody else did: nothing could be said of what a model does with them."""
    whole = (folder / "prepared.safetensors").read_bytes()
    stored(folder, whole[:-8] + b"\xff" * 8)  # NaN in every width
    expected = r"prepared\.safetensors: [\w./]+(, [\w./]+)* hold NaN or an infinity; finite numbers"
    assert re.match(expected, message_of(folder))


def test_weights_without_a_training_are_refused(tmp_path: Path) -> None:
    """A recipe that asks for weights by name says how they are made; `drawn` needs nothing."""
    recipe = tiny.RECIPE.replace("execution:\n", "execution:\n  weights: NAME\n")
    assert "lesson.yaml:6: execution.weights: the weights 'late' are asked for; `prepare:` says" in message_of(
        tiny.write(tmp_path / "echo", recipe=recipe.replace("NAME", "late")))  # fmt: skip
    source_record.make_source_record(reader.read(tiny.write(tmp_path / "echo", recipe=recipe.replace("NAME", "drawn"))))


CHANGES = {
    "nothing": ((), []),
    "the training": (("fit.py", "lr=rate", "lr=1.0 * rate"), ["fit.py"]),
    "the model": (("model.py", "A line through points", "A line"), ["model.py"]),
    "the seed": (("lesson.yaml", "  seed: 3\n  args", "  seed: 4\n  args"), ["lesson.yaml"]),
    "the rate": (("lesson.yaml", "rate: 0.2", "rate: 0.1"), ["lesson.yaml"]),
    "the tolerance": (("lesson.yaml", "rtol: 1.0e-6", "rtol: 1.0e-5"), []),
    "the checks": (("checks.py", "1e-5", "1e-4"), []),
    "the words": (("lesson.yaml", "note: As drawn.", "note: Drawn."), []),
}


@pytest.mark.parametrize("name", CHANGES)
def test_weights_older_than_their_source_earn_a_warning(folder: Path, name: str) -> None:
    """Only what takes part in the training counts; hash and lint say it in words, and go on."""
    change, outdated = CHANGES[name]
    if change:
        edit(folder / change[0], change[1], change[2])
    read = reader.read(folder)
    record = trained_weights.read_record(read)
    assert record is not None
    assert trained_weights.find_changes(read, record) == outdated
    config = Config(lessons=str(folder.parent), work=str(folder.parents[1] / "work"))
    _, warning = source_record.hash_lesson(folder)
    words = f"prepared.json: these weights were made before {', '.join(outdated)} changed; run `lessonpress prepare "
    said = (warning or "", lint.lint_lesson(config, SLUG))
    assert [words in one for one in said] == [bool(outdated)] * 2


def test_both_files_are_written_or_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that refuses the second file leaves the first as it was, and nothing beside them."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    record = trained_weights.read_record(reader.read(folder))
    assert record is not None
    other, write = record.model_copy(update={"lines": 7}), atomic_io.write

    def full(path: Path, content: bytes | str) -> None:
        if "json" in path.name:
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr(atomic_io, "write", full)
    with pytest.raises(OSError, match="No space left"):
        trained_weights.store(folder, other, b"new")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    monkeypatch.undo()
    assert trained_weights.store(folder, other, b"new")
    assert (folder / "prepared.safetensors").read_bytes() == b"new"
    assert {path.name for path in folder.iterdir()} == set(before)


def test_the_manifest_says_how_the_weights_were_made(folder: Path) -> None:
    """Seed, figures, what was kept, which run starts from what, and a digest of what it was made from."""
    read = reader.read(folder)
    made = trained_weights.describe_provenance(read, plan.plan_runs(read.recipe))
    assert made is not None
    assert made["runs"] == {"execution": "trained", "halfway": "halfway", "after": "trained", "shifted": "trained"}
    assert made["weightsSha256"] == canonical_json.digest((folder / "prepared.safetensors").read_bytes())
    assert made["madeFrom"] == canonical_json.digest_of(json.loads((folder / "prepared.json").read_text())["madeFrom"])
    assert [entry["name"] for entry in made["kept"]] == ["halfway", "trained"]
    words = provenance.describe_training(made)
    assert words.startswith("The weights were made by prepare() in fit.py from seed 3: 200 steps, loss 4.674 → 1.417.")
    assert "older" not in words
    old = provenance.describe_training({**made, "changedSince": ["model.py"]})
    assert old.endswith("They are older than model.py.")
    assert provenance.describe_training({}) == ""


def test_a_lesson_without_a_training_says_nothing_of_one(tmp_path: Path) -> None:
    """No warning, no words."""
    read = reader.read(tiny.write(tmp_path / "echo"))
    assert trained_weights.warn_if_outdated(read) is None
    assert trained_weights.describe_provenance(read, plan.plan_runs(read.recipe)) is None
