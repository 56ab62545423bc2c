"""The recorded run as a program that can be run again, and the certificate that it gives the recorded numbers.

A program is built while it is run: each recorded call becomes a step of table operations, is carried out in float64,
and what it reads and gives is compared with the record. What the table does not repeat is listed and never guessed,
and so is everything that reads from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from lessonpress.replay import operations
from lessonpress.replay.operations import Array, Program
from lessonpress.replay.operations.builder import (
    COARSE,
    TOLERANCE,
    Builder,
    list_given_values,
    mark_number,
    measure_difference,
)
from lessonpress.worker import recorded

__all__ = [
    "Certificate", "Replayed", "certify_capture", "choose_program", "collect_arrays", "make_live_program",
    "measure_difference", "replay_run", "replay_runs",
]  # fmt: skip

Run = Mapping[str, Any]
NUMBERS = 50_000  # weights and inputs that a page may carry for its slider
@dataclass(frozen=True)
class Certificate:
    """Whether the program of a run gives every number of its record, and the largest difference.

    A difference is |replayed − recorded| / max(1, |recorded|): absolute below one, relative above; NaN equals NaN and
    infinities of one sign are equal. `uncovered` says what could not be repeated and why, in the order of the run.
    """

    covered: bool
    max_difference: float | None
    uncovered: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The certificate under the manifest's names."""
        return {"covered": self.covered, "maxDifference": self.max_difference, "uncovered": list(self.uncovered)}


@dataclass(frozen=True)
class Replayed:
    """A run's program with its certificate."""

    program: Program
    certificate: Certificate


def replay_run(
    run: Run, modules: Mapping[str, Any], array: Callable[[int], Array], *, tolerance: float | None = None
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
    return Replayed(builder.program(), Certificate(not uncovered, largest, uncovered))


def replay_runs(captured: Mapping[str, Any]) -> dict[str, Replayed]:
    """Every run of a capture (execution, cases, probes) with its program and certificate."""
    return {name: replay_run(run, captured["modules"], _arrays(run, captured["blobs"]))
            for name, run in captured["runs"].items()}  # fmt: skip


def certify_capture(built: Mapping[str, Replayed]) -> dict[str, Any]:
    """One certificate for all runs of a capture (`replay_runs`): `{"covered", "maxDifference", "uncovered"}`.

    float32 runs are replayed in float64, so their difference is float32's own rounding.
    """
    told = [replayed.certificate for replayed in built.values()]
    differences = [one.max_difference for one in told if one.max_difference is not None]
    uncovered = tuple(dict.fromkeys(reason for one in told for reason in one.uncovered))
    return Certificate(not uncovered, max(differences, default=None), uncovered).document()


def choose_program(captured: Mapping[str, Any], built: Mapping[str, Replayed]) -> dict[str, Any] | None:
    """The program of the first case (of the execution without cases) as JSON, or None when it is not covered."""
    replayed = built[_chosen(captured)]
    return replayed.program.document() if replayed.certificate.covered else None


def make_live_program(
    captured: Mapping[str, Any], built: Mapping[str, Replayed], *, limit: int = NUMBERS
) -> dict[str, Any] | None:
    """All that a page needs to run the experiment itself, or None where that would not be sound.

    `{"program", "tensors": {name: ARRAY}, "cases": {id: {"inputs": {leaf: ARRAY}, "tensors": {name: ARRAY}}}}` with
    ARRAY `{"dtype", "shape", "values"}` (flat, row-major); it holds only what the program reads, and a case only those
    tensors that differ from the common ones. None when a case is uncovered, when two cases took different ways, or
    above `limit` numbers.
    """
    runs = {name: run for name, run in captured["runs"].items() if run["kind"] == "case"} or captured["runs"]
    common = built[next(iter(runs))].program
    if not all(built[name].certificate.covered and built[name].program == common for name in runs):
        return None
    cases = {name: collect_arrays(common, run, _arrays(run, captured["blobs"])) for name, run in runs.items()}
    tensors = next(iter(cases.values()))["tensors"]
    for case in cases.values():
        case["tensors"] = {name: told for name, told in case["tensors"].items() if told != tensors[name]}
    groups = [tensors, *(group for case in cases.values() for group in case.values())]
    numbers = sum(len(told["values"]) for group in groups for told in group.values())
    return {"program": common.document(), "tensors": tensors, "cases": cases} if numbers <= limit else None


def _chosen(captured: Mapping[str, Any]) -> str:
    """The run that stands for the lesson: its first case, else its execution."""
    cases = [name for name, run in captured["runs"].items() if run["kind"] == "case"]
    return cases[0] if cases else "execution"


def _arrays(run: Run, blobs: Mapping[str, str]) -> Callable[[int], Array]:
    """A function that gives a run's recorded value by number."""

    @cache
    def array(number: int) -> Array:
        return recorded.decode_array(run["values"][number], blobs)

    return array


def collect_arrays(program: Program, run: Run, array: Callable[[int], Array]) -> dict[str, dict[str, Any]]:
    """What a program reads of a run: `{"inputs", "tensors"}`, each `{name: {"dtype", "shape", "values"}}`."""
    out: dict[str, dict[str, Any]] = {"inputs": {}, "tensors": {}}
    numbers = list_given_values(run)
    for port in program.ports:
        family, _, name = port.partition(":")
        if port in numbers:
            value = operations.settle(array(numbers[port]))
            told = [mark_number(v) for v in value.ravel().tolist()]
            group = out["inputs" if family == "input" else "tensors"]
            group[name] = {"dtype": str(value.dtype), "shape": list(value.shape), "values": told}
    return out
