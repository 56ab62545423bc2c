"""What a lesson's recipe (lesson.yaml, schema 1) may say, as frozen records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from lessonpress.lesson import lesson_files

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$")]
Slug = Annotated[str, StringConstraints(pattern=rf"^{lesson_files.SLUG.pattern}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*\.py$")]
Dtype = Literal[
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128",
    "int64", "int32", "int16", "int8", "uint8", "bool",
]  # fmt: skip
FloatDtype = Literal["float32", "float64", "float16", "bfloat16"]
Fill = Literal["zeros", "ones", "rand", "randn", "arange", "eye", "ramp"]
Size = Annotated[int, Field(ge=0)]
# One bound for each type: JSON Schema has no word for a bound of both at once.
NotNegative = Annotated[float, Field(ge=0)] | Annotated[int, Field(ge=0)]
DRAWN = "drawn"  # in the place of a name of prepared weights: those that the seed draws


# The statistics that a metric may name; replay/statistics.py and statistics.js compute them.
STATISTICS = ("sum", "mean", "min", "max", "argmax", "argmin", "norm")
# Keys of a recipe's parts whose texts are words, wherever they stand below `experiment`.
WORDS = frozenset({"title", "description", "label", "note", "unit", "same_scale_as"})


@dataclass(frozen=True)
class Role:
    """What a key of the recipe is for, declared beside it and nowhere else.

    `prose`: its value is words, which run nothing. `manifest`: it enters the manifest as it is, under its own name.
    `catalogue`: the pages around the lessons show it, out of the manifest.
    """

    prose: bool = False
    manifest: bool = False
    catalogue: bool = False


RUN, PUBLISHED = Role(), Role(prose=True, manifest=True)
SHOWN, LISTED = Role(prose=True), Role(prose=True, manifest=True, catalogue=True)


class Record(BaseModel):
    """A frozen record that refuses what it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class Spec(Record):
    """An input: a filled tensor, literal values, a plain value, or a list, tuple or dict of inputs."""

    shape: list[Size] | None = Field(None,
        description="Sizes of the axes, the outermost first; `[]` is a single number.")
    dtype: Dtype | None = Field(None, description="The numbers' type; float32 unless said otherwise.")
    fill: Fill | bool | int | float | None = Field(None,
        description="Every value at once: a number, or a rule such as `zeros` or `randn` (drawn from the seed).")
    start: int | float | None = Field(None, description="The first value of the fill `ramp`.")
    step: int | float | None = Field(None, description="What each next value of the fill `ramp` adds, row by row.")
    values: Any = Field(None, description="The values themselves, as nested lists.")
    words: Any = Field(None,
        description="Words instead of numbers, as nested lists or as a text that is parted at its blanks.")
    vocabulary: Id | None = Field(None, description="The vocabulary that says which number each of the `words` is.")
    data: Id | None = Field(None, description="The data file that holds the numbers, by its name under `data:`.")
    literal: Any = Field(None, description="A value that is no tensor: a number, a text, true, false, or null.")
    list_: list[Spec] | None = Field(None, alias="list", description="A Python list of inputs.")
    tuple_: list[Spec] | None = Field(None, alias="tuple", description="A Python tuple of inputs.")
    dict_: dict[str, Spec] | None = Field(None, alias="dict", description="A Python dict of inputs by key.")


class Data(Record):
    """A file of the lesson's folder with the numbers of an input."""

    file: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*\.npy$")] = Field(
        description="A NumPy file (`numpy.save`) of at most 20,000 numbers, which says shape and dtype.")


class Model(Record):
    """Which class of which file is built, with what constructor arguments."""

    file: FileName = Field("model.py", description="The file that holds the class, in the lesson's folder.")
    class_: Annotated[str, StringConstraints(pattern=r"^[^\W\d]\w*$")] = Field(alias="class",
        description="The class, derived from torch.nn.Module.")
    args: dict[str, Any] = Field({}, description="What its constructor is given, by name.")


