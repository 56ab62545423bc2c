"""Weights that a lesson's own training has made: what is stored of them beside the recipe, and whether it still fits.

`prepared.safetensors` holds the tensors (`<name>/<parameter>`), `prepared.json` what they are and what they were made
from. Both are source: `lessonpress prepare` writes them, everything else only reads them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError

from lessonpress.core import atomic_io, canonical_json, suggestions
from lessonpress.core.errors import LessonError
from lessonpress.core.source_map import Path as Where
from lessonpress.lesson import plan, reader
from lessonpress.lesson.recipe import Id, Record

if TYPE_CHECKING:
    from lessonpress.lesson import records
    from lessonpress.worker.records import Plan, TrainingPlan

RECORD, WEIGHTS = "prepared.json", "prepared.safetensors"
# What no training reads: the recipe is compared by what it says of the training, the others by nobody.
APART = frozenset({reader.RECIPE, RECORD, WEIGHTS, "reference.json", "equivalent.json"})
Hex64 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Word = Annotated[str, StringConstraints(pattern=r"^[^\W\d][\w ]{0,39}$")]
Figures = dict[Word, Annotated[float, Field(allow_inf_nan=False)] | int]


class Origin(Record):
    """What weights were made from: the lesson's files by their digests, and what its recipe says of the training."""

    files: dict[str, Hex64]
    recipe: Hex64


class Kept(Record):
    """The model as it was at one moment of the training, under a name."""

    name: Id
    figures: Figures


class Prepared(Record):
    """prepared.json. `lines` counts the steps that gave figures, `first` and `last` are the figures of those two."""

    schema_: Literal[1] = Field(alias="schema")
    madeFrom: Origin
    seed: int
    torch: str
    initialisation: str
    lines: Annotated[int, Field(ge=0)]
    first: Figures | None
    last: Figures | None
    kept: Annotated[list[Kept], Field(min_length=1, max_length=50)]
    weights: Hex64

    def text(self) -> str:
        """The file's text."""
        return canonical_json.pretty(self.model_dump(by_alias=True))


def describe_origin(read: reader.Lesson, task: TrainingPlan) -> Origin:
    """What the lesson's weights would be made from now; `task` is the plan's `prepare`."""
    files = {name: canonical_json.digest(data) for name, data in sorted(read.files.items())
             if name not in APART and name != read.recipe.checks}  # fmt: skip
    said = {key: value for key, value in task.items() if key != "tolerance"}
    return Origin(files=files, recipe=canonical_json.digest_of({**said, "class": read.recipe.model.class_}))


def read_record(read: reader.Lesson) -> Prepared | None:
    """What is stored beside the recipe, None where nothing is.

    Raises LessonError when the two files are not there together, as they were written.
    """
    name, present = record_path(read), [file for file in (RECORD, WEIGHTS) if file in read.files]
    if not present:
        return None
    fix = f"Run `lessonpress prepare {read.recipe.slug}`."
    if len(present) == 1:
        raise LessonError(name, f"{present[0]} is there without the other", f"{RECORD} and {WEIGHTS} together", fix)
    try:
        record = Prepared.model_validate_json(read.files[RECORD])
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        seen = f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}".removeprefix(": ")
        raise LessonError(name, seen, "the file as it was written", fix) from None
    if canonical_json.digest(read.files[WEIGHTS]) != record.weights:
        raise LessonError(name, f"{WEIGHTS} is not the file that this one tells of", "both as they were written", fix)
    return record


def record_path(read: reader.Lesson) -> str:
    """How errors call prepared.json."""
    return os.path.relpath(read.folder / RECORD)


def find_faults(read: reader.Lesson, planned: Plan) -> Iterator[LessonError]:
    """Stored weights that cannot be read or that nothing makes, and runs that ask for weights that were not kept."""
    try:
        record = read_record(read)
        endless = _endless(read) if record else []
    except LessonError as error:
        yield error
        return
    if endless:
        yield LessonError(os.path.relpath(read.folder / WEIGHTS), f"{', '.join(endless)} hold NaN or an infinity",
                          "finite numbers", f"Run `lessonpress prepare {read.recipe.slug}`.")  # fmt: skip
    if record and planned["prepare"] is None:
        yield LessonError(record_path(read), "the recipe has no `prepare`", "it says how these weights are made",
                          "Write one, or delete both files.")  # fmt: skip
    if planned["prepare"]:
        yield from find_missing(read, planned, [entry.name for entry in record.kept] if record else [])


