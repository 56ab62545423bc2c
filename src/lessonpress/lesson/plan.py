"""What the worker is to do: the runs of a lesson, every default and inheritance written out, as plain JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from lessonpress.lesson.recipe import DRAWN, Case, Experiment, Recipe, Recording, Run, Spec

if TYPE_CHECKING:
    from lessonpress.worker.records import (
        GradientPlan,
        InputSpec,
        MetricPlan,
        MutantPlan,
        Plan,
        RecordPlan,
        RunPlan,
        TrainingPlan,
    )  # fmt: skip

KINDS = ("values", "fill", "words", "literal", "list", "tuple", "dict")


def plan_runs(recipe: Recipe) -> Plan:
    """The plan of a recipe: the execution first, then the cases, then the probes."""
    runs = [_execution(recipe)]
    if recipe.experiment:
        runs += [_run(recipe, recipe.experiment, run) for run in (*recipe.experiment.cases, *recipe.experiment.probes)]
    for run in runs:
        if wanted := plan_gradients(recipe):
            run["gradients"] = wanted
    return {"schema": 1, "slug": recipe.slug, "model": {"file": recipe.model.file, "class": recipe.model.class_},
            "runs": runs, "record": plan_records(recipe), "metrics": plan_metrics(recipe), "checks": recipe.checks,
            "mutants": plan_mutants(recipe), "prepare": plan_training(recipe)}  # fmt: skip


def plan_training(recipe: Recipe) -> TrainingPlan | None:
    """How the lesson's weights are made, None where no run asks for any: `{file, function, seed, mode, args, options,
    tolerance}`; `args` build the model, `options` are the function's own."""
    training = recipe.prepare
    if training is None:
        return None
    return {
        "file": training.file or recipe.model.file, "function": training.function,
        "seed": _seed(recipe) if training.seed is None else training.seed, "mode": training.mode,
        "args": to_json(recipe.model.args), "options": to_json(training.args),
        "tolerance": {"atol": float(training.tolerance.atol), "rtol": float(training.tolerance.rtol)},
    }  # fmt: skip


def _seed(recipe: Recipe) -> int:
    """The seed of the cases, or that of the execution."""
    own = recipe.experiment.seed if recipe.experiment else None
    return recipe.execution.seed if own is None else own


def _weights(*said: str | None) -> str | None:
    """The name of a run's prepared weights, from the innermost word to the outermost; None for weights as drawn."""
    name = next((word for word in said if word is not None), DRAWN)
    return None if name == DRAWN else name


def plan_records(recipe: Recipe) -> list[RecordPlan]:
    """What is cut out of every case: `[{id, tensor, select, reshape}]`."""
    recording = recipe.experiment.record if recipe.experiment else Recording()
    return [{"id": entry.id, "tensor": entry.tensor, "select": entry.select, "reshape": entry.reshape}
            for entry in (*recording.matrices, *recording.vectors)]  # fmt: skip


def plan_gradients(recipe: Recipe) -> GradientPlan | None:
    """The gradients that every run takes, None where the recipe asks for none."""
    wanted = recipe.experiment.record.gradients if recipe.experiment else None
    if wanted is None:
        return None
    return {"of": wanted.of, "select": wanted.select, "with_respect_to": wanted.with_respect_to}


def locate_gradient(address: str, wanted: Sequence[str]) -> str | None:
    """Where the gradient with respect to an address is recorded: the call that gives it, and its place there."""
    return f"grad@gradients#0[{list(wanted).index(address)}]" if address in wanted else None


def plan_metrics(recipe: Recipe) -> list[MetricPlan]:
    """The numbers computed from what is recorded: `[{id, value, of}]`."""
    recording = recipe.experiment.record if recipe.experiment else Recording()
    return [{"id": metric.id, "value": metric.value, "of": metric.of} for metric in recording.metrics]


def plan_mutants(recipe: Recipe) -> list[MutantPlan]:
    """The broken variants of the lesson: `[{id, file, find, with, breaks}]`."""
    return [{"id": mutant.id, "file": mutant.replace.file, "find": mutant.replace.find, "with": mutant.replace.with_,
             "breaks": mutant.breaks} for mutant in recipe.mutants]  # fmt: skip


def _execution(recipe: Recipe) -> RunPlan:
    execution = recipe.execution
    return {
        "id": "execution", "kind": "execution", "seed": execution.seed, "mode": execution.mode,
        "dtype": execution.dtype, "args": to_json(recipe.model.args), "weights": _weights(execution.weights),
        "parameters": {},
        "inputs": _pairs({name: complete_spec(write_spec(spec)) for name, spec in execution.inputs.items()}, recipe),
    }  # fmt: skip


def _run(recipe: Recipe, experiment: Experiment, run: Run) -> RunPlan:
    shared = {name: complete_spec(write_spec(spec)) for name, spec in recipe.execution.inputs.items()}
    for given in (experiment.inputs, run.inputs):
        for name, spec in given.items():
            shared[name] = complete_spec(overlay_spec(shared.get(name, {}), write_spec(spec)))
    return {
        "id": run.id, "kind": "case" if isinstance(run, Case) else "probe", "seed": _seed(recipe),
        "mode": experiment.mode or recipe.execution.mode, "dtype": experiment.dtype,
        "args": to_json({**recipe.model.args, **run.args}),
        "weights": _weights(run.weights, experiment.weights, recipe.execution.weights),
        "parameters": {name: write_spec(spec) for name, spec in run.parameters.items()},
        "inputs": _pairs(shared, recipe),
    }  # fmt: skip


def _pairs(inputs: dict[str, InputSpec], recipe: Recipe) -> list[tuple[str, InputSpec]]:
    """Inputs with their names in order, as JSON has them: pairs are lists, so that a plan equals the one read back."""
    pairs = [[name, look_up_words(spec, recipe.vocabularies)] for name, spec in inputs.items()]
    return cast("list[tuple[str, InputSpec]]", pairs)


def look_up_words(spec: InputSpec, vocabularies: Mapping[str, Sequence[str]]) -> InputSpec:
    """A spec with numbers for its words; one that names no vocabulary, or another word, stays as it is."""
    for way in ("list", "tuple"):
        if way in spec:
            return {**spec, way: [look_up_words(item, vocabularies) for item in spec[way]]}
    if "dict" in spec:
        return {**spec, "dict": {key: look_up_words(item, vocabularies) for key, item in spec["dict"].items()}}
    rest = {key: value for key, value in spec.items() if key not in ("words", "vocabulary")}
    known = {word: at for at, word in enumerate(vocabularies.get(spec.get("vocabulary") or "", ()))}
    words = split_words(spec.get("words"))
    if "words" not in spec or not set(list_words(words)) <= known.keys():
        return dict(spec) if "words" in spec else rest
    return {**rest, "values": _map_words(words, known), "dtype": spec.get("dtype") or "int64"}


def split_words(words: Any) -> Any:
    """A text as the list of its words; nested lists as they are."""
    return words.split() if isinstance(words, str) else words


def list_words(words: Any) -> Iterator[Any]:
    """Every word of nested lists, in order."""
    for word in words if isinstance(words, list) else [words]:
        if isinstance(word, list):
            yield from list_words(word)
        else:
            yield word


def _map_words(words: Any, known: Mapping[str, int]) -> Any:
    return [_map_words(word, known) for word in words] if isinstance(words, list) else known[words]


def write_spec(spec: Spec) -> InputSpec:
    """An input spec as JSON, with only the keys that were given."""
    out: InputSpec = {}
    for name in Spec.model_fields:
        if name not in spec.model_fields_set:
            continue
        value, key = getattr(spec, name), name.rstrip("_")
        if key in ("list", "tuple"):
            out[key] = [write_spec(item) for item in value or ()]
        elif key == "dict":
            out[key] = {k: write_spec(item) for k, item in (value or {}).items()}
        else:
            out[key] = to_json(value)
    return out


def complete_spec(spec: InputSpec) -> InputSpec:
    """A whole spec with its defaults written out: what is filled is float32 unless it says otherwise."""
    for way in ("list", "tuple"):
        if way in spec:
            return {**spec, way: [complete_spec(item) for item in spec[way]]}
    if "dict" in spec:
        return {**spec, "dict": {key: complete_spec(item) for key, item in spec["dict"].items()}}
    return {**spec, "dtype": "float32"} if "fill" in spec and not spec.get("dtype") else dict(spec)


def overlay_spec(base: InputSpec, over: InputSpec) -> InputSpec:
    """A spec that inherits what it does not say: a new way of saying the values replaces the old one whole."""
    if not any(kind in over for kind in KINDS):
        return {**base, **over}
    kept: InputSpec = {key: base[key] for key in ("shape", "dtype", "vocabulary") if key in base}
    if "dict" in over and "dict" in base:
        inner = {key: overlay_spec(base["dict"].get(key, {}), item) for key, item in over["dict"].items()}
        return {"dict": {**base["dict"], **inner}}
    if any(kind in over for kind in ("literal", "list", "tuple", "dict")):
        return dict(over)
    return {**kept, **over}


def to_json(value: Any) -> Any:
    """A YAML value as JSON; a number that JSON lacks becomes `{"float": "NaN"}`."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    return [to_json(item) for item in value] if isinstance(value, list) else value