class Tolerance(Record):
    """How far a regenerated number may lie from the published one: atol + rtol·|published|."""

    atol: NotNegative = Field(description="The absolute part.")
    rtol: NotNegative = Field(description="The part relative to the published number.")


class Prepare(Record):
    """How weights are made, by training say: a seeded generator function of the lesson's, run by `lessonpress prepare`.

    `function` of `file` (the model's, unless it says so) is called with the model, built and seeded as a run builds it,
    and with `args`. What it yields is either a mapping of numbers, `{"step": 10, "of": 300, "loss": 0.4}`, which tells
    how far it is, or a name and such a mapping, `"trained", {"loss": 0.1}`, which keeps the model's parameters and
    buffers as they are then. A run asks for them with `weights: trained`: a case or probe before the experiment before
    the execution; `weights: drawn` asks for what the seed draws, as does saying nothing anywhere. The seed is that of
    the experiment (or of the execution, where there is none) unless it says so, so that weights as drawn are those
    with which the training begins. `tolerance` holds a repeated training against the stored one.
    """

    file: FileName | None = Field(None, description="The file that holds the function; the model's unless said.")
    function: Annotated[str, StringConstraints(pattern=r"^[^\W\d]\w*$")] = Field("prepare",
        description="The generator function.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(None,
        description="The seed of the training; the experiment's, or the execution's, unless said otherwise.")
    mode: Literal["eval", "train"] = Field("train", description="The model's mode while it is trained.")
    args: dict[str, Any] = Field({}, description="What the function is given beside the model, by name.")
    tolerance: Tolerance = Field(Tolerance(atol=1e-4, rtol=1e-3),
        description="How far the weights and figures of a repeated training may lie from the stored ones.")


class Execution(Record):
    """The run that `run.py` repeats."""

    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0,
        description="All random generators start from it before the model is built, and again before the call.")
    mode: Literal["eval", "train"] = Field("eval",
        description="`eval`, or `train` where dropout and batch statistics are the lesson.")
    dtype: FloatDtype = Field("float32",
        description="The dtype of parameters and float inputs; weights are drawn in float32, then cast.")
    weights: Id | None = Field(None,
        description="The prepared weights to start from; `drawn`, or nothing, is what the seed draws.")
    inputs: dict[str, Spec] = Field({},
        description="What forward() is called with, by the names of its parameters and in their order.")


class Control(Record):
    """The input that the cases change, and the range in which a reader may move it."""

    input: str = Field(description="The input that the page's slider moves.")
    label: str | None = Field(None, description="Its name for readers.")
    range: Annotated[list[int | float], Field(min_length=2, max_length=2)] | None = Field(None,
        description="The least and the largest value that a reader may set.")


class Run(Record):
    """A probe: one more run that checks may look at. It overrides some of what the cases share."""

    id: Id = Field(description="The run's name for checks and for prose.")
    weights: Id | None = Field(None,
        description="The prepared weights of this run; the experiment's unless said otherwise.")
    inputs: dict[str, Spec] = Field({},
        description="Inputs of this run; what is left out is inherited, dtype and shape too.")
    args: dict[str, Any] = Field({}, description="Constructor arguments of this run.")
    parameters: dict[str, Spec] = Field({}, description="Parameters of the model that are overridden, by name.")


class Case(Run):
    """A run that is shown to readers."""

    label: str | None = Field(None, description="The case's name for readers.")
    note: str | None = Field(None, description="What to see in this case; Markdown with TeX.")
    target: str | None = Field(None,
        description="The node that this case is about; the experiment's target unless said otherwise.")


class Axis(Record):
    """What one axis of a recorded array counts, and the names of its places."""

    name: str | None = Field(None, description="What the axis counts, such as `source position`.")
    labels: list[str] | None = Field(None, description="A name for each place along the axis.")


