"""Whether a fresh rendering is equivalent to a published revision: identical, or the same within tolerance.

Processors round differently. So when only numbers differ, the revision is rendered again from the published numbers: if
that gives the published id, and old and new numbers agree within the lesson's tolerance, nothing has changed.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lessonpress.build import record, render
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import canonical_json, tensor_file
from lessonpress.revision import identity, numeric_diff, published
from lessonpress.revision.numeric_diff import Array, Comparison
from lessonpress.web.page import program
from lessonpress.worker import recorded

if TYPE_CHECKING:
    from lessonpress.lesson.capture_records import Capture
    from lessonpress.lesson.records import Cases, CaseValues, Nested, Plan, RecordPlan
    from lessonpress.worker.records import Run, Value

    Edit = Callable[[str, Run, dict[str, str]], Run]  # from a run's id, the run and the blobs, to which it adds bytes


@dataclass(frozen=True)
class Equivalence:
    """How a rendering compares with one published revision."""

    revision: str  # the published one
    same: bool  # nothing has changed: the bytes are equal, or all numbers are within tolerance and all else is equal
    comparison: Comparison  # of recorded numbers and weights


def compare_build(work: LessonBuild, folder: Path) -> Equivalence:
    """Compare a rendered build with the published revision in `folder`. Raises LessonError when one cannot be read."""
    new = canonical_json.read(work.revision / "identity.json")
    comparison = compare_numbers(folder, work.revision)
    if identity.compute_revision((work.revision / "identity.json").read_text(encoding="utf-8")) == folder.name:
        return Equivalence(folder.name, True, comparison)
    near = comparison.good() and identity.differ_in_numbers_only(published.read_identity(folder), new)
    return Equivalence(folder.name, near and render_again(work, folder) == folder.name, comparison)


def compare_numbers(old: Path, new: Path) -> Comparison:
    """Compare all recorded arrays, metrics and weights of two revision folders, by the tolerance of the old one."""
    atol, rtol = published.read_tolerance(old)
    sides = [{**published.read_numbers(side), **published.read_weights(side)} for side in (old, new)]
    return numeric_diff.compare(sides[0], sides[1], atol=atol, rtol=rtol)


def render_again(work: LessonBuild, folder: Path) -> str:
    """The id that a build's lesson gets when it is rendered with the numbers published in `folder`."""
    source, read = work.source, work.lesson
    cases = substitute_cases(work.cases, folder)
    inputs = program.read_inputs((folder / "index.html").read_text(encoding="utf-8"))
    capture = substitute_inputs(substitute_weights(work.capture, folder), inputs)
    capture = substitute_arrays(capture, source["plan"], published.read_large_arrays(folder))
    table = record.make_table(read.recipe, cases).to_csv(index=False, lineterminator="\n").encode()
    name, _ = render.render_revision(read, source, capture, cases, work.checks, table)
    return name


def substitute_cases(cases: Cases, folder: Path) -> Cases:
    """The recorded cases with the published numbers in the place of the new ones."""
    small, large = published.read_identity(folder)["recorded"], published.read_large_arrays(folder)

    def read_values(case: str, name: str) -> Nested:
        array = large.get(f"{case}: {name}")
        return small[case][name] if array is None else record.describe_array(array)["values"]

    def substitute(case: str, new: CaseValues) -> CaseValues:
        return {
            "arrays": {name: {**array, "values": read_values(case, name)} for name, array in new["arrays"].items()},
            "metrics": {name: read_values(case, name) for name in new["metrics"]},
        }

    return {"cases": {case: substitute(case, new) for case, new in cases["cases"].items()}}


def substitute_weights(capture: Capture, folder: Path) -> Capture:
    """The capture with the published weights in the place of the new ones."""
    weights = tensor_file.read_bytes((folder / "weights.safetensors").read_bytes())
    return _edit_runs(capture, lambda name, run, blobs: _put_weights(name, run, weights, blobs))


