"""The manifest as types, and the JSON Schema that is published with the site, which is made from them.

A reader must accept keys that it does not know. A key that may be missing was not there in the seed or in an earlier
version's manifests; what is published now has them all.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict  # what pydantic can read under Python 3.11

from lessonpress.core.records import Isolation, ReplayCertificate
from lessonpress.lesson.records import (
    Connection,
    Count,
    Cpu,
    Digests,
    Graph,
    Hex64,
    Host,
    Layer,
    Prepared,
    TensorType,
    Tolerance,
    Verdict,
)

JsonSchema: TypeAlias = dict[str, Any]


class WalkStep(TypedDict):
    """A station of the story."""

    id: str
    target: str
    title: str
    note: str


class Paper(TypedDict):
    """A publication."""

    key: NotRequired[str | None]
    title: str
    authors: NotRequired[list[str]]
    url: NotRequired[str | None]


class Milestone(TypedDict):
    """The step in the field's history that the lesson shows."""

    name: str
    year: int | None
    kind: str | None
    fidelity: str | None
    papers: list[Paper]


class Axis(TypedDict):
    """What one axis of an array counts, and the names of its places."""

    name: str | None
    labels: list[str] | None


class ArrayFile(TypedDict):
    """Where a large array lies, beside the manifest, with its first numbers."""

    file: str
    shape: list[int]
    sample: list[Any]


class PublishedArray(TypedDict):
    """A recorded array: its numbers, or the file that holds them with a sample; and its named axes."""

    label: str
    values: ArrayFile | list[Any]
    id: NotRequired[str | None]
    dtype: NotRequired[str | None]
    rows: NotRequired[Axis | None]
    columns: NotRequired[Axis | None]
    panels: NotRequired[list[Axis] | None]
    axis: NotRequired[Axis | None]
    unit: NotRequired[str | None]
    range: NotRequired[list[int | float] | None]
    same_scale_as: NotRequired[str | None]


class PublishedMetric(TypedDict):
    """A number computed from a recorded array."""

    label: str
    value: Any
    id: NotRequired[str | None]


class Control(TypedDict):
    """The input that the cases change, and the range in which a reader may move it."""

    input: str
    label: str | None
    range: list[int | float] | None


class PublishedCase(TypedDict):
    """One recorded case; `graph` is its own where it ran otherwise than the execution."""

    id: str
    label: str
    target: str | None
    note: str
    matrices: list[PublishedArray]
    vectors: list[PublishedArray]
    metrics: list[PublishedMetric]
    graph: NotRequired[Graph | None]


class Experiment(TypedDict):
    """The recorded cases."""

    kind: Literal["matrices"]
    title: str
    description: str
    controlLabel: str
    cases: list[PublishedCase]
    control: NotRequired[Control | None]
    seed: NotRequired[Count | None]
    dtype: NotRequired[str | None]


class ExecutionInputs(TypedDict):
    """The execution's inputs in forward()'s order, as specs, and their names."""

    args: list[Any]
    names: NotRequired[list[str] | None]


class Execution(TypedDict):
    """The run that run.py repeats."""

    inputs: ExecutionInputs
    device: str
    mode: str
    seed: int
    deterministic: bool
    dtype: NotRequired[str | None]


class Provenance(TypedDict):
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
    prepared: NotRequired[Prepared | None]
    lessonpress: NotRequired[str | None]
    outputs: NotRequired[list[TensorType] | None]
    initialisation: NotRequired[str | None]
    weightsSha256: NotRequired[Hex64 | None]
    digests: NotRequired[Digests | None]
    settings: NotRequired[dict[str, str | int | bool] | None]
    cpu: NotRequired[Cpu | None]
    host: NotRequired[Host | None]
    isolation: NotRequired[Isolation | None]
    templatesSha256: NotRequired[Hex64 | None]


class PublishedFile(TypedDict):
    """A published file."""

    url: str
    sha256: Hex64
    bytes: Count


class Term(TypedDict):
    """A glossary entry with a text for each level of reader."""

    term: str
    beginner: str
    expert: str


class Manifest(TypedDict):
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
    steps: list[WalkStep]
    milestone: Milestone | None
    experiment: Experiment | None
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    files: dict[str, PublishedFile]
    checks: NotRequired[list[Verdict] | None]
    replay: NotRequired[ReplayCertificate | None]
    glossary: NotRequired[list[Term] | None]
    idle: NotRequired[list[str] | None]
    unusedInputs: NotRequired[list[str] | None]
    tolerance: NotRequired[Tolerance | None]


def validate_manifest(manifest: Manifest) -> None:
    """Hold a manifest against its types. Raises pydantic's ValidationError."""
    _adapter().validate_python(manifest)


@cache
def _adapter() -> TypeAdapter[Manifest]:
    """What pydantic makes of the types; it takes longer than any manifest."""
    return TypeAdapter(Manifest)


def make_strict_schema() -> JsonSchema:
    """The schema that admits no other keys than those that it names: what we ourselves publish is held against it."""
    body = make_schema()
    for part in (body, *body["$defs"].values()):
        if "properties" in part:
            part["additionalProperties"] = False
    return body


def make_schema() -> JsonSchema:
    """The published JSON Schema (2020-12) of manifest.json."""
    body = _adapter().json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "manifest.schema.json", **body}