class Recorded(Record):
    """An array to publish: where it arises (`tensor`), and how it is cut (`select`, `reshape`)."""

    id: Id = Field(description="The array's name for metrics, checks and prose.")
    label: str | None = Field(None, description="The figure's title for readers.")
    tensor: str = Field(
        description="Where it arises: a module (`encoder[0]`), an operation, `input:NAME`, `param:NAME`, `output`.")
    select: str | None = Field(None, description="Basic numpy indexing that cuts it, such as `[0, :, 1:3]`.")
    reshape: list[int] | None = Field(None, description="The shape in which it is published.")
    unit: str | None = Field(None, description="What its numbers are counted in, such as `nats`.")
    range: Annotated[list[int | float], Field(min_length=2, max_length=2)] | None = Field(None,
        description="The ends of the figure's scale; by itself a scale reaches over all cases and the control's range.")
    same_scale_as: Id | None = Field(None, description="The id of the array whose figure has the same scale.")


class Matrix(Recorded):
    """A recorded array of two or more axes."""

    rows: Axis | None = Field(None, description="The axis before the last.")
    columns: Axis | None = Field(None, description="The last axis.")
    panels: list[Axis] | None = Field(None,
        description="The axes before rows and columns, outermost first; each is shown as panels.")


class Vector(Recorded):
    """A recorded array of one axis, or a single number."""

    axis: Axis | None = Field(None, description="The only axis.")


class Metric(Record):
    """A number computed from a recorded array: a known statistic or a function of checks.py."""

    id: Id = Field(description="The number's name for prose.")
    label: str | None = Field(None, description="Its title for readers.")
    value: Annotated[str, StringConstraints(pattern=rf"^({'|'.join(STATISTICS)}|metric_\w+)$")] = Field(
        description=f"A statistic ({', '.join(STATISTICS)}), or a function `metric_…` of checks.py.")
    of: Id = Field(description="The id of the recorded array that it is computed from.")


class Gradients(Record):
    """The gradients to record: of one number of the run, without a line for it in the model."""

    of: str = Field(
        description="The address of the value whose gradient is taken; summed, where it is no single number.")
    select: str | None = Field(None, description="Basic numpy indexing that cuts the value, such as `[0, 3]`.")
    with_respect_to: Annotated[list[str], Field(min_length=1)] = Field(
        description="Addresses of inputs, parameters, results of layers; `grad:ADDRESS` then names a gradient.")


class Recording(Record):
    """Everything that is published of each case."""

    gradients: Gradients | None = Field(None, description="Gradients, which `grad:ADDRESS` in a `tensor:` names.")
    matrices: list[Matrix] = Field([], description="Arrays of two or more axes.")
    vectors: list[Vector] = Field([], description="Arrays of one axis, or single numbers.")
    metrics: list[Metric] = Field([], description="Numbers that are computed from recorded arrays.")


class Experiment(Record):
    """The cases, what they share, and what is recorded of them."""

    title: str | None = Field(None, description="The example's heading.")
    description: str | None = Field(None, description="What is held fixed and what is changed; Markdown with TeX.")
    target: str | None = Field(None, description="The node of the graph that the cases are about.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(None,
        description="The seed of every case; the execution's unless said otherwise.")
    mode: Literal["eval", "train"] | None = Field(None, description="The execution's unless said otherwise.")
    dtype: FloatDtype = Field("float64",
        description="Float inputs and parameters are cast to it; float64 records agree on every machine.")
    weights: Id | None = Field(None,
        description="The prepared weights of every case; the execution's unless said otherwise.")
    inputs: dict[str, Spec] = Field({}, description="What the cases share; it replaces what the execution says.")
    control: Control | None = Field(None, description="The input that the cases change and that a reader may move.")
    cases: Annotated[list[Case], Field(min_length=1)] = Field(description="The runs that readers compare, in order.")
    probes: list[Run] = Field([], description="Runs for the checks alone; readers are never offered them.")
    record: Recording = Field(Recording(), description="What is published of each case.")


