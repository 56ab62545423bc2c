"""The manifest: everything that a revision says about itself, in the seed's keys and ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from lessonpress import __version__
from lessonpress.core.records import ReplayCertificate
from lessonpress.lesson import plan
from lessonpress.lesson import recipe as recipes
from lessonpress.lesson.capture_records import Capture
from lessonpress.lesson.recipe import Recipe
from lessonpress.lesson.records import (
    ArrayRecord,
    Cases,
    CaseValues,
    Graph,
    Nested,
    Prepared,
    SourceRecord,
    TensorType,
    Tolerance,
    Verdict,
)
from lessonpress.revision.manifest_schema import (
    ArrayFile,
    Experiment,
    Manifest,
    Provenance,
    PublishedArray,
    PublishedCase,
)
from lessonpress.worker import recorded
from lessonpress.worker.records import Run, Struct

INLINE = 10_000  # numbers of one array that stand in the manifest; larger ones lie in a file beside it
SAMPLE = 64
# What stands before the run in the seed's order of keys.
EARLY = ("question", "description", "category", "tags", "curator", "attribution", "license", "limitations")
# Where a recorded array is read; all else that its entry says is how it is shown, and enters the manifest.
READ = {"id", "label", "tensor", "select", "reshape"}
METHOD = "lessonpress: the run itself, watched by module calls and tensor operations in a worker process"


def make_manifest(
    recipe: Recipe, source: SourceRecord, captured: Capture, graph: Graph, cases: Cases, checks: Sequence[Verdict],
    replay: ReplayCertificate, weights: str, graphs: Mapping[str, Graph], templates: str,
    prepared: Prepared | None = None,
) -> Manifest:  # fmt: skip
    """The manifest of a revision that has no name and no files yet, in the seed's order of keys.

    `graphs` are those of the cases that ran otherwise than the execution. `weights` and `templates` are digests: of the
    file of weights, and of the templates and the code that fills them.
    """
    words = recipes.manifest_values(recipe)
    provenance = make_provenance(recipe, source, captured, checks, weights, prepared)
    # The recipe's fields enter by their role, which no type can know; the schema is held against all of it.
    return cast(Manifest, {
        "schemaVersion": 1, "slug": words.pop("slug"), "title": words.pop("title"), "className": recipe.model.class_,
        **{key: words.pop(key) for key in EARLY}, "openingStep": recipe.opening_step or _choose_first_step(recipe),
        "provenance": {**provenance, "templatesSha256": templates},
        "layers": graph["layers"], "connections": graph["connections"], "idle": graph["idle"],
        "unusedInputs": graph["unusedInputs"], "steps": words.pop("steps"), "milestone": words.pop("milestone"),
        "experiment": make_experiment(recipe, cases, graphs),
        "checks": list(checks), "glossary": words.pop("glossary"), "replay": replay,
        "tolerance": choose_tolerance(recipe), **words, "revision": "", "files": {},
    })  # fmt: skip


def _choose_first_step(recipe: Recipe) -> str | None:
    return recipe.steps[0].id if recipe.steps else None


def choose_tolerance(recipe: Recipe) -> Tolerance:
    """How far a regenerated number may lie from the published one: as the recipe says, or the dtype's default."""
    if recipe.tolerance:
        return {"atol": float(recipe.tolerance.atol), "rtol": float(recipe.tolerance.rtol)}
    double = (recipe.experiment.dtype if recipe.experiment else recipe.execution.dtype) == "float64"
    return {"atol": 1e-12, "rtol": 1e-12} if double else {"atol": 1e-5, "rtol": 1e-5}


