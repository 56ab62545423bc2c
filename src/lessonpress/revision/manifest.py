"""The manifest: everything that a revision says about itself, in the seed's keys and ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lessonpress import __version__
from lessonpress.lesson import plan
from lessonpress.lesson import recipe as recipes
from lessonpress.lesson.recipe import Recipe
from lessonpress.worker import recorded

INLINE = 10_000  # numbers of one array that stand in the manifest; larger ones lie in a file beside it
SAMPLE = 64
# What stands before the run in the seed's order of keys.
EARLY = ("question", "description", "category", "tags", "curator", "attribution", "license", "limitations")
# Where a recorded array is read; all else that its entry says is how it is shown, and enters the manifest.
READ = {"id", "label", "tensor", "select", "reshape"}


def make_manifest(
    recipe: Recipe, source: Mapping[str, Any], captured: Mapping[str, Any], graph: Mapping[str, Any],
    cases: Mapping[str, Any], checks: Sequence[Mapping[str, Any]], replay: Mapping[str, Any],
    weights: str, graphs: Mapping[str, Any], templates: str, prepared: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The manifest without revision and files, in the seed's order of keys.

    `weights` and `templates` are digests: of the file of weights, and of the templates and the code that fills them.
    """
    said = recipes.manifest_values(recipe)
    return {
        "schemaVersion": 1, "slug": said.pop("slug"), "title": said.pop("title"), "className": recipe.model.class_,
        **{key: said.pop(key) for key in EARLY}, "openingStep": recipe.opening_step or _first_step(recipe),
        "provenance": {**make_provenance(recipe, source, captured, checks, weights, prepared),
                       "templatesSha256": templates},
        "layers": graph["layers"], "connections": graph["connections"], "idle": graph["idle"],
        "unusedInputs": graph["unusedInputs"], "steps": said.pop("steps"), "milestone": said.pop("milestone"),
        "experiment": make_experiment(recipe, cases, graphs),
        "checks": [dict(check) for check in checks], "glossary": said.pop("glossary"), "replay": dict(replay),
        "tolerance": choose_tolerance(recipe), **said,
    }  # fmt: skip


def _first_step(recipe: Recipe) -> str | None:
    return recipe.steps[0].id if recipe.steps else None


def choose_tolerance(recipe: Recipe) -> dict[str, float]:
    """How far a regenerated number may lie from the published one: the recipe's word, or the dtype's default."""
    if recipe.tolerance:
        return {"atol": float(recipe.tolerance.atol), "rtol": float(recipe.tolerance.rtol)}
    double = (recipe.experiment.dtype if recipe.experiment else recipe.execution.dtype) == "float64"
    return {"atol": 1e-12, "rtol": 1e-12} if double else {"atol": 1e-5, "rtol": 1e-5}


def make_provenance(
    recipe: Recipe,
    source: Mapping[str, Any],
    captured: Mapping[str, Any],
    checks: Sequence[Mapping[str, Any]],
    weights: str,
    prepared: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Where the numbers come from: the seed's keys first, then settings, isolation, processor and weights."""
    told = captured["provenance"]
    run = captured["runs"]["execution"]
    outputs = list_outputs(run)
    model = next(f["sha256"] for f in source["files"] if f["path"] == recipe.model.file)
    return {
        "capturedAt": told["capturedAt"], "productRevision": told["productRevision"], "sourceSha256": model,
        "python": told["python"], "torch": told["torch"], "lessonpress": __version__,
        "execution": {
            "inputs": {"args": [spec for _, spec in source["plan"]["runs"][0]["inputs"]],
                       "names": [name for name, _ in source["plan"]["runs"][0]["inputs"]]},
            "device": "cpu", "mode": run["mode"], "seed": run["seed"], "dtype": run["dtype"], "deterministic": True,
        },
        "outcome": "passed", "outputShape": outputs[0]["shape"] if len(outputs) == 1 else None, "outputs": outputs,
        "method": "lessonpress: the run itself, watched by module calls and tensor operations in a worker process",
        "scope": recipe.scope, "numericalChecks": [check["sentence"] for check in checks],
        "initialisation": told["initialisation"], "weightsSha256": weights,
        "prepared": dict(prepared) if prepared else None, "digests": source["digests"],
        "settings": told["settings"], "cpu": told["cpu"], "host": told["host"], "isolation": told["isolation"],
    }  # fmt: skip


def list_outputs(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tensors that the execution returned: `[{path, shape, dtype}]`, `""` for a bare one."""
    values = run["values"]
    leaves = recorded.leaves(run["output"])
    found = [(path, leaf["tensor"]) for path, leaf in leaves if isinstance(leaf, dict) and "tensor" in leaf]
    return [{"path": path, "shape": values[n]["shape"], "dtype": values[n]["dtype"]} for path, n in found]


def make_experiment(recipe: Recipe, cases: Mapping[str, Any], graphs: Mapping[str, Any]) -> dict[str, Any] | None:
    """The recorded cases; a case whose graph is not the execution's carries its own."""
    found = recipe.experiment
    if found is None:
        return None
    control = found.control
    return {
        "kind": "matrices", "title": found.title or "", "description": found.description or "",
        "controlLabel": (control.label or control.input) if control else "",
        "control": plan.to_json(control.model_dump()) if control else None,
        "seed": recipe.execution.seed if found.seed is None else found.seed, "dtype": found.dtype,
        "cases": [_case(found, case, cases["cases"][case.id], graphs.get(case.id)) for case in found.cases],
    }  # fmt: skip


def _case(shared: recipes.Experiment, case: recipes.Case, found: Mapping[str, Any], graph: Any) -> dict[str, Any]:
    record, arrays = shared.record, found["arrays"]
    out = {
        "id": case.id, "label": case.label or case.id, "target": case.target or shared.target,
        "note": case.note or "",
        "matrices": [_array(case.id, entry, arrays[entry.id]) for entry in record.matrices],
        "vectors": [_array(case.id, entry, arrays[entry.id]) for entry in record.vectors],
        "metrics": [{"id": m.id, "label": m.label or m.id, "value": found["metrics"][m.id]} for m in record.metrics],
    }  # fmt: skip
    return {**out, "graph": graph} if graph else out


def _array(case: str, entry: Any, array: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"id": entry.id, "label": entry.label or entry.id, "dtype": array["dtype"]}
    values = array["values"] if array["shape"] else [array["values"]]
    if count_elements(array["shape"]) > INLINE:
        sample = _flat(array["values"])[:SAMPLE]
        values = {"file": name_array_file(case, entry.id), "shape": array["shape"], "sample": sample}
    out["values"] = values
    return out | {key: shown for key, shown in entry.model_dump(exclude=READ).items() if shown}


def count_elements(shape: Sequence[int]) -> int:
    """The number of elements of a shape."""
    return int(np.prod(shape, dtype=np.int64))


def name_array_file(case: str, record: str) -> str:
    """The file beside the manifest that holds a large array."""
    return f"values/{case}-{record}.npy"


def _flat(values: Any) -> list[Any]:
    while isinstance(values, list) and values and isinstance(values[0], list):
        values = [leaf for item in values for leaf in item]
    return list(values) if isinstance(values, list) else [values]
