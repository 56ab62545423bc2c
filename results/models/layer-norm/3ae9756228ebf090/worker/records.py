"""The plan and the capture as types: what a worker is to do, what it records, and what the judge answers.

Everything is plain JSON. A *structure* is one recorded value: a plain value stands for itself, a tensor is
`{"tensor": NUMBER, "from": [SOURCE, …]}`, containers hold structures. `sandbox.capture` holds an answer against these
forms before anything else reads it.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

# Whatever JSON can hold: what a lesson's author gives a constructor or an input, which only the lesson understands.
Json: TypeAlias = Any
Arguments: TypeAlias = dict[str, Json]  # constructor arguments by name
InputSpec: TypeAlias = dict[str, Json]  # an input as the recipe gives it: `lesson.input_specs` says what it may hold

Number: TypeAlias = int | float | Literal["NaN", "Infinity", "-Infinity"]  # JSON has no number for these three
# [number of the call, path in what it gave], or ["input" | "param" | "buffer", full name]
Source: TypeAlias = list[Any]

# -- the plan ------------------------------------------------------------------------------------------------------


class Tolerance(TypedDict):
    """How far a number that is made again may lie from the published one: atol + rtol·|published|."""

    atol: float
    rtol: float


class GradientPlan(TypedDict):
    """The gradients to take after a run: of one number, with respect to what stands at some addresses, in order."""

    of: str
    select: str | None
    with_respect_to: list[str]


class RunPlan(TypedDict):
    """One run that the worker is asked for; `weights` names prepared ones, None takes them as initialised."""

    id: str
    kind: Literal["execution", "case", "probe"]
    seed: int
    mode: Literal["train", "eval"]
    dtype: str
    args: Arguments
    weights: str | None
    parameters: dict[str, InputSpec]
    inputs: list[tuple[str, InputSpec]]
    gradients: NotRequired[GradientPlan]


# "class" and "with" are no names that a class statement could give a key.
ModelPlan = TypedDict("ModelPlan", {"file": str, "class": str})
ModelPlan.__doc__ = "Which class of which file the model is."
MutantPlan = TypedDict("MutantPlan", {"id": str, "file": str, "find": str, "with": str, "breaks": list[str]})
MutantPlan.__doc__ = (
    "A broken variant of the lesson: one place of a file replaced, and the checks that must fail on it."
)


class RecordPlan(TypedDict):
    """What is cut out of every case."""

    id: str
    tensor: str
    select: str | None
    reshape: list[int] | None


class MetricPlan(TypedDict):
    """A number computed from what is recorded."""

    id: str
    value: str
    of: str


class TrainingPlan(TypedDict):
    """How the lesson's weights are made; `args` build the model, `options` are the function's own."""

    file: str
    function: str
    seed: int
    mode: Literal["train", "eval"]
    args: Arguments
    options: Arguments
    tolerance: Tolerance


class Plan(TypedDict):
    """What a worker is to do: the runs of a lesson, every default and inheritance written out."""

    schema: int
    slug: str
    model: ModelPlan
    runs: list[RunPlan]
    record: list[RecordPlan]
    metrics: list[MetricPlan]
    checks: str | None
    mutants: list[MutantPlan]
    prepare: TrainingPlan | None


# -- the capture ---------------------------------------------------------------------------------------------------

Tree = TypedDict(
    "Tree",
    {
        "tensor": int,  # the number of a value of the run
        "from": list[Source],  # where the tensor's numbers came from
        "born": Source,  # where the tensor itself arose, where its numbers came later
        "unread": bool,  # an argument that is only overwritten
        "number": bool,  # a Python number that was read from a tensor: its value is an array of no axes
        "drawn": bool,  # a parameter as it was initialised
        "tuple": list["Struct"],
        "list": list["Struct"],
        "dict": list[list["Struct"]],  # pairs of key and value
        "record": str,  # the class of a named tuple …
        "fields": list[list["Struct"]],  # … and its pairs of name and value
        "slice": list["Struct"],  # start, stop, step
        "ellipsis": bool,
        "dtype": str,
        "complex": list[Number],
        "float": str,  # a number that JSON lacks
        "opaque": str,  # of a kind that is not recorded, in words
    },
    total=False,
)
Tree.__doc__ = "A recorded value that is no plain one; its keys say which kind it is."
Struct: TypeAlias = Tree | bool | int | float | str | None


class Place(TypedDict):
    """A stretch of a lesson's file: lines and columns from 1, the last column excluded."""

    file: str
    line: int
    endLine: int
    column: int
    endColumn: int


class Position(TypedDict):
    """A line of a lesson's file, where no columns are known."""

    file: str
    line: int


class Value(TypedDict):
    """A recorded array: its bytes are `blobs[blob]` of the capture, little-endian in row-major order, as base64."""

    dtype: str
    shape: list[int]
    blob: str


CallKind: TypeAlias = Literal["layer", "op", "module", "outside"]


class InsideStep(TypedDict):
    """One of torch's own operations inside a call; a source with the call's number names a step before it."""

    op: str
    args: list[Struct]
    kwargs: dict[str, Struct]
    out: Struct


class Call(TypedDict):
    """One call of a module or tensor operation: where it stands, what it was given, and what it gave."""

    layer: str
    op: str
    kind: CallKind
    inside: int | None  # the number of the module's call in which it happened
    at: Place | None
    args: list[Struct]
    kwargs: dict[str, Struct]
    out: Struct
    draws: NotRequired[list[int]]  # random numbers that it drew, apart from the result; empty where they are not known
    steps: NotRequired[list[InsideStep]]  # torch's own operations inside it, and …
    given: NotRequired[dict[str, str]]  # … by the path of a result the step that gave it
    training: NotRequired[bool]  # the module was in training mode when it was called
    raised: NotRequired[bool]  # it gave nothing but an error, which the lesson caught
    left: NotRequired[bool]  # the author's code handed numbers to Python while it ran
    unseen: NotRequired[bool]  # the author's own code ran inside it, out of sight
    beside: NotRequired[dict[str, Struct]]  # what it reads that is no argument: a layer's weights that were computed, …
    ran: NotRequired[list[str]]  # the modules that ran inside, where nobody could look