def make_provenance(
    recipe: Recipe, source: SourceRecord, captured: Capture, checks: Sequence[Verdict], weights: str,
    prepared: Prepared | None = None,
) -> Provenance:  # fmt: skip
    """Where the numbers come from: the seed's keys first, then settings, isolation, processor and weights."""
    facts = captured["provenance"]
    run = captured["runs"]["execution"]
    inputs = source["plan"]["runs"][0]["inputs"]
    outputs = list_outputs(run)
    model = next(f["sha256"] for f in source["files"] if f["path"] == recipe.model.file)
    return {
        "capturedAt": facts["capturedAt"], "productRevision": facts["productRevision"], "sourceSha256": model,
        "python": facts["python"], "torch": facts["torch"], "lessonpress": __version__,
        "execution": {
            "inputs": {"args": [spec for _, spec in inputs], "names": [name for name, _ in inputs]},
            "device": "cpu", "mode": run["mode"], "seed": run["seed"], "dtype": run["dtype"], "deterministic": True,
        },
        "outcome": "passed", "outputShape": outputs[0]["shape"] if len(outputs) == 1 else None, "outputs": outputs,
        "method": METHOD, "scope": recipe.scope, "numericalChecks": [check["sentence"] for check in checks],
        "initialisation": facts["initialisation"], "weightsSha256": weights, "prepared": prepared,
        "digests": source["digests"], "settings": facts["settings"], "cpu": facts["cpu"], "host": facts["host"],
        "isolation": facts["isolation"],
    }  # fmt: skip


def list_outputs(run: Run) -> list[TensorType]:
    """The tensors that a run returned, with their paths, `""` for a bare one."""
    leaves: list[tuple[str, Struct]] = recorded.leaves(run["output"])
    tensors = [(path, run["values"][leaf["tensor"]]) for path, leaf in leaves
               if isinstance(leaf, dict) and "tensor" in leaf]  # fmt: skip
    return [{"path": path, "shape": value["shape"], "dtype": value["dtype"]} for path, value in tensors]


def make_experiment(recipe: Recipe, cases: Cases, graphs: Mapping[str, Graph]) -> Experiment | None:
    """The recorded cases; a case whose graph is not the execution's carries its own."""
    experiment = recipe.experiment
    if experiment is None:
        return None
    control = experiment.control
    return {
        "kind": "matrices", "title": experiment.title or "", "description": experiment.description or "",
        "controlLabel": (control.label or control.input) if control else "",
        "control": plan.to_json(control.model_dump()) if control else None,
        "seed": recipe.execution.seed if experiment.seed is None else experiment.seed, "dtype": experiment.dtype,
        "cases": [_make_case(experiment, case, cases["cases"][case.id], graphs.get(case.id))
                  for case in experiment.cases],
    }  # fmt: skip


def _make_case(
    shared: recipes.Experiment, case: recipes.Case, values: CaseValues, graph: Graph | None
) -> PublishedCase:
    record, arrays = shared.record, values["arrays"]
    published: PublishedCase = {
        "id": case.id, "label": case.label or case.id, "target": case.target or shared.target,
        "note": case.note or "",
        "matrices": [_make_array(case.id, entry, arrays[entry.id]) for entry in record.matrices],
        "vectors": [_make_array(case.id, entry, arrays[entry.id]) for entry in record.vectors],
        "metrics": [{"id": m.id, "label": m.label or m.id, "value": values["metrics"][m.id]} for m in record.metrics],
    }  # fmt: skip
    return {**published, "graph": graph} if graph else published


def _make_array(case: str, entry: recipes.Recorded, array: ArrayRecord) -> PublishedArray:
    """A recorded array with its numbers, or with a sample of them and the name of the file that holds all."""
    values = array["values"] if array["shape"] else [array["values"]]
    if count_elements(array["shape"]) > INLINE:
        sample = _flatten(array["values"])[:SAMPLE]
        file: ArrayFile = {"file": name_array_file(case, entry.id), "shape": array["shape"], "sample": sample}
        values = file
    published: PublishedArray = {"id": entry.id, "label": entry.label or entry.id, "dtype": array["dtype"],
                                 "values": values}  # fmt: skip
    shown = {key: value for key, value in entry.model_dump(exclude=READ).items() if value}
    return cast(PublishedArray, {**published, **shown})  # the schema is held against what a recipe may say here


def count_elements(shape: Sequence[int]) -> int:
    """The number of elements of a shape."""
    return int(np.prod(shape, dtype=np.int64))


def name_array_file(case: str, record: str) -> str:
    """The file beside the manifest that holds a large array."""
    return f"values/{case}-{record}.npy"


def _flatten(values: Nested) -> list[Any]:
    while isinstance(values, list) and values and isinstance(values[0], list):
        values = [leaf for item in values for leaf in item]
    return list(values) if isinstance(values, list) else [values]
