"""Command prepare: run a lesson's training in a confined process, and store its weights as source or compare them."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from lessonpress import sandbox
from lessonpress.authoring import training_progress
from lessonpress.build import execute, source_record
from lessonpress.core import canonical_json, tensor_file
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import plan, reader, trained_weights
from lessonpress.lesson.trained_weights import Prepared
from lessonpress.revision import numeric_diff
from lessonpress.sandbox import WorkerResult, capture, worker_errors
from lessonpress.worker.prepare import format_figures
from lessonpress.worker.records import TrainingPlan, Value, WorkerError

ANSWER = {"kept", "blobs", "lines", "first", "last"}


def train_lesson(config: Config, slug: str) -> str:
    """Make a lesson's weights and write `prepared.safetensors` and `prepared.json` beside its recipe.

    Returns in words what was kept, with a warning for each run that asks for other weights, which publish will refuse.
    Raises LessonError, and writes nothing, when the lesson's code fails or hits a limit.
    """
    lesson = reader.read(config.lesson(slug))
    record, data = run_training(config, lesson)
    changed = trained_weights.store(lesson.folder, record, data)
    names = ", ".join(entry.name + (f" ({format_figures(entry.figures)})" if entry.figures else "")
                      for entry in record.kept)  # fmt: skip
    missing = trained_weights.find_missing(lesson, plan.plan_runs(lesson.recipe), [entry.name for entry in record.kept])
    words = f"{slug}: {'stored' if changed else 'unchanged,'} the weights {names}"
    return "\n".join([words, *(f"warning: {error.message()}" for error in missing)])


def repeat_training(config: Config, slug: str) -> str:
    """Make a lesson's weights once more and compare them and their figures with what is stored; writes nothing.

    Returns the largest difference in words. Raises LessonError when it is outside the tolerance of `prepare`.
    """
    lesson = reader.read(config.lesson(slug))
    old = trained_weights.read_record(lesson)
    if old is None:
        raise LessonError(os.path.relpath(lesson.folder), "nothing has been prepared that could be repeated",
                          trained_weights.RECORD, f"Run `lessonpress prepare {slug}`.")  # fmt: skip
    stored = trained_weights.read_arrays(lesson)  # before the training: that takes its time
    tolerance = _require_plan(lesson)["tolerance"]
    new, data = run_training(config, lesson)
    before, after = {**collect_figures(old), **stored}, {**collect_figures(new), **tensor_file.read_arrays(data)}
    difference = numeric_diff.compare(before, after, **tolerance)
    if not difference.good():
        changed = trained_weights.find_changes(lesson, old)
        why = f" ({', '.join(changed)} changed since)" if changed else ""
        seen = f"the training gives other weights: {difference.words()}{why}"
        raise LessonError(trained_weights.record_path(lesson), seen,
                          f"within {tolerance['atol']:g} + {tolerance['rtol']:g}·|stored| of what is stored",
                          f"Run `lessonpress prepare {slug}` where the change is meant.")  # fmt: skip
    close = "bit for bit" if difference.same() else f"within tolerance: {difference.words()}"
    return f"{slug}: the training repeats, {close}"


def list_trained_lessons(config: Config) -> list[str]:
    """The slugs of all lessons that say how their weights are made."""
    folders = sorted(path.parent for path in Path(config.lessons).glob(f"*/{reader.RECIPE}"))
    return [folder.name for folder in folders if reader.read(folder).recipe.prepare]


def collect_figures(record: Prepared) -> dict[str, NDArray[np.float64]]:
    """Every figure of a training as an array of one number, by `<name>: <figure>`."""
    groups: dict[str, Mapping[str, float]] = {entry.name: entry.figures for entry in record.kept}
    groups |= {"first step": record.first or {}, "last step": record.last or {}, "steps": {"reported": record.lines}}
    return {f"{name}: {key}": np.array(float(value)) for name, group in groups.items() for key, value in group.items()}


def run_training(config: Config, lesson: reader.Lesson) -> tuple[Prepared, bytes]:
    """Run the lesson's training: returns its record, and the bytes of its weights' file. Writes nothing of it.

    Raises LessonError when the lesson's code fails, hits a limit, or is not there.
    """
    task = _require_plan(lesson)
    ended = _run_process(config, lesson)
    if ended.limit or len(ended.lines) < 2:
        raise worker_errors.process_error(lesson.folder, f"{task['function']}() of {task['file']}", ended)
    try:
        facts, answer = capture.loads(ended.lines[0]), capture.loads(ended.lines[-1])
        if isinstance(answer, dict) and answer.keys() == {"error"} and isinstance(answer["error"], dict):
            failure = cast(WorkerError, answer["error"])
            at = execute.find_recipe_place(failure, plan.plan_runs(lesson.recipe), lesson.folder)
            raise worker_errors.lesson_error(failure, lesson.folder, lesson.recipe.model.class_, ended, at)
        tensors, blobs = _validate_tensors(answer.get("ok") if isinstance(answer, dict) else None)
        data = tensor_file.pack(tensors, blobs)
        steps = {key: answer["ok"][key] for key in ("lines", "first", "last")}
        kept = [{"name": entry["name"], "figures": entry["figures"]} for entry in answer["ok"]["kept"]]
        record = Prepared.model_validate({
            "schema": 1, "madeFrom": trained_weights.describe_origin(lesson, task).model_dump(), "seed": task["seed"],
            "torch": version("torch").partition("+")[0], "initialisation": str(facts.get("initialisation")), **steps,
            "kept": kept, "weights": canonical_json.digest(data),
        })  # fmt: skip
    except (capture.Malformed, ValidationError) as error:
        raise LessonError(os.path.relpath(lesson.folder), f"the worker's answer was not the worker's: {error!s:.200}",
                          "an answer that lesson code has not touched") from None  # fmt: skip
    if len(data) > reader.MAX_FILE_BYTES:
        most = f"a lesson's file has at most {reader.MAX_FILE_BYTES}"
        raise LessonError(os.path.relpath(lesson.folder), f"the kept weights are {len(data)} bytes", most,
                          "Keep fewer, or a smaller model.")  # fmt: skip
    return record, data


def _require_plan(lesson: reader.Lesson) -> TrainingPlan:
    """How the lesson's weights are made. Raises LessonError where its recipe does not say it."""
    task = plan.plan_training(lesson.recipe)
    if task is None:
        raise LessonError(f"{lesson.name}:1", "the recipe has no `prepare`", "it says how weights are made",
                          "Write `prepare: {seed: 0}` and a function prepare(model) in the model's file.")  # fmt: skip
    return task