def _put_weights(name: str, run: Run, weights: Mapping[str, bytes], blobs: dict[str, str]) -> Run:
    values = list(run["values"])
    for numbers in (run["params"], run["buffers"]):
        for key, number in numbers.items():
            own = f"execution/{key}" if run["kind"] == "execution" else f"case:{name}/{key}"
            data = weights.get(own, weights.get(f"experiment/{key}"))
            if data is not None:
                values[number] = _put_bytes(values[number], data, blobs)
    return {**run, "values": values}


def substitute_inputs(capture: Capture, inputs: Mapping[str, Mapping[str, Array]]) -> Capture:
    """The capture with published inputs, by case and leaf, in the place of the new ones."""

    def edit(name: str, run: Run, blobs: dict[str, str]) -> Run:
        values = list(run["values"])
        for top, struct in run["inputs"]:
            for path, leaf in recorded.leaves(struct):
                array = inputs.get(name, {}).get(".".join(part for part in (top, path) if part))
                if array is not None and isinstance(leaf, dict) and "tensor" in leaf:
                    number = leaf["tensor"]
                    if list(array.shape) == values[number]["shape"]:
                        values[number] = _put_array(values[number], array, blobs)
        return {**run, "values": values}

    return _edit_runs(capture, edit)


def substitute_arrays(capture: Capture, plan: Plan, arrays: Mapping[str, Array]) -> Capture:
    """The capture with published arrays, by `case: record`, written to the places from which they were cut."""
    cuts = {cut["id"]: cut for cut in plan["record"]}

    def edit(name: str, run: Run, blobs: dict[str, str]) -> Run:
        own = {key.removeprefix(f"{name}: "): array for key, array in arrays.items() if key.startswith(f"{name}: ")}
        for key, array in own.items():
            run = _write_array(run, capture, cuts[key], array, blobs)
        return run

    return _edit_runs(capture, edit) if arrays else capture


def _write_array(run: Run, capture: Capture, cut: RecordPlan, array: Array, blobs: dict[str, str]) -> Run:
    """A run with one array written back to where its cut took it."""
    reader = recorded.Run(run, capture["modules"], blobs)
    whole = reader[cut["tensor"]].copy()
    places = recorded.select(np.arange(whole.size).reshape(whole.shape), cut["select"], cut["reshape"])
    whole.reshape(-1)[places.reshape(-1)] = array.reshape(-1)
    calls = list(whole) if cut["tensor"].endswith("#*") else [whole]
    values = list(run["values"])
    for at, part in enumerate(calls):
        address = cut["tensor"].removesuffix("#*") + (f"#{at}" if cut["tensor"].endswith("#*") else "")
        source = reader[address]
        number = next((n for n, value in reader.arrays.items() if value is source), None)
        if number is not None:  # None for a parameter that the run widened: the weights hold it
            values[number] = _put_array(values[number], part, blobs)
    return {**run, "values": values}


def _edit_runs(capture: Capture, edit: Edit) -> Capture:
    """The capture whose runs are edited; the edit adds the bytes that it needs to the blobs."""
    blobs = dict(capture["blobs"])
    runs = {name: edit(name, run, blobs) for name, run in capture["runs"].items()}
    return {**capture, "runs": runs, "blobs": blobs}


def _put_array(value: Value, array: Array, blobs: dict[str, str]) -> Value:
    return _put_bytes(value, _to_bytes(array, value["dtype"]), blobs)


def _put_bytes(value: Value, data: bytes, blobs: dict[str, str]) -> Value:
    name = canonical_json.digest(data)
    blobs[name] = base64.b64encode(data).decode()
    return {**value, "blob": name}


def _to_bytes(array: Array, dtype: str) -> bytes:
    if dtype == "bfloat16":
        return bytes((np.ascontiguousarray(array, dtype="<f4").view("<u4") >> 16).astype("<u2").tobytes())
    return bytes(array.astype(np.dtype(dtype).newbyteorder("<")).tobytes())
