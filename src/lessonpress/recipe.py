"""What a lesson's recipe (lesson.yaml, schema 1) may say, as frozen records."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*\.py$")]
Dtype = Literal[
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128",
    "int64", "int32", "int16", "int8", "uint8", "bool",
]  # fmt: skip
FloatDtype = Literal["float32", "float64", "float16", "bfloat16"]
Fill = Literal["zeros", "ones", "rand", "randn", "arange", "eye", "ramp"]
Size = Annotated[int, Field(ge=0)]


class Record(BaseModel):
    """A frozen record that refuses what it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class Spec(Record):
    """An input: a filled tensor, literal values, a plain value, or a list, tuple or dict of inputs."""

    shape: list[Size] | None = None
    dtype: Dtype | None = None
    fill: Fill | bool | int | float | None = None
    start: float | int | None = None
    step: float | int | None = None
    values: Any = None
    literal: Any = None
    list_: list[Spec] | None = Field(None, alias="list")
    tuple_: list[Spec] | None = Field(None, alias="tuple")
    dict_: dict[str, Spec] | None = Field(None, alias="dict")


class Model(Record):
    """Which class of which file is built, with what constructor arguments."""

    file: FileName = "model.py"
    class_: Annotated[str, StringConstraints(pattern=r"^[^\W\d]\w*$")] = Field(alias="class")
    args: dict[str, Any] = {}


class Execution(Record):
    """The run that `run.py` repeats."""

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    mode: Literal["eval", "train"] = "eval"
    dtype: FloatDtype = "float32"
    inputs: dict[str, Spec] = {}


class Control(Record):
    """The input that the cases change, and the range in which a reader may move it."""

    input: str
    label: str | None = None
    range: Annotated[list[float | int], Field(min_length=2, max_length=2)] | None = None


class Run(Record):
    """A probe: one more run that checks may look at. It overrides some of what the cases share."""

    id: Id
    inputs: dict[str, Spec] = {}
    args: dict[str, Any] = {}
    parameters: dict[str, Spec] = {}


class Case(Run):
    """A run that is shown to readers."""

    label: str | None = None
    note: str | None = None
    target: str | None = None


class Axis(Record):
    """What one axis of a recorded array counts, and the names of its places."""

    name: str | None = None
    labels: list[str] | None = None


class Recorded(Record):
    """An array to publish: where it arises (`tensor`), and how it is cut (`select`, `reshape`)."""

    id: Id
    label: str | None = None
    tensor: str
    select: str | None = None
    reshape: list[int] | None = None


class Matrix(Recorded):
    """A recorded array of two or more axes."""

    rows: Axis | None = None
    columns: Axis | None = None
    panels: list[Axis] | None = None


class Vector(Recorded):
    """A recorded array of one axis, or a single number."""

    axis: Axis | None = None


class Metric(Record):
    """A number computed from a recorded array: a known statistic or a function of checks.py."""

    id: Id
    label: str | None = None
    value: Annotated[str, StringConstraints(pattern=r"^(sum|mean|min|max|argmax|argmin|norm|metric_\w+)$")]
    of: Id


class Recording(Record):
    """Everything that is published of each case."""

    matrices: list[Matrix] = []
    vectors: list[Vector] = []
    metrics: list[Metric] = []


class Experiment(Record):
    """The cases, what they share, and what is recorded of them."""

    title: str | None = None
    description: str | None = None
    target: str | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    mode: Literal["eval", "train"] | None = None
    dtype: FloatDtype = "float64"
    inputs: dict[str, Spec] = {}
    control: Control | None = None
    cases: Annotated[list[Case], Field(min_length=1)]
    probes: list[Run] = []
    record: Recording = Recording()


class Paper(Record):
    """A publication that the lesson rests on."""

    title: str
    url: Annotated[str, StringConstraints(pattern=r"^https?://")] | None = None


class Milestone(Record):
    """The step in the history of the field that the lesson shows."""

    name: str
    year: int | None = None
    kind: str | None = None
    fidelity: str | None = None
    papers: list[Paper] = []


class Step(Record):
    """One station of the story, tied to a node of the graph."""

    id: Id
    target: str
    title: str
    note: str = ""


class Term(Record):
    """A glossary entry with a text for each level of reader."""

    term: str
    beginner: str = ""
    expert: str = ""


class Question(Record):
    """A prediction to make first; its answer is an expression over the recorded values, computed at build time."""

    id: Id
    prompt: str
    options: list[str] = []
    answer: str


class Replacement(Record):
    """One place of one file of the lesson, and what stands there instead."""

    file: FileName
    find: Annotated[str, Field(min_length=1)]
    with_: str = Field(alias="with")


class Mutant(Record):
    """A broken variant of the lesson, on which the checks that it names must fail."""

    id: Id
    sentence: str
    replace: Replacement
    breaks: Annotated[list[Annotated[str, StringConstraints(pattern=r"^check_\w+$")]], Field(min_length=1)]


class Tolerance(Record):
    """How far a regenerated number may lie from the published one: atol + rtol·|published|."""

    atol: Annotated[float | int, Field(ge=0)]
    rtol: Annotated[float | int, Field(ge=0)]


class Recipe(Record):
    """A whole lesson.yaml."""

    schema_: Literal[1] = Field(alias="schema")
    slug: Slug
    title: str
    question: str = ""
    description: str = ""
    category: str = ""
    tags: list[str] = []
    curator: str = ""
    attribution: str = ""
    license: str = ""
    limitations: str = ""
    milestone: Milestone | None = None
    model: Model
    execution: Execution
    experiment: Experiment | None = None
    tolerance: Tolerance | None = None
    checks: FileName | None = None
    mutants: list[Mutant] = []
    scope: str = ""
    opening_step: Id | None = None
    steps: list[Step] = []
    questions: list[Question] = []
    glossary: list[Term] = []