class Run(TypedDict):
    """One watched run of the model."""

    kind: Literal["execution", "case", "probe"]
    seed: int
    dtype: str
    mode: Literal["train", "eval"]
    inputs: list[tuple[str, Struct]]  # pairs of name and value, in the order of the plan
    output: Struct
    calls: list[Call]
    params: dict[str, int]  # by full name the number of a value
    buffers: dict[str, int]
    values: list[Value]


# "class" is no name that a class statement could give a key.
Module = TypedDict(
    "Module",
    {
        "class": str,
        "leaf": bool,  # a node of the graph; others are frames around nodes
        "parent": str | None,
        "params": Arguments,  # the constructor's arguments that differ from their defaults
        "source": Place | None,  # where it was made
        "aliases": list[str],
        "training": bool,
        "parameters": dict[str, str],  # local to full name
        "buffers": dict[str, str],
    },
)
Module.__doc__ = "One registered module of the model."


class Output(TypedDict):
    """What one call of a run gave, and nothing else: enough for a check."""

    layer: str
    out: Struct


class Recorded(TypedDict):
    """What a worker recorded of a lesson: its runs by id, the model's modules by path, the values' bytes by digest."""

    runs: dict[str, Run]
    modules: dict[str, Module]
    blobs: dict[str, str]


class OutputRun(TypedDict):
    """A run of which every call kept only what it gave."""

    kind: Literal["execution", "case", "probe"]
    seed: int
    dtype: str
    mode: Literal["train", "eval"]
    inputs: list[tuple[str, Struct]]
    output: Struct
    calls: list[Output]
    params: dict[str, int]
    buffers: dict[str, int]
    values: list[Value]


class Outputs(TypedDict):
    """What a broken variant of a lesson recorded, and what checks read of the lesson itself."""

    runs: dict[str, OutputRun]
    modules: dict[str, Module]
    blobs: dict[str, str]


class Kept(TypedDict):
    """The model as it was at one moment of its training: the figures beside its name, its tensors by full name."""

    name: str
    figures: dict[str, int | float]
    tensors: dict[str, Value]


class Training(TypedDict):
    """What a training answers; `lines` counts the figures without a name, `first` and `last` are two of them."""

    kept: list[Kept]
    blobs: dict[str, str]
    lines: int
    first: dict[str, int | float] | None
    last: dict[str, int | float] | None


class WorkerRequest(TypedDict):
    """What a worker is asked: how to confine itself, where to work under which limits, and on what."""

    mark: str  # begins every line of its answer
    layers: list[str]
    abi: int | None  # the level of Landlock; None is the kernel's
    read: list[str]
    probe: str  # a file that must not be read
    minimum: str
    forks: bool
    folder: str
    limits: dict[str, tuple[int, int]]  # soft and hard bound by the name that Python's `resource` gives it
    arguments: list[str]


class Confined(TypedDict, total=False):
    """What a worker says of its confinement, before lesson code runs: what each layer became, or why it is missing."""

    uid: int
    privileges: str | None
    landlock: int | None
    seccomp: str | None
    missing: dict[str, str]
    probe: dict[str, str]
    profile: str
    refused: bool


class Facts(TypedDict):
    """What a worker says about its process before lesson code runs."""

    torch: str
    python: str
    machine: str
    capability: str
    threads: int
    deterministic: bool
    mkldnn: bool
    nnpack: bool
    kernels: str
    initialisation: str


class WorkerError(TypedDict):
    """What went wrong in a lesson's code, and where."""

    stage: str
    run: str | None
    type: str
    message: str
    place: Place | Position | None
    expected: str
    code: str | None
    context: str | None
    key: NotRequired[str | None]
    mutant: NotRequired[str]


class Rehearsed(TypedDict):
    """What came of a bundle's own run.py: its exit code, the exception, of every call of every run a digest of what it
    gave, of every run's initial weights those by name, and the calls that asked for a clock or an address."""

    ended: int
    error: WorkerError | None
    results: dict[str, list[str]]
    drawn: dict[str, dict[str, str]]
    asked: list[tuple[str, int, str]]  # file, line, the function's name


class Evidence(TypedDict):
    """What one check measured: it passes when `measured sense bound`."""

    id: str
    sentence: str
    measured: Number
    bound: Number
    sense: Literal["<=", ">="]
    line: int


class MetricTask(TypedDict):
    """A metric of the lesson's own that the judge is asked for."""

    id: str
    function: str
    run: str
    address: str
    select: str | None
    reshape: list[int] | None


class JudgeTask(TypedDict):
    """What the judge is asked: the file of checks, whether to run them, metrics, and which checks a mutant breaks."""

    file: str | None
    checks: bool
    metrics: list[MetricTask]
    mutants: dict[str, list[str]]
    elsewhere: NotRequired[bool]  # in a process that is made another one, whose clocks and addresses differ


class MetricValue(TypedDict):
    """A metric that the judge has computed."""

    id: str
    run: str
    value: Number


class Judgement(TypedDict):
    """The judge's answer: evidence of every check, metrics, and of each mutant the evidence of what it is to break."""

    checks: list[Evidence]
    metrics: list[MetricValue]
    mutants: dict[str, list[Evidence]]
