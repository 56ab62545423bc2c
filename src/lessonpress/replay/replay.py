"""The recorded run as a program that can be run again, and the certificate that it gives the recorded numbers.

A program is built while it is run: each recorded call becomes a step of table operations, is carried out in float64,
and what it reads and gives is compared with the record. What the table does not repeat is listed and never guessed,
and so is everything that reads from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TypedDict

from lessonpress.core.records import ReplayCertificate
from lessonpress.replay import operations
from lessonpress.replay.operations import Array, Program
from lessonpress.replay.operations.builder import Builder
from lessonpress.replay.operations.interpreter import Marked, ProgramDocument, mark_number
from lessonpress.replay.operations.slots import COARSE, CONTRADICTED, TOLERANCE, list_given_values, measure_difference
from lessonpress.worker import recorded
from lessonpress.worker.records import Module, Recorded, Run

__all__ = [
    "CONTRADICTED", "Certificate", "Replayed", "certify_capture", "choose_program", "collect_arrays",
    "list_played_runs",
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


class LiveCase(LiveArrays):
    """What a case reads that differs from the common tensors, and which program is its own."""

    way: int


class LiveProgram(TypedDict):
    """All that a page needs to run the experiment itself; cases that ran alike share a program."""

    programs: list[ProgramDocument]
    tensors: dict[str, FlatArray]
    cases: dict[str, LiveCase]


@dataclass(frozen=True)
class Certificate:
    """Whether the program of a run gives every number of its record, and the largest difference.

    A difference is |replayed − recorded| / max(1, |recorded|): absolute below one, relative above; NaN equals NaN and
    infinities of one sign are equal. `uncovered` says what could not be repeated and why, in the order of the run;
    what only follows from that is left out. `blocking` are those reasons for which nothing can be computed for other
    inputs: what is lost may decide how the rest runs.
    `tolerances` says by the dtype of the values how far they were allowed to be off.
    """

    covered: bool
    max_difference: float | None
    uncovered: tuple[str, ...]
    blocking: tuple[str, ...] = ()
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
    largest = max(builder.differences, default=None)
    certificate = Certificate(not builder.lost, largest, tuple(builder.uncovered), tuple(builder.blocking),
                              builder.tolerances)  # fmt: skip
    return Replayed(builder.program(), certificate, builder.vague)


def replay_runs(captured: Recorded) -> dict[str, Replayed]:
    """Every run of a capture (execution, cases, probes) with its program and certificate."""
    return {name: replay_run(run, captured["modules"], _make_reader(run, captured["blobs"]))
            for name, run in captured["runs"].items()}  # fmt: skip


def certify_capture(replayed: Mapping[str, Replayed]) -> ReplayCertificate:
    """One certificate for all runs of a capture (`replay_runs`).

    float32 runs are replayed in float64, so their difference is float32's own rounding.
    """
    certificates = [run.certificate for name, run in sorted(replayed.items(), key=lambda item: item[0] == "execution")]
    differences = [one.max_difference for one in certificates if one.max_difference is not None]
    uncovered = tuple(dict.fromkeys(reason for one in certificates for reason in one.uncovered))
    tolerances: dict[str, float] = {}
    for one in certificates:
        tolerances |= {dtype: max(most, tolerances.get(dtype, 0.0)) for dtype, most in one.tolerances.items()}
    covered, largest = all(one.covered for one in certificates), max(differences, default=None)
    return Certificate(covered, largest, uncovered, (), tolerances).document()


def choose_program(captured: Recorded, replayed: Mapping[str, Replayed]) -> ProgramDocument | None:
    """The program of the first case (of the execution without cases) as JSON, or None when it is not covered."""
    run = replayed[_choose_run(captured)]
    return run.program.document() if run.certificate.covered else None


def make_live_program(
    captured: Recorded, replayed: Mapping[str, Replayed], *, limit: int = NUMBERS
) -> LiveProgram | None:
    """All that a page needs to run the experiment itself, or None where that would not be sound.

    It holds only what the programs read, and a case only those tensors that differ from the common ones. None when
    something decides about the run that cannot be repeated (`blocking`), or above `limit` numbers.
    """
    runs = list_played_runs(captured)
    if any(replayed[name].certificate.blocking for name in runs):
        return None
    ways: list[Program] = []
    for name in runs:
        if replayed[name].program not in ways:
            ways.append(replayed[name].program)
    inputs = {port for program in ways for port in program.ports if port.startswith("input:")}
    tensors: dict[str, FlatArray] = {}
    cases: dict[str, LiveCase] = {}
    for name, run in runs.items():
        program = replayed[name].program
        arrays = collect_arrays(program, run, _make_reader(run, captured["blobs"]), also=inputs)
        own = {key: array for key, array in arrays["tensors"].items() if tensors.setdefault(key, array) != array}
        cases[name] = {"inputs": arrays["inputs"], "tensors": own, "way": ways.index(program)}
    groups = [tensors, *(group for case in cases.values() for group in (case["inputs"], case["tensors"]))]
    numbers = sum(len(array["values"]) for group in groups for array in group.values())
    programs = [program.document() for program in ways]
    return {"programs": programs, "tensors": tensors, "cases": cases} if numbers <= limit else None


def list_played_runs(captured: Recorded) -> dict[str, Run]:
    """The runs that a page computes: its cases; the execution of a lesson without any."""
    runs = captured["runs"]
    return {name: run for name, run in runs.items() if run["kind"] == "case"} or dict(runs)


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


def collect_arrays(
    program: Program, run: Run, array: Callable[[int], Array], *, also: Collection[str] = ()
) -> LiveArrays:
    """What a program reads of a run, and the ports `also`; `array(V)` gives the recorded value number V."""
    arrays: LiveArrays = {"inputs": {}, "tensors": {}}
    numbers = list_given_values(run)
    for port in (*program.ports, *sorted(set(also).difference(program.ports))):
        kind, _, name = port.partition(":")
        if port in numbers:
            value = operations.settle(array(numbers[port]))
            values = [mark_number(v) for v in value.ravel().tolist()]
            group = arrays["inputs"] if kind == "input" else arrays["tensors"]
            group[name] = {"dtype": str(value.dtype), "shape": list(value.shape), "values": values}
    return arrays
