"""Whether a page will do what its recipe promises: follow the reader's moves, in the figures that it shows.

What cannot be known without a run is tried with the page's own program: each input is moved as a reader would move it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from lessonpress.core.errors import LessonError
from lessonpress.lesson.reader import Lesson
from lessonpress.replay import operations
from lessonpress.replay.operations import Array, Program
from lessonpress.replay.operations.interpreter import GIVEN
from lessonpress.replay.operations.slots import list_given_values
from lessonpress.replay.replay import Replayed
from lessonpress.web.page.page_data import Live
from lessonpress.worker import recorded
from lessonpress.worker.records import Recorded, Run

PLACES, LONGEST = 6, 300  # elements of an input that are moved, one at a time; characters of a reason
REPLACE = ("Use operations that docs/reference.md lists, or take `control:` out, so that nobody expects the page to "
           "follow.")  # fmt: skip
GUARDED = ("The model decides by this number, and the page follows one way only. Let the decision go by something that "
           "readers do not move, or move another input.")  # fmt: skip
UNREAD = "Move an input that the recorded figures are computed from, or record what follows this one."


def find_broken(
    lesson: Lesson, captured: Recorded, replayed: Mapping[str, Replayed], live: Live | None, reason: str
) -> Iterator[LessonError]:
    """What the page of a lesson with an experiment will not do, with the reason and the cure.

    `reason` says why a page shows recorded values only, where `live` is None.
    """
    experiment = lesson.recipe.experiment
    if experiment is None:
        return
    where = os.path.relpath(lesson.folder / "lesson.yaml")
    runs = {name: run for name, run in captured["runs"].items() if run["kind"] == "case"}
    if live is None:
        cure = REPLACE if experiment.control else REPLACE.partition(", or")[0] + "."
        yield LessonError(_locate_loss(captured, replayed, runs) or where, "the page will show recorded values only",
                          _shorten(reason), cure)  # fmt: skip
        return
    addresses = [entry.tensor for entry in (*experiment.record.matrices, *experiment.record.vectors)]
    control = experiment.control.input if experiment.control else None
    unread = lesson.error(("experiment", "control", "input"), f"nothing on the page follows {control}",
                          "every figure stays as it is, wherever it is moved", UNREAD)  # fmt: skip
    names = dict.fromkeys(leaf for case in live["cases"].values() for leaf in case["inputs"])
    if control and not any(_names(control, name) for name in names):
        yield unread
    for name in names:
        moved = [_Moved(replayed[case].program, run, captured, name) for case, run in runs.items()]
        promised = _names(control, name) and bool(addresses)
        limits = experiment.control.range if experiment.control and _names(control, name) else None
        tried = (outcome for one in moved for outcome in one.try_all(limits, addresses if promised else ()))
        outcomes = list(_until_kept(tried, (True,) if promised else (True, False)))
        if outcomes and all(isinstance(outcome, str) for outcome in outcomes):
            yield LessonError(f"{where}: input {name}", "the page refuses every move of it",
                              _shorten(str(outcomes[0])), GUARDED)  # fmt: skip
        elif promised and True not in outcomes:
            yield unread


def _until_kept(outcomes: Iterator[bool | str], kept: Sequence[bool]) -> Iterator[bool | str]:
    """The outcomes up to the first that keeps the promise: one is enough, and each is a run of the program."""
    for outcome in outcomes:
        yield outcome
        if outcome in kept:
            return


def _names(control: str | None, leaf: str) -> bool:
    """Whether a leaf of an input is what the recipe's control moves."""
    return control is not None and (leaf == control or leaf.startswith(f"{control}."))


def _shorten(reason: str) -> str:
    return reason if len(reason) <= LONGEST else f"{reason[:LONGEST].rsplit(' ', 1)[0]} …"


def _locate_loss(captured: Recorded, replayed: Mapping[str, Replayed], runs: Mapping[str, Run]) -> str | None:
    """Where in the lesson's files the first call stands that the page cannot repeat."""
    for name, run in (runs or captured["runs"]).items():
        for reason in replayed[name].certificate.uncovered:
            layer = reason.partition(": ")[0]
            place = next((call["at"] for call in run["calls"] if call["layer"] == layer and call["at"]), None)
            if place:
                return f"{place['file']}:{place['line']}"
    return None


class _Moved:
    """One case's program and inputs, of which one is moved."""

    def __init__(self, program: Program, run: Run, captured: Recorded, name: str) -> None:
        self.program, self.name = program, name
        self.run = recorded.Run(run, captured["modules"], captured["blobs"])
        numbers = list_given_values(run)
        arrays = {port: operations.settle(recorded.decode_array(run["values"][numbers[port]], captured["blobs"]))
                  for port in program.ports if port in numbers}  # fmt: skip
        self.inputs = {port.partition(":")[2]: a for port, a in arrays.items() if port.startswith("input:")}
        self.tensors = {port.partition(":")[2]: a for port, a in arrays.items() if not port.startswith("input:")}

    def try_all(self, limits: Sequence[float] | None, addresses: Sequence[str]) -> Iterator[bool | str]:
        """For each move whether a recorded array changes, or why the move is refused."""
        if self.name not in self.inputs:
            return
        ports = {port for address in addresses for port in self._list_ports(address)}
        start = operations.run_program(self.program, self.inputs, self.tensors) if ports else {}
        for moved in self._list_moves(limits):
            try:
                values = operations.run_program(self.program, {**self.inputs, self.name: moved}, self.tensors)
            except operations.Unsupported as refused:
                yield str(refused)
                continue
            yield any(not np.array_equal(values[port], start[port], equal_nan=True) for port in ports & values.keys())

    def _list_moves(self, limits: Sequence[float] | None) -> Iterator[Array]:
        """The input with one element moved: a little to both sides, and to the ends of its range."""
        base = self.inputs[self.name]
        whole = base.dtype != np.float64
        low, high = limits or ((base.min(initial=0), base.max(initial=0)) if whole else (-1.0, 1.0))
        span = max(high - low, 1)
        for at in np.unique(np.linspace(0, base.size - 1, min(PLACES, base.size)).astype(int)) if base.size else ():
            here = float(base.flat[at])
            near = (here - 1, here + 1) if whole else (here - span / 1000, here + span / 1000)
            for value in {*near, float(low), float(high)} - {here}:
                if low <= value <= high or value in near:
                    moved = base.copy()
                    moved.flat[at] = bool(value % 2) if base.dtype == np.bool_ else value
                    yield moved

    def _list_ports(self, address: str) -> Iterator[str]:
        """The ports of the program that hold what an address names."""
        kind, colon, _ = address.partition(":")
        if colon and kind in GIVEN:
            yield address
            return
        numbers = {id(call["out"]): number for number, call in enumerate(self.run.run["calls"])}
        parsed = recorded.parse(address)
        for struct in self.run.structs(parsed, address):
            number = numbers.get(id(struct))
            for path, leaf in recorded.leaves(struct):
                sources = leaf.get("from", []) if isinstance(leaf, dict) else []
                yield from ("{}:{}".format(*source) for source in sources)
                if number is not None and not sources:
                    yield f"{number}:{path}"
