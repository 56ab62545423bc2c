"""Step hash: read a lesson, refuse what is wrong with it, and say what it is (source.json)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from lessonpress.core import canonical_json
from lessonpress.core.errors import LessonError, LessonErrors
from lessonpress.lesson import input_specs, plan, reader, trained_weights, validation_messages
from lessonpress.lesson.recipe import PROSE, WORDS

if TYPE_CHECKING:
    from lessonpress.lesson.records import Digests, LessonFile, Plan, SourceRecord

Yaml: TypeAlias = Any  # a part of a recipe as YAML gives it


def hash_lesson(folder: Path) -> tuple[SourceRecord, str | None]:
    """What the lesson in `folder` is, with its recipe as it was read. Runs no lesson code.

    Also returns a warning where the lesson's trained weights are older than what they are made from.
    """
    read = reader.read(folder)
    document = reader.document(read)
    return {**make_source_record(read), "document": document}, trained_weights.warn_if_outdated(read)


def make_source_record(read: reader.Lesson) -> SourceRecord:
    """What a lesson is, without its recipe's text.

    The digests part the lesson by what a change means: `source` is all code but the checks, `recipe` what runs and is
    recorded, `prose` the words, `checks` the checks' file. Raises LessonErrors for inputs that do not hold together,
    and for weights that are asked for and were not prepared.
    """
    planned = plan.plan_runs(read.recipe)
    misfits = (*find_misfits(read, planned), *trained_weights.find_faults(read, planned))
    # Cases inherit each other's mistakes.
    mistakes = {error.message(): error for error in islice(misfits, validation_messages.MAX_MISTAKES)}
    if mistakes:
        raise LessonErrors(list(mistakes.values()))
    files = list_files(read)
    checks = read.recipe.checks
    code = [(f["path"], f["sha256"]) for f in files if f["path"] not in (checks, reader.RECIPE)]
    document = read.places.value
    words = {key: document.get(key) for key in PROSE if key in document}
    words["experiment"] = _extract_texts(document.get("experiment"))
    words["mutants"] = [mutant.sentence for mutant in read.recipe.mutants]
    digests: Digests = {
        "source": canonical_json.digest_files(code), "prose": canonical_json.digest_of(plan.to_json(words)),
        "recipe": canonical_json.digest_of(plan.to_json(_drop_texts(document))),
        "checks": canonical_json.digest(read.files[checks]) if checks else None,
    }  # fmt: skip
    return {"schema": 1, "slug": read.recipe.slug, "files": files, "digests": digests, "plan": planned}


def list_files(read: reader.Lesson) -> list[LessonFile]:
    """The lesson's files with their digests."""
    return [{"path": name, "sha256": canonical_json.digest(data), "bytes": len(data)}
            for name, data in read.files.items()]  # fmt: skip


def find_misfits(read: reader.Lesson, planned: Plan) -> Iterator[LessonError]:
    """Every input and parameter of the plan whose values do not fit its shape or dtype, at the recipe's line."""
    for number, run in enumerate(planned["runs"]):
        for name, spec in run["inputs"]:
            at = read.setting_place(number, "inputs", name)
            yield from (read.error((*at, *f.path), f.seen, f.expected, f.fix) for f in input_specs.find_faults(spec))
        for name, spec in run["parameters"].items():
            at = read.setting_place(number, "parameters", name)
            yield from (read.error(at, f.seen, f.expected, f.fix) for f in input_specs.find_faults(spec, shaped=False))


def _drop_texts(document: Mapping[str, Yaml]) -> dict[str, Yaml]:
    out = {key: value for key, value in document.items() if key not in PROSE}
    if isinstance(out.get("experiment"), dict):
        out["experiment"] = _strip_texts(out["experiment"])
    if out.get("mutants"):
        out["mutants"] = [{key: part for key, part in mutant.items() if key != "sentence"} for mutant in out["mutants"]]
    return out


def _strip_texts(value: Yaml) -> Yaml:
    """A recipe part without its words (titles, labels, notes)."""
    if isinstance(value, dict):
        return {k: _strip_texts(v) for k, v in value.items() if not (k in WORDS and isinstance(v, str))}
    return [_strip_texts(item) for item in value] if isinstance(value, list) else value


def _extract_texts(value: Yaml) -> Yaml:
    """The words of a recipe part, in their places."""
    if isinstance(value, dict):
        texts = {k: v if k in WORDS and isinstance(v, str) else _extract_texts(v) for k, v in value.items()}
        return {k: v for k, v in texts.items() if v is not None} or None
    if isinstance(value, list):
        items = [_extract_texts(item) for item in value]
        return items if any(item is not None for item in items) else None
    return None
