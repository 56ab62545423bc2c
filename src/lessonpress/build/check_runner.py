"""Runs a lesson's own checks and metrics in a confined process without torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from lessonpress import sandbox
from lessonpress.core import canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson.reader import RECIPE, Lesson
from lessonpress.sandbox import capture, worker_errors

if TYPE_CHECKING:
    from lessonpress.worker.records import Evidence, Judgement, JudgeTask, MetricTask, Number

    Judge = Callable[[Sequence[MetricTask]], dict[tuple[str, str], Number]]  # metrics by (case, metric)

CHECK_KEYS = {"id", "sentence", "measured", "bound", "sense", "line"}


def run_checks(
    config: Config, read: Lesson, captured: bytes, mutants: bytes | None = None
) -> tuple[list[Evidence], dict[str, list[Evidence]]]:
    """What every `check_…` measured on the lesson, and on each broken variant by id those that are to fail on it.

    `captured` is capture.json; `mutants` is mutants.json, which nobody but the confined judge reads, or nothing. The
    checks come in the order of their file.
    """
    broken = {mutant.id: mutant.breaks for mutant in read.recipe.mutants} if mutants is not None else {}
    task: JudgeTask = {"file": read.recipe.checks, "checks": True, "metrics": [], "mutants": broken}
    judgement = _ask_judge(config, read, captured, task, mutants)
    record = read.recipe.experiment.record if read.recipe.experiment else None
    own_metrics = record and any(metric.value.startswith("metric_") for metric in record.metrics)
    if not judgement["checks"] and not own_metrics:
        raise read.error(("checks",), f"{read.recipe.checks} has no function that begins with check_",
                         "a file of checks asserts something", "Write one, or leave the key out.")  # fmt: skip
    return judgement["checks"], judgement["mutants"]


def run_metrics(
    config: Config, read: Lesson, captured: bytes, tasks: Sequence[MetricTask]
) -> dict[tuple[str, str], Number]:
    """The lesson's own metrics by (case, metric).

    They are computed twice, the second time in a process with other addresses and another time. Raises LessonError for
    a metric that is then another number: it would be another one for every reader.
    """
    task: JudgeTask = {"file": read.recipe.checks, "checks": False, "metrics": list(tasks), "mutants": {}}
    again: JudgeTask = {**task, "elsewhere": True}
    first, second = (_ask_judge(config, read, captured, one) for one in (task, again))
    for asked, here, there in zip(tasks, first["metrics"], second["metrics"], strict=True):
        if here["value"] != there["value"]:
            where = f"{os.path.relpath(read.folder / (read.recipe.checks or ''))}: {asked['function']}"
            seen = f"for the run {asked['run']} it gives {here['value']!r}, and {there['value']!r} in a second process"
            raise LessonError(where, seen, "the same number at any time and in any process",
                              "Compute it from what is recorded alone.")  # fmt: skip
    return {(metric["run"], metric["id"]): metric["value"] for metric in first["metrics"]}


def _ask_judge(
    config: Config, read: Lesson, captured: bytes, task: JudgeTask, mutants: bytes | None = None
) -> Judgement:
    with sandbox.scratch_dir() as scratch_dir:
        for name, data in read.files.items():
            if name == RECIPE:  # its words are no reason to judge again, so nothing may depend on them
                continue
            (scratch_dir / "lesson" / name).parent.mkdir(parents=True, exist_ok=True)
            (scratch_dir / "lesson" / name).write_bytes(data)
        (scratch_dir / "capture.json").write_bytes(captured)
        (scratch_dir / "task.json").write_text(canonical_json.compact(task), encoding="utf-8")
        (scratch_dir / "empty").mkdir()
        arguments = [str(scratch_dir / name) for name in ("capture.json", "lesson", "task.json")]
        if mutants is not None:
            (scratch_dir / "mutants.json").write_bytes(mutants)
            arguments.append(str(scratch_dir / "mutants.json"))
        result = sandbox.run(sandbox.JUDGE, arguments, scratch_dir / "empty", config.limits, config.isolation)
    what = read.recipe.checks or ""
    if result.limit or len(result.lines) != 1:
        raise worker_errors.process_error(read.folder, what, result)
    try:
        answer = capture.loads(result.lines[0])
        if isinstance(answer, dict) and answer.keys() == {"error"} and isinstance(answer["error"], dict):
            raise worker_errors.lesson_error(answer["error"], read.folder, what, result)
        return _validate(answer["ok"], task)
    except (capture.Malformed, KeyError, TypeError) as error:
        where = os.path.relpath(read.folder / what)
        raise LessonError(where, f"the answer of the checks cannot be read: {error}") from None


def _validate(answer: Any, task: JudgeTask) -> Judgement:
    """The judge's answer, held against what it was asked for. Raises Malformed."""
    if not isinstance(answer, dict) or answer.keys() != {"checks", "metrics", "mutants"}:
        raise capture.Malformed("other keys than checks, metrics and mutants")
    _require_mappings(answer["metrics"], "metrics")
    _require_checks(answer["checks"])
    if not isinstance(answer["mutants"], dict) or list(answer["mutants"]) != list(task["mutants"]):
        raise capture.Malformed("other mutants than were asked for")
    for name, checks in answer["mutants"].items():
        _require_checks(checks)
        named = [check["id"] for check in answer["checks"] if check["id"] in task["mutants"][name]]
        if [check["id"] for check in checks] != named:
            raise capture.Malformed("other checks on a mutant than those that it breaks")
    requested = [(metric["run"], metric["id"]) for metric in task["metrics"]]
    if [(metric["run"], metric["id"]) for metric in answer["metrics"]] != requested:
        raise capture.Malformed("other metrics than were asked for")
    for metric in answer["metrics"]:
        _require_number(metric["value"])
    return cast("Judgement", answer)


def _require_mappings(value: Any, what: str) -> None:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise capture.Malformed(f"{what} is no list of mappings")


def _require_checks(checks: Any) -> None:
    _require_mappings(checks, "checks")
    for check in checks:
        texts = check.keys() == CHECK_KEYS and isinstance(check["id"], str) and isinstance(check["sentence"], str)
        if not texts or check["sense"] not in ("<=", ">=") or type(check["line"]) is not int:
            raise capture.Malformed("a check of another form")
        _require_number(check["measured"])
        _require_number(check["bound"])


def _require_number(value: Any) -> None:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not known and not (isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity")):
        raise capture.Malformed(f"{value!r:.40} is not a number")
