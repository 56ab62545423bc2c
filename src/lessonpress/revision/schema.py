"""The manifest's form as typed records, and as the JSON Schema that is published with the site."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Hex64 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Real = float | int | Literal["NaN", "Infinity", "-Infinity"]
NotNegative = Annotated[float, Field(ge=0)] | Annotated[int, Field(ge=0)]


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
    """A node of the graph, or (kind `module`) a frame around nodes.

    `class` is a container's own name; `callers` are the modules that call a layer, where it is not only its parent;
    `tensors` are the parameters and buffers that a layer holds, `uses` those that an operation reads.
    """

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
    class_: str | None = Field(None, alias="class")
    callers: list[str] | None = None
    tensors: list[str] | None = None
    uses: list[str] | None = None


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


class Axis(_Part):
    """What one axis of an array counts, and the names of its places."""

    name: str | None
    labels: list[str] | None


class Beside(_Part):
    """Where a large array lies, beside the manifest, with its first numbers."""

    file: str
    shape: list[int]
    sample: list[Any]


class Array(_Part):
    """A recorded array: its numbers, or the file that holds them with a sample; and its named axes."""

    label: str
    values: Beside | list[Any]
    id: str | None = None
    dtype: str | None = None
    rows: Axis | None = None
    columns: Axis | None = None
    panels: list[Axis] | None = None
    axis: Axis | None = None


class Metric(_Part):
    """A number computed from a recorded array."""

    label: str
    value: Any
    id: str | None = None


class Control(_Part):
    """The input that the cases change, and the range in which a reader may move it."""

    input: str
    label: str | None
    range: list[float | int] | None


class Graph(_Part):
    """What one run did: its nodes, its edges, the modules that did not run, and the inputs that nothing read."""

    layers: list[Layer]
    connections: list[Connection]
    idle: list[str]
    unusedInputs: list[str]


class CasePart(_Part):
    """One recorded case; `graph` is its own where it ran otherwise than the execution."""

    id: str
    label: str
    target: str | None
    note: str
    matrices: list[Array]
    vectors: list[Array]
    metrics: list[Metric]
    graph: Graph | None = None


class Experiment(_Part):
    """The recorded cases."""

    kind: Literal["matrices"]
    title: str
    description: str
    controlLabel: str
    cases: list[CasePart]
    control: Control | None = None
    seed: int | None = Field(None, ge=0)
    dtype: str | None = None


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
    line: int | None = Field(None, ge=1)
    mutants: list[OnMutant] = []


class Inputs(_Part):
    """The execution's inputs in forward()'s order, as specs, and their names."""

    args: list[Any]
    names: list[str] | None = None


class Execution(_Part):
    """The run that run.py repeats."""

    inputs: Inputs
    device: str
    mode: str
    seed: int
    deterministic: bool
    dtype: str | None = None


class Tolerance(_Part):
    """How far a number that is made again may lie from the published one: atol + rtol·|published|."""

    atol: NotNegative
    rtol: NotNegative


class Digests(_Part):
    """What the lesson's files come to, parted by what a change of them means."""

    source: Hex64
    recipe: Hex64
    prose: Hex64
    checks: Hex64 | None


class Cpu(_Part):
    """The processor, as far as it decides numbers."""

    machine: str
    capability: str


class Host(_Part):
    """The machine that ran the lesson."""

    system: str
    kernel: str
    user: int


class Isolation(_Part):
    """How the worker was confined, what it had tried before lesson code ran, and how it ended."""

    profile: Literal["linux-strict", "linux-seccomp", "posix-basic"]
    landlock: int | None
    seccomp: str | None
    privileges: str | None
    uid: int
    probe: dict[str, str]
    namespaces: list[str]
    kernel: str
    limits: dict[str, int]
    missing: dict[str, str]
    ended: str


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
    initialisation: str | None = None
    tolerance: Tolerance | None = None


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
    lessonpress: str | None = None
    outputs: list[Tensor] | None = None
    initialisation: str | None = None
    weightsSha256: Hex64 | None = None
    digests: Digests | None = None
    settings: dict[str, str | int | bool] | None = None
    cpu: Cpu | None = None
    host: Host | None = None
    isolation: Isolation | None = None
    templatesSha256: Hex64 | None = None


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


class Term(_Part):
    """A glossary entry with a text for each level of reader."""

    term: str
    beginner: str
    expert: str


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
    glossary: list[Term] | None = None
    idle: list[str] | None = None
    unusedInputs: list[str] | None = None
    tolerance: Tolerance | None = None


def strict() -> dict[str, Any]:
    """The schema that admits no other keys than those that it names: what we ourselves publish is held against it."""
    body = document()
    for part in (body, *body["$defs"].values()):
        if "properties" in part:
            part["additionalProperties"] = False
    return body


def document() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of manifest.json."""
    body = Manifest.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "manifest.schema.json", **body}