class Paper(Record):
    """A publication that the lesson rests on."""

    key: Id | None = Field(None, description="Its name in prose, where `[@key]` cites it.")
    title: str = Field(description="The publication's title.")
    authors: list[Annotated[str, StringConstraints(min_length=1)]] = Field([],
        description="Who wrote it, a name each; a citation of the lesson lists the publications that have any.")
    url: Annotated[str, StringConstraints(pattern=r"^https?://")] | None = Field(None,
        description="Its address on the web.")


class Milestone(Record):
    """The step in the history of the field that the lesson shows."""

    name: str = Field(description="What was new.")
    year: int | None = Field(None, description="When it was first published.")
    kind: str | None = Field(None, description="Such as `Component` or `Model`.")
    fidelity: str | None = Field(None, description="What is as in the papers and what is not; Markdown with TeX.")
    papers: list[Paper] = Field([], description="The publications that the lesson rests on.")


class Step(Record):
    """One station of the story, tied to a node of the graph."""

    id: Id = Field(description="The step's name, for `opening_step`.")
    target: str = Field(description="The node of the graph that the step is about.")
    title: str = Field(description="The step's heading.")
    note: str = Field("", description="The step's text; Markdown with TeX.")


class Term(Record):
    """A glossary entry with a text for each level of reader."""

    term: str = Field(description="The word, as it stands in the prose.")
    beginner: str = Field("", description="What it means, in everyday words.")
    expert: str = Field("", description="What it means, exactly.")


class Question(Record):
    """Something to predict or to find out. What is right is computed from the recorded values at build time.

    It says `answer` (of a choice, or of a number to be guessed), `number` (to be worked out, right within a tolerance),
    or `until` (a condition that a reader reaches by moving the page's inputs).
    """

    id: Id = Field(description="The question's name.")
    ask: str | None = Field(None, description="What the reader is asked; Markdown with TeX.")
    prompt: str | None = Field(None, description="The same as `ask`, which is the shorter word.")
    options: list[str] = Field([], description="Answers to choose from; without them the reader guesses a number.")
    answer: str | None = Field(None,
        description="An expression over recorded values, such as `up.y | argmax`; an option is named by its place.")
    number: str | None = Field(None,
        description="An expression over recorded values; a reader's number is right within `within` of it.")
    within: NotNegative | None = Field(None,
        description="How far from `number` an answer may lie; half a percent unless said otherwise.")
    until: str | None = Field(None,
        description="What is to be reached on the live page: a record, an element or statistic of it, and a bound.")
    hint: str | None = Field(None, description="What helps on; folded. Markdown with TeX.")
    solution: str | None = Field(None, description="How it is found; folded with the answer. Markdown with TeX.")

    @property
    def words(self) -> str:
        """What the reader is asked."""
        return self.ask or self.prompt or ""


class Replacement(Record):
    """One place of one file of the lesson, and what stands there instead."""

    file: FileName = Field(description="A Python file of the lesson, but not the checks'.")
    find: Annotated[str, Field(min_length=1)] = Field(description="Text that stands in the file exactly once.")
    with_: str = Field(alias="with", description="What stands there instead.")


class Mutant(Record):
    """A broken variant of the lesson, on which the checks that it names must fail."""

    id: Id = Field(description="The variant's name.")
    sentence: str = Field(description="What is broken, in a learner's words.")
    replace: Replacement = Field(description="The one change that breaks it.")
    breaks: Annotated[list[Annotated[str, StringConstraints(pattern=r"^check_\w+$")]], Field(min_length=1)] = Field(
        description="The checks that must fail on it.")


