"""The manifest's form as typed records, and as the JSON Schema that is published with the site."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Hex64 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Real = float | int | Literal["NaN", "Infinity", "-Infinity"]


class _Part(BaseModel):
    """A part of the manifest; a reader must accept keys that it does not know."""

    model_config = ConfigDict(extra="allow")


class Lines(_Part):
    """Where something stands in a source file, lines from 1."""

    line: int
    endLine: int
    file: str | None = None


class Called(Lines):
    """One place where something was called; columns from 1, the end exclusive."""

    column: int
    endColumn: int


class Tensor(_Part):
    """The shape and dtype of one leaf of an output."""

    shape: list[int]
    dtype: str
    path: str | None = None


class Layer(_Part):
    """A node of the graph, or (kind `module`) a frame around nodes."""

    id: str
    label: str
    op: str
    kind: Literal["input", "layer", "module", "output"]
    parent: str | None
    params: dict[str, Any]
    source: Lines | None = None
    called: list[Called] | None = None
    calls: int | None = Field(None, ge=0)
    outputs: list[Tensor] | None = None


class Connection(_Part):
    """An edge along which a tensor flows."""

    id: str
    source: str
    target: str
    sourcePort: str | None
    targetPort: str | None
    shape: list[int] | None = None
    dtype: str | None = None
    sourceCall: int | None = None
    targetCall: int | None = None


class Step(_Part):
    """A station of the story."""

    id: str
    target: str
    title: str
    note: str


class Paper(_Part):
    """A publication."""

    title: str
    authors: list[str] = []
    url: str | None = None


class Milestone(_Part):
    """The step in the field's history that the lesson shows."""

    name: str
    year: int | None
    kind: str | None
    fidelity: str | None
    papers: list[Paper]


class Array(_Part):
    """A recorded array: its numbers, or the file that holds them with a sample."""

    label: str
    values: Any
    id: str | None = None


class Metric(_Part):
    """A number computed from a recorded array."""

    label: str
    value: Any


class CasePart(_Part):
    """One recorded case."""

    id: str
    label: str
    target: str | None
    note: str
    matrices: list[Array]
    vectors: list[Array]
    metrics: list[Metric]


class Experiment(_Part):
    """The recorded cases."""

    kind: Literal["matrices"]
    title: str
    description: str
    controlLabel: str
    cases: list[CasePart]


class OnMutant(_Part):
    """What a check said of a broken variant of the lesson: it has teeth where it failed there."""

    id: str
    sentence: str
    failed: bool
    measured: Real
    bound: Real


class Check(_Part):
    """A numerical check with its evidence."""

    id: str
    sentence: str
    passed: bool
    measured: Real
    bound: Real
    sense: Literal["<=", ">="]
    margin: Real
    mutants: list[OnMutant] = []


class Inputs(_Part):
    """The execution's inputs in forward()'s order."""

    args: list[Any]


class Execution(_Part):
    """The run that run.py repeats."""

    inputs: Inputs
    device: str
    mode: str
    seed: int
    deterministic: bool


class KeptWeights(_Part):
    """The model as it was at one moment of its training."""

    name: str
    figures: dict[str, float | int]


class Prepared(_Part):
    """How the weights that runs start from were made, where they are not as drawn.

    `lines` counts the steps that were told, `first` and `last` are their figures; `runs` says by run which weights it
    starts from; `changedSince` names what is no longer as it was when they were made.
    """

    file: str
    function: str
    seed: int
    torch: str
    lines: int = Field(ge=0)
    first: dict[str, float | int] | None
    last: dict[str, float | int] | None
    kept: list[KeptWeights]
    weightsSha256: Hex64
    madeFrom: Hex64
    changedSince: list[str]
    runs: dict[str, str]


class Provenance(_Part):
    """Who ran what, where, when and how."""

    capturedAt: str
    productRevision: str | None
    sourceSha256: Hex64
    python: str
    torch: str
    execution: Execution
    outcome: str
    outputShape: list[int] | None
    method: str
    scope: str
    numericalChecks: list[str]
    prepared: Prepared | None = None


class File(_Part):
    """A published file."""

    url: str
    sha256: Hex64
    bytes: int = Field(ge=0)


class Replay(_Part):
    """Whether the published graph reproduces what was recorded, and how closely."""

    covered: bool
    maxDifference: Real | None
    uncovered: list[str]


class Manifest(_Part):
    """A published revision's manifest, schemaVersion 1."""

    schemaVersion: Literal[1]
    slug: str
    title: str
    className: str
    question: str
    description: str
    category: str
    tags: list[str]
    curator: str
    attribution: str
    license: str
    limitations: str
    openingStep: str | None
    provenance: Provenance
    layers: list[Layer]
    connections: list[Connection]
    steps: list[Step]
    milestone: Milestone | None
    experiment: Experiment | None
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    files: dict[str, File]
    checks: list[Check] | None = None
    replay: Replay | None = None


def document() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of manifest.json."""
    body = Manifest.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "manifest.schema.json", **body}
