"""The operation table that replays a lesson: every operation with its numpy and its JavaScript kernel.

A family of operations is a folder beside this file: `kernels.py`, `kernels.js`, how a page explains one number of a
result (`explain.js`), and `cases.py`, which the tests alone import. A new folder is found by itself.
"""

import importlib
from pathlib import Path

from lessonpress.replay.operations.interpreter import Program, Step, run_program, run_step
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

FAMILIES = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/kernels.py")))
for _family in FAMILIES:  # each enters its rows into the table; none of its names is used here
    importlib.import_module(f"{__name__}.{_family}.kernels")

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
    "javascript",
    "kernels",
    "kind",
    "perform",
    "plain_name",
    "resolve",
    "resolve_layer",
    "run_program",
    "run_step",
    "settle",
]