def find_missing(read: reader.Lesson, planned: Plan, names: Sequence[str]) -> Iterator[LessonError]:
    """Every place of the recipe that asks for weights which are not among those that were kept."""
    wanted = {read.setting_place(number, "weights"): run["weights"] for number, run in enumerate(planned["runs"])}
    for at, name in wanted.items():
        if name and name not in names:
            yield _missing(read, at, name, names)


def read_arrays(read: reader.Lesson) -> dict[str, Any]:
    """The stored weights by `<name>/<parameter>`. Raises LessonError for a file that cannot be read."""
    from lessonpress.core import tensor_file  # most lessons have none, and need not wait for its libraries

    try:
        return dict(tensor_file.read_arrays(read.files[WEIGHTS]))
    except tensor_file.UNREADABLE as error:
        raise LessonError(os.path.relpath(read.folder / WEIGHTS), f"this cannot be read: {error}", "a safetensors file",
                          f"Run `lessonpress prepare {read.recipe.slug}`.") from None  # fmt: skip


def _endless(read: reader.Lesson) -> list[str]:
    """The names of stored weights that are not all finite."""
    import numpy as np

    return [name for name, array in read_arrays(read).items() if not np.isfinite(array).all()]


def _missing(read: reader.Lesson, at: Where, name: str, names: Sequence[str]) -> LessonError:
    fix = suggestions.did_you_mean(name, names) or f"Name one of these, or let the training yield {name!r}."
    fix = fix if names else f"Run `lessonpress prepare {read.recipe.slug}`."
    expected = f"kept are: {', '.join(names)}" if names else ""
    return read.error(at, f"no weights called {name!r} have been prepared", expected, fix)


def find_changes(read: reader.Lesson, record: Prepared) -> list[str]:
    """What is not as it was when the weights were made: names of files, and `lesson.yaml` for what it says of them."""
    task = plan.plan_training(read.recipe)
    if task is None:
        return []
    now, then = describe_origin(read, task), record.madeFrom
    names = [name for name in sorted({*now.files, *then.files}) if now.files.get(name) != then.files.get(name)]
    return names + ([reader.RECIPE] if now.recipe != then.recipe else [])


def warn_if_outdated(read: reader.Lesson) -> str | None:
    """That the stored weights are older than what they are made from, in words; None when they are not."""
    record = read_record(read)
    changed = find_changes(read, record) if record else []
    if not changed:
        return None
    return (f"warning: {record_path(read)}: these weights were made before {', '.join(changed)} changed; "
            f"run `lessonpress prepare {read.recipe.slug}` to make them again.")  # fmt: skip


def describe_provenance(read: reader.Lesson, planned: Plan) -> records.Prepared | None:
    """What the manifest says of the weights that the lesson's runs start from; None where they are as initialised."""
    record, task = read_record(read), planned["prepare"]
    if record is None or task is None:
        return None
    return {
        "file": task["file"], "function": task["function"], "seed": record.seed, "torch": record.torch,
        "initialisation": record.initialisation, "lines": record.lines, "first": record.first, "last": record.last,
        "kept": [{"name": entry.name, "figures": dict(entry.figures)} for entry in record.kept],
        "weightsSha256": record.weights,
        "madeFrom": canonical_json.digest_of(record.madeFrom.model_dump()), "changedSince": find_changes(read, record),
        "runs": {run["id"]: run["weights"] for run in planned["runs"] if run["weights"]},
        "tolerance": task["tolerance"],
    }  # fmt: skip


def store(folder: Path, record: Prepared, data: bytes) -> bool:
    """Write both files, or neither when the disk refuses; returns whether anything differs from before."""
    files = {folder / WEIGHTS: data, folder / RECORD: record.text().encode()}
    if all(place.is_file() and place.read_bytes() == content for place, content in files.items()):
        return False
    beside = {place: place.with_name(f".{place.name}.new-{os.getpid()}") for place in files}
    try:
        for place, content in files.items():
            atomic_io.write(beside[place], content)
        for place, made in beside.items():  # a crash between the two is noticed: the record names the weights' digest
            made.replace(place)
    finally:
        for made in beside.values():
            made.unlink(missing_ok=True)
    return True
