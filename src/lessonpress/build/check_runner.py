"""Runs a lesson's own checks and metrics in a confined process without torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lessonpress import sandbox
from lessonpress.core import canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson.reader import RECIPE, Lesson
from lessonpress.sandbox import capture, worker_errors

Judge = Callable[[Sequence[Mapping[str, Any]]], dict[tuple[str, str], Any]]
CHECK_KEYS = {"id", "sentence", "measured", "bound", "sense", "line"}


def run_checks(
    config: Config, read: Lesson, captured: bytes, mutants: bytes | None = None
) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    """What every `check_…` measured on the lesson, and on each broken variant by id those that are to fail on it.

    `captured` is capture.json; `mutants` is mutants.json, which nobody but the confined judge reads, or nothing.
    Each is `[{id, sentence, measured, bound, sense, line}]`, in file order.
    """
    broken = {mutant.id: mutant.breaks for mutant in read.recipe.mutants} if mutants is not None else {}
    task: dict[str, Any] = {"file": read.recipe.checks, "checks": True, "metrics": [], "mutants": broken}
    found = _ask(config, read, captured, task, mutants)
    record = read.recipe.experiment.record if read.recipe.experiment else None
    if not found["checks"] and not (record and any(metric.value.startswith("metric_") for metric in record.metrics)):
        raise read.error(("checks",), f"{read.recipe.checks} has no function that begins with check_",
                         "a file of checks asserts something", "Write one, or leave the key out.")  # fmt: skip
    return list(found["checks"]), dict(found["mutants"])


def run_metrics(
    config: Config, read: Lesson, captured: bytes, tasks: Sequence[Mapping[str, Any]]
) -> dict[tuple[str, str], Any]:
    """The lesson's own metrics by (case, metric)."""
    found = _ask(config, read, captured, {"file": read.recipe.checks, "checks": False, "metrics": list(tasks),
                                          "mutants": {}})  # fmt: skip
    return {(metric["run"], metric["id"]): metric["value"] for metric in found["metrics"]}


def _ask(
    config: Config, read: Lesson, captured: bytes, task: Mapping[str, Any], mutants: bytes | None = None
) -> dict[str, Any]:
    with sandbox.scratch_dir() as room:
        for name, data in read.files.items():
            if name == RECIPE:  # its words are no reason to judge again, so nothing may depend on them
                continue
            (room / "lesson" / name).parent.mkdir(parents=True, exist_ok=True)
            (room / "lesson" / name).write_bytes(data)
        (room / "capture.json").write_bytes(captured)
        (room / "task.json").write_text(canonical_json.compact(task), encoding="utf-8")
        (room / "empty").mkdir()
        arguments = [str(room / "capture.json"), str(room / "lesson"), str(room / "task.json")]
        if mutants is not None:
            (room / "mutants.json").write_bytes(mutants)
            arguments.append(str(room / "mutants.json"))
        ended = sandbox.run(sandbox.JUDGE, arguments, room / "empty", config.limits, config.isolation)
    what = read.recipe.checks or ""
    if ended.limit or len(ended.lines) != 1:
        raise worker_errors.process_error(read.folder, what, ended)
    try:
        answer = capture.loads(ended.lines[0])
        if isinstance(answer, dict) and answer.keys() == {"error"} and isinstance(answer["error"], dict):
            raise worker_errors.lesson_error(answer["error"], read.folder, what, ended)
        return _validated(answer["ok"], task)
    except (capture.Malformed, KeyError, TypeError) as error:
        where = os.path.relpath(read.folder / what)
        raise LessonError(where, f"the answer of the checks cannot be read: {error}") from None


def _validated(answer: Any, task: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(answer, dict) or answer.keys() != {"checks", "metrics", "mutants"}:
        raise capture.Malformed("other keys than checks, metrics and mutants")
    _mappings(answer["metrics"], "metrics")
    _checks(answer["checks"])
    if not isinstance(answer["mutants"], dict) or list(answer["mutants"]) != list(task["mutants"]):
        raise capture.Malformed("other mutants than were asked for")
    for name, found in answer["mutants"].items():
        _checks(found)
        named = [check["id"] for check in answer["checks"] if check["id"] in task["mutants"][name]]
        if [check["id"] for check in found] != named:
            raise capture.Malformed("other checks on a mutant than those that it breaks")
    asked = [(metric["run"], metric["id"]) for metric in task["metrics"]]
    if [(metric["run"], metric["id"]) for metric in answer["metrics"]] != asked:
        raise capture.Malformed("other metrics than were asked for")
    for metric in answer["metrics"]:
        _number(metric["value"])
    return answer


def _mappings(value: Any, what: str) -> None:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise capture.Malformed(f"{what} is no list of mappings")


def _checks(found: Any) -> None:
    _mappings(found, "checks")
    for check in found:
        texts = check.keys() == CHECK_KEYS and isinstance(check["id"], str) and isinstance(check["sentence"], str)
        if not texts or check["sense"] not in ("<=", ">=") or type(check["line"]) is not int:
            raise capture.Malformed("a check of another form")
        _number(check["measured"])
        _number(check["bound"])


def _number(value: Any) -> None:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not known and not (isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity")):
        raise capture.Malformed(f"{value!r:.40} is no number")
