"""The operation table that replays a lesson: every operation with its numpy and its JavaScript kernel."""

from lessonpress.replay.operations import (
    activations,
    attention,
    convolution,
    creation,
    elementwise,
    indexing,
    losses,
    normalisation,
    products,
    recurrent,
    reductions,
    shapes,
)
from lessonpress.replay.operations.interpreter import Program, Step, execute, run
from lessonpress.replay.operations.kinds import Array, Unsupported, cast, kind, settle
from lessonpress.replay.operations.script import javascript, kernels
from lessonpress.replay.operations.table import (
    TABLE,
    WITHOUT_EFFECT,
    Bound,
    Operation,
    call,
    call_layer,
    perform,
    plain_name,
    resolve,
    resolve_layer,
)

FAMILIES = (
    activations,
    attention,
    convolution,
    creation,
    elementwise,
    indexing,
    losses,
    normalisation,
    products,
    recurrent,
    reductions,
    shapes,
)

__all__ = [
    "FAMILIES",
    "TABLE",
    "WITHOUT_EFFECT",
    "Array",
    "Bound",
    "Operation",
    "Program",
    "Step",
    "Unsupported",
    "call",
    "call_layer",
    "cast",
    "execute",
    "javascript",
    "kernels",
    "kind",
    "perform",
    "plain_name",
    "resolve",
    "resolve_layer",
    "run",
    "settle",
]