def _run_process(config: Config, lesson: reader.Lesson) -> WorkerResult:
    """The confined process with the lesson's files, but for what an earlier training has made."""
    limits = config.limits.preparing()
    own = (trained_weights.RECORD, trained_weights.WEIGHTS)
    files = [file for file in source_record.list_files(lesson) if file["path"] not in own]
    with sandbox.scratch_dir() as scratch:
        copied = execute.copy_files(files, lesson.folder, scratch / "lesson")
        task, cwd = scratch / "plan.json", scratch / "empty"
        task.write_text(canonical_json.compact(plan.plan_runs(lesson.recipe)), encoding="utf-8")
        cwd.mkdir()
        with training_progress.ProgressLine(lesson.recipe.slug) as line:
            ended = sandbox.run(sandbox.PREPARE, [str(task), str(copied)], cwd, limits,
                                  config.isolation, meanwhile=line.show)  # fmt: skip
    if ended.limit not in ("wall_seconds", "cpu_seconds"):
        return ended
    held = {**ended.confinement.limits, "prepare_seconds": limits.prepare_seconds}
    return replace(ended, limit="prepare_seconds", confinement=replace(ended.confinement, limits=held))


def _validate_tensors(answer: Any) -> tuple[dict[str, Value], dict[str, str]]:
    """The kept tensors by `<name>/<parameter>`, and their bytes; raises Malformed."""
    if not isinstance(answer, dict) or answer.keys() != ANSWER or not isinstance(answer["kept"], list):
        raise capture.Malformed("the answer has other keys than a training's")
    sizes, tensors = capture.measure_blobs(answer["blobs"]), dict[str, Value]()
    for entry in answer["kept"]:
        if not isinstance(entry, dict) or entry.keys() != {"name", "figures", "tensors"}:
            raise capture.Malformed("something that was kept is not a model")
        if not isinstance(entry["name"], str) or not isinstance(entry["tensors"], dict):
            raise capture.Malformed("something was kept without a name or tensors")
        for key, value in entry["tensors"].items():
            capture.check_array(value, sizes)
            if f"{entry['name']}/{key}" in tensors or not _is_finite(value, answer["blobs"]):
                raise capture.Malformed("a tensor appears twice or is not finite")
            tensors[f"{entry['name']}/{key}"] = value
    if len({entry["name"] for entry in answer["kept"]}) != len(answer["kept"]):
        raise capture.Malformed("a name appears twice")
    return tensors, answer["blobs"]


def _is_finite(value: Value, blobs: Mapping[str, str]) -> bool:
    """Whether all numbers of an array are finite, in a dtype that a safetensors file has."""
    kind = value["dtype"]
    if kind not in tensor_file.DTYPES:
        return False
    data = base64.b64decode(blobs[value["blob"]])
    if kind == "bfloat16":  # its upper half is a float32's
        return bool(np.isfinite((np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")).all())
    return bool(np.isfinite(np.frombuffer(data, np.dtype(kind).newbyteorder("<"))).all())