class Recipe(Record):
    """A whole lesson.yaml."""

    schema_: Annotated[Literal[1], RUN] = Field(alias="schema", description="The version of this format.")
    slug: Annotated[Slug, Role(manifest=True, catalogue=True)] = Field(
        description="The lesson's name in addresses; it equals the folder's name.")
    title: Annotated[str, LISTED] = Field(description="The lesson's title: a question or a claim.")
    question: Annotated[str, LISTED] = Field("", description="The one question that the lesson answers.")
    description: Annotated[str, LISTED] = Field("", description="What a reader will do and see; Markdown with TeX.")
    category: Annotated[str, LISTED] = Field("", description="The heading under which the catalogue lists the lesson.")
    tags: Annotated[list[str], LISTED] = Field([], description="Words by which the catalogue finds it.")
    curator: Annotated[str, LISTED] = Field("", description="Who answers for the lesson.")
    attribution: Annotated[str, PUBLISHED] = Field("", description="Whose work the lesson uses.")
    license: Annotated[str, PUBLISHED] = Field("", description="On what terms model and text may be used.")
    limitations: Annotated[str, PUBLISHED] = Field("", description="What the lesson does not show; Markdown with TeX.")
    milestone: Annotated[Milestone | None, LISTED] = Field(None,
        description="The step in the history of the field that the lesson shows.")
    model: Annotated[Model, RUN] = Field(description="The class that is run.")
    data: Annotated[dict[str, Data], RUN] = Field({}, description="Files with the numbers of inputs, by name.")
    vocabularies: Annotated[dict[str, Annotated[list[str], Field(min_length=1)]], RUN] = Field({},
        description="Lists of words by name; a word's number is its place in the list, from 0.")
    prepare: Annotated[Prepare | None, RUN] = Field(None,
        description="How weights are made before any run, by training say.")
    execution: Annotated[Execution, RUN] = Field(description="The run that run.py repeats.")
    experiment: Annotated[Experiment | None, RUN] = Field(None, description="The runs that are recorded and shown.")
    tolerance: Annotated[Tolerance | None, RUN] = Field(None,
        description="How far a number that is made again may lie from the published one.")
    checks: Annotated[FileName | None, RUN] = Field(None,
        description="The file with the check functions, usually checks.py.")
    mutants: Annotated[list[Mutant], RUN] = Field([],
        description="Broken variants of the lesson, on which its checks must fail.")
    scope: Annotated[str, SHOWN] = Field("", description="One sentence that says what the lesson covers.")
    opening_step: Annotated[Id | None, SHOWN] = Field(None, description="The step that is shown first.")
    steps: Annotated[list[Step], PUBLISHED] = Field([], description="The story, station by station.")
    hero: Annotated[Id | None, SHOWN] = Field(None,
        description="The id of the recorded array that the first screen shows; else the first that the control drives.")
    questions: Annotated[list[Question], RUN] = Field([], description="Predictions to make before reading on.")
    glossary: Annotated[list[Term], LISTED] = Field([], description="Terms with a text for each level of reader.")


def role(name: str) -> Role:
    """The role of a key of the recipe, by the name of its field. Raises LookupError where none is declared."""
    roles = [each for each in Recipe.model_fields[name].metadata if isinstance(each, Role)]
    if not roles:
        raise LookupError(f"the recipe's key {name!r} declares no role")
    return roles[0]


def keys(chosen: Callable[[Role], object]) -> tuple[str, ...]:
    """The keys of a recipe, as authors write them, whose role is chosen."""
    return tuple(field.alias or name for name, field in Recipe.model_fields.items() if chosen(role(name)))


PROSE = keys(lambda role: role.prose)


def manifest_values(recipe: Recipe) -> dict[str, Any]:
    """What enters the manifest as it stands in the recipe, by its key."""
    whole = recipe.model_dump()
    return {name: whole[name] for name in Recipe.model_fields if role(name).manifest}


def schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of lesson.yaml, by which an editor completes keys and shows mistakes."""
    body = Recipe.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "lesson.schema.json", **body}
