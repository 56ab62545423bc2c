"""Reads a lesson's folder into one record, or says in which line it is wrong."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import ValidationError

from lessonpress.core import canonical_json, source_map, suggestions
from lessonpress.core.errors import LessonError, LessonErrors, RetryableError, WrongUsage
from lessonpress.core.settings import TAKEN
from lessonpress.core.source_map import Path as Where
from lessonpress.core.source_map import Placed
from lessonpress.lesson import conditions, data_files, file_names, lesson_files, plan, validation_messages
from lessonpress.lesson.recipe import DRAWN, STATISTICS, Experiment, Mutant, Question, Recipe, Recorded, Recording, Spec

if TYPE_CHECKING:
    from lessonpress.lesson.records import RecipeDocument, SourceRecord

RECIPE = "lesson.yaml"
GRADIENT = "grad:"  # how the address of a gradient begins
Entry = TypeVar("Entry", bound=Recorded)
NUMBER = "\0number"  # the key under which source.json keeps a number that JSON lacks
MAX_FILE_BYTES, MAX_FILES = lesson_files.MAX_BYTES, 2_000
MAX_PLANNED = 1_000_000  # values in all runs, each with all that it inherits
# Published files that a lesson's own may not be called.
RESERVED = frozenset({
    "identity.json", "manifest.json", "graph.tensorviz.json", "plan.json", "run.py", "compare.py", "verify.py",
    "requirements.txt", "preview.svg", "index.html", "cases.csv", "weights.safetensors", "bundle.zip", "SHA256SUMS",
    "ro-crate-metadata.json", "provenance.intoto.json", "CITATION.cff",
})  # fmt: skip
RESERVED_FOLDERS = frozenset({"worker", "values", ".vscode"})
_TAKEN, _TAKEN_FOLDERS = ({file_names.folded(name) for name in names} for names in (RESERVED, RESERVED_FOLDERS))


@dataclass(frozen=True)
class Lesson:
    """A lesson's recipe, its files' bytes by relative POSIX name, and the places of its recipe."""

    folder: Path
    name: str  # how errors call the recipe file
    recipe: Recipe
    files: Mapping[str, bytes]
    places: Placed

    def with_recipe(self, recipe: Recipe) -> Lesson:
        """The same lesson with another recipe."""
        return replace(self, recipe=recipe)

    def error(self, path: Where, seen: str, expected: str = "", fix: str = "") -> LessonError:
        """An error at a place of the recipe."""
        where = f"{self.name}:{self.places.line(path)}" + (f": {source_map.format_path(path)}" if path else "")
        return LessonError(where, seen, expected, fix)

    def place(self, number: int) -> Where:
        """Where in the recipe a run of the plan stands: the execution is 0, then come the cases, then the probes."""
        cases = len(self.recipe.experiment.cases) if self.recipe.experiment else 0
        if number == 0:
            return ("execution",)
        return ("experiment", "cases", number - 1) if number <= cases else ("experiment", "probes", number - 1 - cases)

    def setting_place(self, number: int, *key: str) -> Where:
        """The innermost place that says `key` for a run: the run itself, the experiment, the execution, the model."""
        for at in (self.place(number), ("experiment",), ("execution",), ("model",)):
            if (*at, *key) in self.places.lines:
                return (*at, *key)
        return self.place(number)


def read(folder: Path) -> Lesson:
    """Read and validate a lesson's folder; nothing of it is run.

    Raises LessonError (LessonErrors for several) with file, line, key, what was seen and what was expected.
    """
    name = os.path.relpath(folder / RECIPE)
    if not (folder / RECIPE).is_file():
        raise _no_recipe(folder)
    files = _files(folder)
    try:
        text = files[RECIPE].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LessonError(name, f"byte {error.start} is no UTF-8", "text in UTF-8") from None
    # Only here: the other steps reopen what hash has read, and the YAML library takes longer to import than they do.
    from lessonpress.core import yaml_reader

    placed = yaml_reader.read(text, name)
    if not isinstance(placed.value, dict):
        raise LessonError(
            f"{name}:1", "the file holds no mapping", "keys such as schema, slug, title, model, execution"
        )
    lesson = Lesson(folder, name, _recipe(placed, name), files, placed)
    mistakes = list(islice(_mistakes(lesson), validation_messages.MAX_MISTAKES))
    if mistakes:
        raise LessonErrors(mistakes)
    return lesson.with_recipe(settle(lesson.recipe, files))


def settle(recipe: Recipe, files: Mapping[str, bytes]) -> Recipe:
    """The recipe as everything later reads it: with the numbers of its files, and with the addresses of gradients."""
    return name_gradients(data_files.fill_in(recipe, files))


def name_gradients(recipe: Recipe) -> Recipe:
    """The recipe with the address of the call that gives it in the place of every `grad:ADDRESS` that is recorded."""
    experiment = recipe.experiment
    if experiment is None or experiment.record.gradients is None:
        return recipe
    wanted = experiment.record.gradients.with_respect_to

    def name(entry: Entry) -> Entry:
        found = plan.locate_gradient(entry.tensor.removeprefix(GRADIENT), wanted)
        return entry.model_copy(update={"tensor": found}) if found and entry.tensor.startswith(GRADIENT) else entry

    record = experiment.record.model_copy(update={
        "matrices": [name(entry) for entry in experiment.record.matrices],
        "vectors": [name(entry) for entry in experiment.record.vectors],
    })  # fmt: skip
    return recipe.model_copy(update={"experiment": experiment.model_copy(update={"record": record})})


def _no_recipe(folder: Path) -> LessonError:
    """Why there is no recipe: no such lesson (with the nearest that there is), another ending, or none at all."""
    where = os.path.relpath(folder)
    if not folder.is_dir():
        known = [path.parent.name for path in folder.parent.glob(f"*/{RECIPE}")]
        fix = suggestions.did_you_mean(folder.name, known) or f"To begin it, type: lessonpress new {folder.name}"
        return WrongUsage(where, "there is no such folder", "the name of a lesson", fix)
    if os.path.lexists(folder / RECIPE):
        return LessonError(f"{where}/{RECIPE}", "this is a link or no file", "a plain file", "Put one in its place.")
    other = next((name for name in ("lesson.yml", "Lesson.yaml", "lesson.json") if (folder / name).is_file()), "")
    kind = LessonError if other else WrongUsage  # a lesson with a mistake, or no lesson
    return kind(where, f"no {RECIPE} here", "every lesson's folder holds one", f"Rename {other}." if other else "")


def document(read: Lesson) -> RecipeDocument:
    """A lesson's recipe as JSON, from which `reopened` makes the same lesson again without reading YAML."""
    lines = [[list(path), line] for path, line in read.places.lines.items()]
    # Lists, as JSON gives them back: a document equals the one that was written.
    pairs = cast("list[tuple[list[str | int], int]]", lines)
    return {"name": read.name, "value": _jsonable(read.places.value), "lines": pairs}


