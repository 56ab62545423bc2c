"""What the steps hand to one another, as types: the source record, cases, verdicts, the graph.

All of it is plain JSON below `work/`; the capture has its types in `worker.records` and `capture_records`, the
manifest in `revision.manifest_schema`, which takes its parts from here. Where a key may be missing, an earlier
version did not write it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict  # what pydantic can read under Python 3.11

from lessonpress.core import records
from lessonpress.worker.records import (
    InputSpec,
    MetricPlan,
    ModelPlan,
    MutantPlan,
    Plan,
    RecordPlan,
    RunPlan,
    TrainingPlan,
)  # fmt: skip

__all__ = [
    "ArrayRecord",
    "CallSite",
    "CaseValues",
    "Cases",
    "Connection",
    "Count",
    "Cpu",
    "Digests",
    "Graph",
    "Hex64",
    "Host",
    "InputSpec",
    "KeptWeights",
    "Layer",
    "LessonFile",
    "LineNumber",
    "MetricPlan",
    "ModelPlan",
    "MutantPlan",
    "MutantVerdict",
    "Nested",
    "NotNegative",
    "Plan",
    "Prepared",
    "Real",
    "RecipeDocument",
    "RecordPlan",
    "RunPlan",
    "SourceLines",
    "SourceRecord",
    "TensorType",
    "Tolerance",
    "TrainingPlan",
    "Verdict",
]  # fmt: skip

Hex64: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Real: TypeAlias = records.Real
NotNegative: TypeAlias = Annotated[float, Field(ge=0)] | Annotated[int, Field(ge=0)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
LineNumber: TypeAlias = Annotated[int, Field(ge=1)]
Nested: TypeAlias = Any  # numbers as nested lists in the shape of their array, a bare number for no axis


# -- the source record ----------------------------------------------------------------------------------------------


class Tolerance(TypedDict):
    """How far a number that is made again may lie from the published one: atol + rtol·|published|."""

    atol: NotNegative
    rtol: NotNegative


class LessonFile(TypedDict):
    """One file of a lesson, as it was hashed."""

    path: str
    sha256: str
    bytes: int


class Digests(TypedDict):
    """What the lesson's files come to, parted by what a change of them means."""

    source: Hex64
    recipe: Hex64
    prose: Hex64
    checks: Hex64 | None


class RecipeDocument(TypedDict):
    """A recipe as it was read: its values, and the line of each place as pairs."""

    name: str
    value: dict[str, Any]
    lines: list[tuple[list[str | int], int]]


class SourceRecord(TypedDict):
    """What a lesson is (source.json)."""

    schema: int
    slug: str
    files: list[LessonFile]
    digests: Digests
    plan: Plan
    document: NotRequired[RecipeDocument]


# -- where the lesson ran ------------------------------------------------------------------------------------------


class Cpu(TypedDict):
    """The processor, as far as it decides numbers."""

    machine: str
    capability: str


class Host(TypedDict):
    """The machine that ran the lesson."""

    system: str
    kernel: str
    user: int


# -- trained weights --------------------------------------------------------------------------------------------


class KeptWeights(TypedDict):
    """The model as it was at one moment of its training."""

    name: str
    figures: dict[str, int | float]


class Prepared(TypedDict):
    """How the weights that runs start from were made, where they are not as initialised.

    `lines` counts the steps that the training reported, `first` and `last` are their figures; `runs` says by run which
    weights it starts from; `changedSince` names what is no longer as it was when they were made.
    """

    file: str
    function: str
    seed: int
    torch: str
    lines: Count
    first: dict[str, int | float] | None
    last: dict[str, int | float] | None
    kept: list[KeptWeights]
    weightsSha256: Hex64
    madeFrom: Hex64
    changedSince: list[str]
    runs: dict[str, str]
    initialisation: NotRequired[str | None]
    tolerance: NotRequired[Tolerance | None]


# -- cases and verdicts --------------------------------------------------------------------------------------------


class ArrayRecord(TypedDict):
    """A recorded array; what is not finite stands as a string."""

    dtype: str
    shape: list[int]
    values: Nested


class CaseValues(TypedDict):
    """What was recorded of one case, by id."""

    arrays: dict[str, ArrayRecord]
    metrics: dict[str, Any]


class Cases(TypedDict):
    """What was recorded of every case (cases.json)."""

    cases: dict[str, CaseValues]


class MutantVerdict(TypedDict):
    """What a check said of a broken variant of the lesson; the check is worth something where it failed there."""

    id: str
    sentence: NotRequired[str]  # words, which are added when the page is made
    failed: bool
    measured: Real
    bound: Real


class Verdict(TypedDict):
    """A numerical check with its evidence: it passes when `measured sense bound`, by the margin."""

    id: str
    sentence: str
    passed: bool
    measured: Real
    bound: Real
    sense: Literal["<=", ">="]
    margin: Real
    line: NotRequired[LineNumber | None]
    mutants: NotRequired[list[MutantVerdict]]


# -- the graph -----------------------------------------------------------------------------------------------------


class SourceLines(TypedDict):
    """Where something stands in a source file, lines from 1."""

    line: int
    endLine: int
    file: NotRequired[str | None]


class CallSite(SourceLines):
    """One place where something was called; columns from 1, the end exclusive."""

    column: int
    endColumn: int


class TensorType(TypedDict):
    """The shape and dtype of one leaf of an output."""

    shape: list[int]
    dtype: str
    path: NotRequired[str | None]


Layer = TypedDict(
    "Layer",
    {
        "id": str,
        "label": str,
        "op": str,
        "kind": Literal["input", "layer", "module", "output"],
        "parent": str | None,
        "params": dict[str, Any],
        "source": NotRequired[SourceLines | None],
        "called": NotRequired[list[CallSite] | None],
        "calls": NotRequired[Count | None],
        "outputs": NotRequired[list[TensorType] | None],
        "class": NotRequired[str | None],
        "aliases": NotRequired[list[str] | None],
        "registered": NotRequired[bool | None],
        "callers": NotRequired[list[str] | None],
        "tensors": NotRequired[list[str] | None],
        "uses": NotRequired[list[str] | None],
    },
)
Layer.__doc__ = """A node of the graph, or (kind `module`) a frame around nodes.

`class` is a container's own name; `aliases` are its other registered paths; `registered` is false for a module that the
model does not hold; `callers` are the modules that call a layer, where it is not only its parent; `tensors` are the
parameters and buffers that a layer holds, `uses` those that an operation reads."""


class Connection(TypedDict):
    """An edge along which a tensor flows."""

    id: str
    source: str
    target: str
    sourcePort: str | None
    targetPort: str | None
    shape: NotRequired[list[int] | None]
    dtype: NotRequired[str | None]
    sourceCall: NotRequired[int | None]
    targetCall: NotRequired[int | None]


class Graph(TypedDict):
    """What one run did: its nodes, its edges, the modules that did not run, and the inputs that nothing read."""

    layers: list[Layer]
    connections: list[Connection]
    idle: list[str]
    unusedInputs: list[str]
