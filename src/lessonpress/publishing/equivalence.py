"""Where a fresh rendering stands to what is published: identical, the same within tolerance, or something else.

Processors round differently. So when only numbers differ, the revision is rendered again from the published ones: if
that gives the published id, and old and new numbers agree within the lesson's tolerance, nothing has changed.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lessonpress.build import record, render
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import canonical_json, tensor_file
from lessonpress.revision import identity, numeric_diff, published
from lessonpress.revision.numeric_diff import Array, Comparison
from lessonpress.web.page import program
from lessonpress.worker import recorded

Capture = Mapping[str, Any]


@dataclass(frozen=True)
class Equivalence:
    """How a rendering stands to one published revision."""

    revision: str  # the published one
    same: bool  # nothing has changed: the bytes are equal, or all numbers are within tolerance and all else is equal
    comparison: Comparison  # of recorded numbers and weights


def compare_build(work: LessonBuild, folder: Path) -> Equivalence:
    """Compare a rendered build with the published revision in `folder`. Raises LessonError when one cannot be read."""
    new = canonical_json.read(work.revision / "identity.json")
    compared = compare_numbers(folder, work.revision)
    if identity.compute_revision((work.revision / "identity.json").read_text(encoding="utf-8")) == folder.name:
        return Equivalence(folder.name, True, compared)
    near = compared.good() and identity.differ_in_numbers_only(published.read_identity(folder), new)
    return Equivalence(folder.name, near and render_again(work, folder) == folder.name, compared)


def compare_numbers(old: Path, new: Path) -> Comparison:
    """All recorded arrays, metrics and weights of two revision folders, by the tolerance of the old one."""
    atol, rtol = published.read_tolerance(old)
    sides = [{**published.read_numbers(side), **published.read_weights(side)} for side in (old, new)]
    return numeric_diff.compare(sides[0], sides[1], atol=atol, rtol=rtol)


def render_again(work: LessonBuild, folder: Path) -> str:
    """The id that a build's lesson gets when it is rendered from the numbers published in `folder`."""
    source, read = work.source, work.lesson
    captured: Capture = work.body("capture.json")
    cases = substitute_cases(work.cases, folder)
    offered = program.offered((folder / "index.html").read_text(encoding="utf-8"))
    captured = substitute_inputs(substitute_weights(captured, folder), offered)
    captured = substitute_arrays(captured, source["plan"], published.read_large_arrays(folder))
    table = record.make_table(read.recipe, cases).to_csv(index=False, lineterminator="\n").encode()
    name, _ = render.render_revision(read, source, captured, cases, work.checks, table)
    return name


def substitute_cases(cases: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Recorded cases with the published numbers in the places of the new ones."""
    told, beside = published.read_identity(folder)["recorded"], published.read_large_arrays(folder)

    def values(case: str, name: str) -> Any:
        array = beside.get(f"{case}: {name}")
        return told[case][name] if array is None else record.describe_array(array)["values"]

    return {"cases": {
        case: {
            "arrays": {name: {**array, "values": values(case, name)} for name, array in found["arrays"].items()},
            "metrics": {name: values(case, name) for name in found["metrics"]},
        }
        for case, found in cases["cases"].items()
    }}  # fmt: skip


def substitute_weights(captured: Capture, folder: Path) -> dict[str, Any]:
    """A capture with the published weights in the places of the new ones."""
    stored = tensor_file.raw((folder / "weights.safetensors").read_bytes())
    return _edited(captured, lambda name, run, blobs: _weighted(name, run, stored, blobs))


def _weighted(name: str, run: Mapping[str, Any], stored: Mapping[str, bytes], blobs: dict[str, str]) -> dict[str, Any]:
    values = list(run["values"])
    for kind in ("params", "buffers"):
        for key, number in run[kind].items():
            own = f"execution/{key}" if run["kind"] == "execution" else f"case:{name}/{key}"
            data = stored.get(own, stored.get(f"experiment/{key}"))
            if data is not None:
                values[number] = {**values[number], "blob": _kept(data, blobs)}
    return {**run, "values": values}


def substitute_inputs(captured: Capture, given: Mapping[str, Mapping[str, Array]]) -> dict[str, Any]:
    """A capture with published inputs, by case and leaf, in the places of the new ones."""

    def edit(name: str, run: Mapping[str, Any], blobs: dict[str, str]) -> dict[str, Any]:
        values = list(run["values"])
        for top, struct in run["inputs"]:
            for path, leaf in recorded.leaves(struct):
                array = given.get(name, {}).get(".".join(part for part in (top, path) if part))
                if array is not None and isinstance(leaf, dict) and "tensor" in leaf:
                    number = leaf["tensor"]
                    if list(array.shape) == values[number]["shape"]:
                        data = _bytes(array, values[number]["dtype"])
                        values[number] = {**values[number], "blob": _kept(data, blobs)}
        return {**run, "values": values}

    return _edited(captured, edit)


def substitute_arrays(captured: Capture, plan: Mapping[str, Any], beside: Mapping[str, Array]) -> dict[str, Any]:
    """A capture with published arrays, by `case: record`, written to the places that they were cut from."""
    cuts = {cut["id"]: cut for cut in plan["record"]}

    def edit(name: str, run: Mapping[str, Any], blobs: dict[str, str]) -> dict[str, Any]:
        own = {key.removeprefix(f"{name}: "): array for key, array in beside.items() if key.startswith(f"{name}: ")}
        for key, array in own.items():
            run = _written(run, captured, cuts[key], array, blobs)
        return dict(run)

    return _edited(captured, edit) if beside else dict(captured)


def _written(
    run: Mapping[str, Any], captured: Capture, cut: Mapping[str, Any], array: Array, blobs: dict[str, str]
) -> dict[str, Any]:
    """A run with one array written back through its cut."""
    seen = recorded.Run(run, captured["modules"], blobs)
    whole = seen[cut["tensor"]].copy()
    places = recorded.select(np.arange(whole.size).reshape(whole.shape), cut["select"], cut["reshape"])
    whole.reshape(-1)[places.reshape(-1)] = array.reshape(-1)
    calls = list(whole) if cut["tensor"].endswith("#*") else [whole]
    values = list(run["values"])
    for at, part in enumerate(calls):
        address = cut["tensor"].removesuffix("#*") + (f"#{at}" if cut["tensor"].endswith("#*") else "")
        source = seen[address]
        number = next((n for n, held in seen.arrays.items() if held is source), None)
        if number is not None:  # a parameter that the run widened is not: the weights hold it
            values[number] = {**values[number], "blob": _kept(_bytes(part, values[number]["dtype"]), blobs)}
    return {**run, "values": values}


def _bytes(array: Array, dtype: str) -> bytes:
    if dtype == "bfloat16":
        return bytes((np.ascontiguousarray(array, dtype="<f4").view("<u4") >> 16).astype("<u2").tobytes())
    return bytes(array.astype(np.dtype(dtype).newbyteorder("<")).tobytes())


def _edited(
    captured: Capture, edit: Callable[[str, Mapping[str, Any], dict[str, str]], dict[str, Any]]
) -> dict[str, Any]:
    """A capture whose runs are edited; the edit adds the bytes that it needs to the blobs."""
    blobs = dict(captured["blobs"])
    runs = {name: edit(name, run, blobs) for name, run in captured["runs"].items()}
    return {**captured, "runs": runs, "blobs": blobs}


def _kept(data: bytes, blobs: dict[str, str]) -> str:
    name = canonical_json.digest(data)
    blobs[name] = base64.b64encode(data).decode()
    return name