def reopen(folder: Path, source: SourceRecord) -> Lesson:
    """The lesson as `hash` read it (source.json).

    Raises RetryableError when one of its files is no longer what was hashed.
    """
    files, hashed = _files(folder), {file["path"]: file["sha256"] for file in source["files"]}
    for name in sorted(files.keys() | hashed.keys()):
        if name not in files or canonical_json.digest(files[name]) != hashed.get(name):
            raise RetryableError(os.path.relpath(folder / name), "the file changed since the lesson was read", "",
                                 "Run the same command again.")  # fmt: skip
    document = source["document"]
    placed = Placed(_plain(document["value"]), {tuple(path): line for path, line in document["lines"]})
    return Lesson(folder, document["name"], settle(Recipe.model_validate(placed.value), files), files, placed)


def _jsonable(value: Any) -> Any:
    """A YAML value as JSON: a number that JSON lacks is a mapping no recipe can hold."""
    if isinstance(value, dict):
        return {key: _jsonable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_jsonable(item) for item in value]
    return {NUMBER: repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return float(value[NUMBER]) if value.keys() == {NUMBER} else {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _files(folder: Path) -> dict[str, bytes]:
    """The lesson's files: everything in its folder but caches and hidden files.

    Raises LessonError for a link, the folder itself included, and for names that some system cannot have.
    """
    if folder.is_symlink():
        raise LessonError(os.path.relpath(folder), "the lesson's folder is a link", "a plain folder",
                          "Put the folder itself in its place.")  # fmt: skip
    out: dict[str, bytes] = {}
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f != "__pycache__" and not f.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            relative = path.relative_to(folder).as_posix()
            if name.startswith(".") or name.endswith((".pyc", "~")):
                continue
            _require_name(path, relative)
            if path.is_symlink() or not path.is_file():
                raise LessonError(os.path.relpath(path), "this is a link or a special file", "plain files only")
            if path.stat().st_size > MAX_FILE_BYTES or len(out) >= MAX_FILES:
                raise LessonError(os.path.relpath(path), "too large or too many files",
                                  f"at most {MAX_FILES} files of {MAX_FILE_BYTES} bytes")  # fmt: skip
            out[relative] = path.read_bytes()
        for link in folders:
            if Path(root, link).is_symlink():
                raise LessonError(os.path.relpath(Path(root, link)), "this is a link", "plain folders only")
    for name, other in file_names.collisions(out):
        raise LessonError(os.path.relpath(folder / name), f"systems that fold names take it for {other}",
                          "names that differ in more than case or the composition of characters",
                          "Rename one of them.")  # fmt: skip
    return out


def _require_name(path: Path, name: str) -> None:
    """Raises LessonError for a file's name that a published file has, or that some system cannot have."""
    if wrong := file_names.fault(name):
        raise LessonError(os.path.relpath(path), wrong, "names that every system can show and unpack",
                          "Rename the file.")  # fmt: skip
    folded = file_names.folded(name)
    if folded in _TAKEN or folded.split("/")[0] in _TAKEN_FOLDERS:
        raise LessonError(os.path.relpath(path), "a published file has this name", "another name", "Rename yours.")


def _recipe(placed: Placed, name: str) -> Recipe:
    try:
        return Recipe.model_validate(placed.value)
    except ValidationError as error:
        raise LessonErrors(validation_messages.describe_errors(error, placed, name)) from None


def _mistakes(lesson: Lesson) -> Iterator[LessonError]:
    """What the types cannot say: names that must match, files that must exist, ids that must be unique."""
    recipe = lesson.recipe
    if recipe.slug != lesson.folder.resolve().name:
        yield lesson.error(
            ("slug",), f"{recipe.slug!r} given", f"the folder is called {lesson.folder.resolve().name!r}"
        )
    if recipe.slug in TAKEN:
        yield lesson.error(("slug",), f"{recipe.slug!r} is a folder of lessonpress's own", "another name",
                           "Rename the lesson's folder, and write its new name here.")  # fmt: skip
    if recipe.model.file not in lesson.files:
        yield _absent(lesson, ("model", "file"), recipe.model.file)
    if recipe.checks and recipe.checks not in lesson.files:
        yield _absent(lesson, ("checks",), recipe.checks)
    yield from _prepare_mistakes(lesson)
    yield from _doubles(lesson, [(("steps", i, "id"), step.id) for i, step in enumerate(recipe.steps)])
    if recipe.opening_step and recipe.opening_step not in {s.id for s in recipe.steps}:
        known = ", ".join(step.id for step in recipe.steps) or "none"
        yield lesson.error(("opening_step",), f"no step is called {recipe.opening_step!r}", f"steps: {known}")
    for name, spec in recipe.execution.inputs.items():
        yield from _spec_mistakes(lesson, ("execution", "inputs", name), spec)
    if recipe.experiment:
        yield from _experiment_mistakes(lesson, recipe.experiment)
    yield from data_files.find_mistakes(recipe, lesson.files, lesson.error)
    for name, words in recipe.vocabularies.items():
        for at, word in enumerate(words):
            if word in words[:at] or word.split() != [word]:
                seen = "stands in it twice" if word in words[:at] else "is no single word"
                yield lesson.error(("vocabularies", name, at), f"{word!r} {seen}", "each word once, without blanks")
    yield from _doubles(lesson, [(("questions", i, "id"), question.id) for i, question in enumerate(recipe.questions)])
    for i, question in enumerate(recipe.questions):
        yield from _question_mistakes(lesson, ("questions", i), question)
    yield from _doubles(lesson, [(("mutants", i, "id"), mutant.id) for i, mutant in enumerate(recipe.mutants)])
    for i, mutant in enumerate(recipe.mutants):
        yield from _mutant_mistakes(lesson, ("mutants", i), mutant)


def _absent(lesson: Lesson, path: Where, file: str) -> LessonError:
    there = ", ".join(name for name in lesson.files if name.endswith(".py"))
    return lesson.error(path, f"there is no {file} in the folder", f"Python files there: {there or 'none'}")


def _mutant_mistakes(lesson: Lesson, at: Where, mutant: Mutant) -> Iterator[LessonError]:
    """A broken variant differs in exactly one place of the lesson's code, and there are checks to notice it."""
    change, checks = mutant.replace, lesson.recipe.checks
    if not checks:
        yield lesson.error((*at, "breaks"), "a broken variant needs checks that fail on it",
                           "`checks:` names their file")  # fmt: skip
    if change.file not in lesson.files or change.file in (checks, RECIPE):
        code = [name for name in lesson.files if name.endswith(".py") and name != checks]
        yield lesson.error((*at, "replace", "file"), f"{change.file} is no code that the run uses",
                           f"one of: {', '.join(code)}")  # fmt: skip
        return
    text = lesson.files[change.file].decode("utf-8", errors="replace")
    lines = [str(text.count("\n", 0, match.start()) + 1) for match in re.finditer(re.escape(change.find), text)]
    if len(lines) != 1:
        seen = f"{change.find!r:.80} stands in {change.file} {len(lines)} times"
        seen += f" (lines {', '.join(lines[:5])})" if lines else ""
        yield lesson.error((*at, "replace", "find"), seen, "exactly once",
                           "Copy more of the line, so that it names one place.")  # fmt: skip
    if change.find == change.with_:
        yield lesson.error((*at, "replace", "with"), "it is what stands there already", "code that breaks something")


def _question_mistakes(lesson: Lesson, at: Where, question: Question) -> Iterator[LessonError]:
    """A question asks one thing, and says in one way what is right."""
    if bool(question.ask) == bool(question.prompt):
        both = "ask and prompt stand side by side" if question.ask else "nothing is asked"
        yield lesson.error(at, both, "`ask:` with the question")
    kinds = [name for name in ("answer", "number", "until") if getattr(question, name) is not None]
    if len(kinds) != 1:
        seen = f"{' and '.join(kinds)} stand side by side" if kinds else "nothing says what is right"
        yield lesson.error(at, seen, "one of answer, number, until")
        return
    if question.options and kinds != ["answer"]:
        yield lesson.error((*at, "options"), f"options beside {kinds[0]}", "`answer:`, which names one of them")
    if question.within is not None and kinds != ["number"]:
        yield lesson.error((*at, "within"), f"a tolerance beside {kinds[0]}", "`number:`, which it belongs to")
    if question.until is not None:
        yield from _condition_mistakes(lesson, (*at, "until"), question.until)


def _condition_mistakes(lesson: Lesson, at: Where, text: str) -> Iterator[LessonError]:
    """A condition names what is recorded."""
    try:
        condition = conditions.parse_condition(text)
    except ValueError as error:
        yield lesson.error(at, str(error), conditions.FORM)
        return
    record = lesson.recipe.experiment.record if lesson.recipe.experiment else Recording()
    arrays, metrics = ({each.id for each in group} for group in ([*record.matrices, *record.vectors], record.metrics))
    if condition.record not in arrays | metrics:
        known = sorted(arrays | metrics)
        yield lesson.error(at, f"nothing recorded is called {condition.record}",
                           f"recorded: {', '.join(known) or 'nothing'}",
                           suggestions.did_you_mean(condition.record, known))  # fmt: skip
    elif condition.statistic and condition.statistic not in STATISTICS:
        yield lesson.error(at, f"there is no statistic {condition.statistic}", f"one of {', '.join(STATISTICS)}")
    elif condition.record in metrics and (condition.place or condition.statistic):
        yield lesson.error(at, f"{condition.record} is a single number", f"`{condition.record} {condition.sense} …`")


def _prepare_mistakes(lesson: Lesson) -> Iterator[LessonError]:
    """Weights are asked for by name only where the recipe says how they are made, and by a file that is there."""
    training, experiment = lesson.recipe.prepare, lesson.recipe.experiment
    if training and training.file and training.file not in lesson.files:
        yield _absent(lesson, ("prepare", "file"), training.file)
    if training:
        return
    wanted: list[tuple[Where, str | None]] = [(("execution", "weights"), lesson.recipe.execution.weights)]
    if experiment:
        wanted += [(("experiment", "weights"), experiment.weights)]
        wanted += [(("experiment", group, i, "weights"), run.weights) for group in ("cases", "probes")
                  for i, run in enumerate(getattr(experiment, group))]  # fmt: skip
    for path, name in wanted:
        if name not in (None, DRAWN):
            yield lesson.error(path, f"the weights {name!r} are asked for",
                               "`prepare:` says how weights are made, or `drawn` for what the seed draws")  # fmt: skip


def _experiment_mistakes(lesson: Lesson, experiment: Experiment) -> Iterator[LessonError]:
    known = set(lesson.recipe.execution.inputs) | set(experiment.inputs)
    at: Where = ("experiment",)
    record = experiment.record
    runs = 1 + len(experiment.cases) + len(experiment.probes)
    shared = sum(path[1:2] == ("inputs",) or path[:2] == ("model", "args") for path in lesson.places.lines)
    if runs * (shared + 1) > MAX_PLANNED:
        yield lesson.error(at, f"{runs} runs share {shared} values",
                           f"at most {MAX_PLANNED} values in all runs together")  # fmt: skip
    yield from _doubles(lesson, [((*at, group, i, "id"), run.id) for group in ("cases", "probes")
                                 for i, run in enumerate(getattr(experiment, group))])  # fmt: skip
    for name, spec in experiment.inputs.items():
        inherits = name in lesson.recipe.execution.inputs
        yield from _spec_mistakes(lesson, (*at, "inputs", name), spec, partial=inherits)
    for i, run in enumerate((*experiment.cases, *experiment.probes)):
        group, index = ("cases", i) if i < len(experiment.cases) else ("probes", i - len(experiment.cases))
        if run.id == "execution":
            yield lesson.error((*at, group, index, "id"), "'execution' is the name of the execution's own run",
                               "another name")
        for name in sorted(set(run.inputs) - known):
            expected = f"inputs: {', '.join(sorted(known))}"
            yield lesson.error((*at, group, index, "inputs", name), f"no input is called {name!r}", expected)
        for name, spec in run.inputs.items():
            yield from _spec_mistakes(lesson, (*at, group, index, "inputs", name), spec, partial=True)
        for name, spec in run.parameters.items():
            yield from _spec_mistakes(lesson, (*at, group, index, "parameters", name), spec, partial=True)
    if experiment.control and experiment.control.input not in known:
        yield lesson.error((*at, "control", "input"), f"no input is called {experiment.control.input!r}",
                           f"inputs: {', '.join(sorted(known))}")  # fmt: skip
    if experiment.control:
        yield from _range_mistakes(lesson, (*at, "control", "range"), experiment.control.range)
    arrays = [entry.id for entry in (*record.matrices, *record.vectors)]
    for group, entries in (("matrices", record.matrices), ("vectors", record.vectors)):
        for i, entry in enumerate(entries):
            yield from _range_mistakes(lesson, (*at, "record", group, i, "range"), entry.range)
            if entry.same_scale_as is not None and entry.same_scale_as not in arrays:
                yield lesson.error((*at, "record", group, i, "same_scale_as"),
                                   f"nothing recorded is called {entry.same_scale_as!r}",
                                   f"recorded: {', '.join(arrays)}")  # fmt: skip
    if lesson.recipe.hero is not None and lesson.recipe.hero not in arrays:
        yield lesson.error(("hero",), f"nothing recorded is called {lesson.recipe.hero!r}",
                           f"recorded: {', '.join(arrays)}")  # fmt: skip
    yield from _doubles(lesson, [((*at, "record", group, i, "id"), entry.id) for group in ("matrices", "vectors")
                                 for i, entry in enumerate(getattr(record, group))])  # fmt: skip
    wanted = record.gradients.with_respect_to if record.gradients else []
    for group, entries in (("matrices", record.matrices), ("vectors", record.vectors)):
        for i, entry in enumerate(entries):
            if entry.tensor.startswith(GRADIENT) and entry.tensor.removeprefix(GRADIENT) not in wanted:
                yield lesson.error((*at, "record", group, i, "tensor"), f"no gradient with respect to "
                                   f"{entry.tensor.removeprefix(GRADIENT)!r} is taken",
                                   f"record.gradients.with_respect_to: {', '.join(wanted) or 'nothing'}")  # fmt: skip
    yield from _doubles(lesson, [((*at, "record", "metrics", i, "id"), m.id) for i, m in enumerate(record.metrics)])
    for i, metric in enumerate(record.metrics):
        if metric.of not in arrays:
            expected = f"recorded: {', '.join(arrays)}"
            yield lesson.error(
                (*at, "record", "metrics", i, "of"), f"nothing recorded is called {metric.of!r}", expected
            )
        if metric.value.startswith("metric_") and not lesson.recipe.checks:
            yield lesson.error((*at, "record", "metrics", i, "value"), "a function needs `checks:` to name its file")


def _range_mistakes(lesson: Lesson, place: Where, bounds: Sequence[float] | None) -> Iterator[LessonError]:
    """What is wrong with the two ends of a range."""
    if bounds and not -math.inf < bounds[0] < bounds[1] < math.inf:
        fix = f"Write [{bounds[1]}, {bounds[0]}]." if bounds[0] > bounds[1] else ""
        yield lesson.error(place, f"{bounds} given", "two numbers, the smaller one first", fix)


def _doubles(lesson: Lesson, ids: Sequence[tuple[Where, str]]) -> Iterator[LessonError]:
    """Ids that an earlier entry has already, each at its own line."""
    first: dict[str, Where] = {}
    for path, name in ids:
        if name in first:
            before = f"line {lesson.places.line(first[name])} has it already"
            yield lesson.error(path, f"the id {name!r} stands here a second time", before, "Each id once.")
        first.setdefault(name, path)


def _spec_mistakes(lesson: Lesson, path: Where, spec: Spec, *, partial: bool = False) -> Iterator[LessonError]:
    """An input says what it is in exactly one way."""
    given = spec.model_fields_set
    ways = {name.rstrip("_") for name in given} & {
        "fill", "values", "words", "data", "literal", "list", "tuple", "dict"}  # fmt: skip
    if len(ways) > 1:
        yield lesson.error(
            path, f"{' and '.join(sorted(ways))} stand side by side", "one way of saying what the input is"
        )
    elif not ways and not partial:
        yield lesson.error(
            path, "nothing says what this input holds", "one of fill, values, words, data, literal, list, tuple, dict"
        )
    yield from _word_mistakes(lesson, path, spec, partial=partial)
    if "fill" in given and "shape" not in given and not partial:
        yield lesson.error(path, "a fill without a shape", "shape, dtype and fill")
    for way in ("list", "tuple", "dict"):
        inner = getattr(spec, f"{way}_") or ()
        for key, item in inner.items() if isinstance(inner, dict) else enumerate(inner):
            yield from _spec_mistakes(lesson, (*path, way, key), item, partial=partial)


def _word_mistakes(lesson: Lesson, path: Where, spec: Spec, *, partial: bool) -> Iterator[LessonError]:
    """Words stand in a vocabulary of the recipe; a case inherits that of the input that it changes."""
    known = lesson.recipe.vocabularies
    if spec.vocabulary and spec.vocabulary not in known:
        yield lesson.error((*path, "vocabulary"), f"no vocabulary is called {spec.vocabulary!r}",
                           f"vocabularies: {', '.join(known) or 'none'}",
                           suggestions.did_you_mean(spec.vocabulary, list(known)))  # fmt: skip
        return
    if spec.words is None:
        return
    name = spec.vocabulary or (_find_vocabulary(lesson.recipe, path) if partial else None)
    if name is None:
        yield lesson.error((*path, "words"), "nothing says which numbers these words are", "`vocabulary:` names a list")
        return
    for word in plan.list_words(plan.split_words(spec.words)):
        if word not in known.get(name, ()):
            fix = suggestions.did_you_mean(str(word), known.get(name, ()))
            yield lesson.error((*path, "words"), f"{word!r} is not in the vocabulary {name}", "", fix)
            return


def _find_vocabulary(recipe: Recipe, path: Where) -> str | None:
    """The vocabulary that an input of a case inherits; `path` ends in the input's name."""
    shared = [recipe.experiment.inputs if recipe.experiment else {}, recipe.execution.inputs]
    specs = (inputs.get(str(path[-1])) for inputs in shared)
    return next((spec.vocabulary for spec in specs if spec and spec.vocabulary), None)
