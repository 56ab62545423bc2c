"""The recorded run as a program that can be run again, and the certificate that it gives the recorded numbers.

A program is built while it is run: each recorded call becomes a step of table operations, is carried out in float64,
and what it reads and gives is compared with the record. What the table does not repeat is listed and never guessed,
and so is everything that reads from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TypedDict

from lessonpress.core.records import ReplayCertificate
from lessonpress.replay import operations
from lessonpress.replay.operations import Array, Program
from lessonpress.replay.operations.builder import (
    COARSE,
    CONTRADICTED,
    TOLERANCE,
    Builder,
    list_given_values,
    measure_difference,
)
from lessonpress.replay.operations.interpreter import Marked, ProgramDocument, mark_number
from lessonpress.worker import recorded
from lessonpress.worker.records import Module, Recorded, Run

__all__ = [
    "CONTRADICTED", "Certificate", "Replayed", "certify_capture", "choose_program", "collect_arrays",
    "make_live_program", "measure_difference", "replay_run", "replay_runs",
]  # fmt: skip

NUMBERS = 50_000  # weights and inputs that a page may carry for its slider


class FlatArray(TypedDict):
    """An array with its values in row-major order."""

    dtype: str
    shape: list[int]
    values: list[Marked]


class LiveArrays(TypedDict):
    """What a program reads of one run: arrays by the path of an input's leaf, and by the name of a weight."""

    inputs: dict[str, FlatArray]
    tensors: dict[str, FlatArray]


class LiveProgram(TypedDict):
    """All that a page needs to run the experiment itself; a case holds only what differs from the common tensors."""

    program: ProgramDocument
    tensors: dict[str, FlatArray]
    cases: dict[str, LiveArrays]


@dataclass(frozen=True)
class Certificate:
    """Whether the program of a run gives every number of its record, and the largest difference.

    A difference is |replayed − recorded| / max(1, |recorded|): absolute below one, relative above; NaN equals NaN and
    infinities of one sign are equal. `uncovered` says what could not be repeated and why, in the order of the run.
    `tolerances` says by the dtype of the values how far they were allowed to be off.
    """

    covered: bool
    max_difference: float | None
    uncovered: tuple[str, ...]
    tolerances: Mapping[str, float] = field(default_factory=dict)

    def document(self) -> ReplayCertificate:
        """The certificate under the manifest's names."""
        return {"covered": self.covered, "maxDifference": self.max_difference, "uncovered": list(self.uncovered),
                "tolerances": dict(sorted(self.tolerances.items()))}  # fmt: skip


@dataclass(frozen=True)
class Replayed:
    """A run's program with its certificate.

    `vague` are the ports whose last digits come from a narrower dtype than their own: a page would show other digits.
    """

    program: Program
    certificate: Certificate
    vague: Mapping[str, str] = field(default_factory=dict)


def replay_run(
    run: Run, modules: Mapping[str, Module], array: Callable[[int], Array], *, tolerance: float | None = None
) -> Replayed:
    """Build the program of one recorded run and compare it with the record.

    `modules` is the capture's, `array(V)` gives the recorded value number V. Differences above `tolerance` (by default
    1e-12 for a float64 run, 1e-5 for float32) leave the call uncovered.
    """
    limit = TOLERANCE.get(run["dtype"], COARSE) if tolerance is None else tolerance
    builder = Builder(run, modules, array, limit)
    for number, call in enumerate(run["calls"]):
        if call["kind"] != "module":
            builder.add(number, call)
    uncovered = tuple(builder.uncovered)
    largest = max(builder.differences, default=None)
    certificate = Certificate(not uncovered, largest, uncovered, builder.tolerances)
    return Replayed(builder.program(), certificate, builder.vague)


def replay_runs(captured: Recorded) -> dict[str, Replayed]:
    """Every run of a capture (execution, cases, probes) with its program and certificate."""
    return {name: replay_run(run, captured["modules"], _make_reader(run, captured["blobs"]))
            for name, run in captured["runs"].items()}  # fmt: skip


def certify_capture(replayed: Mapping[str, Replayed]) -> ReplayCertificate:
    """One certificate for all runs of a capture (`replay_runs`).

    float32 runs are replayed in float64, so their difference is float32's own rounding.
    """
    certificates = [run.certificate for run in replayed.values()]
    differences = [one.max_difference for one in certificates if one.max_difference is not None]
    uncovered = tuple(dict.fromkeys(reason for one in certificates for reason in one.uncovered))
    tolerances: dict[str, float] = {}
    for one in certificates:
        tolerances |= {dtype: max(most, tolerances.get(dtype, 0.0)) for dtype, most in one.tolerances.items()}
    return Certificate(not uncovered, max(differences, default=None), uncovered, tolerances).document()


def choose_program(captured: Recorded, replayed: Mapping[str, Replayed]) -> ProgramDocument | None:
    """The program of the first case (of the execution without cases) as JSON, or None when it is not covered."""
    run = replayed[_choose_run(captured)]
    return run.program.document() if run.certificate.covered else None


def make_live_program(
    captured: Recorded, replayed: Mapping[str, Replayed], *, limit: int = NUMBERS
) -> LiveProgram | None:
    """All that a page needs to run the experiment itself, or None where that would not be sound.

    It holds only what the program reads, and a case only those tensors that differ from the common ones. None when a
    case is uncovered, when two cases took different ways, or above `limit` numbers.
    """
    runs = {name: run for name, run in captured["runs"].items() if run["kind"] == "case"} or captured["runs"]
    common = replayed[next(iter(runs))].program
    if not all(replayed[name].certificate.covered and replayed[name].program == common for name in runs):
        return None
    cases = {name: collect_arrays(common, run, _make_reader(run, captured["blobs"])) for name, run in runs.items()}
    tensors = next(iter(cases.values()))["tensors"]
    for case in cases.values():
        case["tensors"] = {name: array for name, array in case["tensors"].items() if array != tensors[name]}
    groups = [tensors, *(group for case in cases.values() for group in (case["inputs"], case["tensors"]))]
    numbers = sum(len(array["values"]) for group in groups for array in group.values())
    return {"program": common.document(), "tensors": tensors, "cases": cases} if numbers <= limit else None


def _choose_run(captured: Recorded) -> str:
    """The run that stands for the lesson: its first case, else its execution."""
    cases = [name for name, run in captured["runs"].items() if run["kind"] == "case"]
    return cases[0] if cases else "execution"


def _make_reader(run: Run, blobs: Mapping[str, str]) -> Callable[[int], Array]:
    """A function that gives a run's recorded value by number."""

    @cache
    def array(number: int) -> Array:
        return recorded.decode_array(run["values"][number], blobs)

    return array


def collect_arrays(program: Program, run: Run, array: Callable[[int], Array]) -> LiveArrays:
    """What a program reads of a run; `array(V)` gives the recorded value number V."""
    arrays: LiveArrays = {"inputs": {}, "tensors": {}}
    numbers = list_given_values(run)
    for port in program.ports:
        kind, _, name = port.partition(":")
        if port in numbers:
            value = operations.settle(array(numbers[port]))
            values = [mark_number(v) for v in value.ravel().tolist()]
            group = arrays["inputs"] if kind == "input" else arrays["tensors"]
            group[name] = {"dtype": str(value.dtype), "shape": list(value.shape), "values": values}
    return arrays
