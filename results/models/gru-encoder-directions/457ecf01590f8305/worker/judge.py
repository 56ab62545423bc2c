"""The program that runs a lesson's checks and metrics, without torch; `server` runs it.

Its arguments are the capture's file, the lesson's folder, a JSON file `{"file", "checks": true|false, "metrics":
[{"id", "function", "run", "address", "select", "reshape"}], "mutants": {id: [check, …]}}`, and perhaps a file with the
captures of the lesson's broken variants by id. The answer is two lines of JSON: the confinement, written before any
lesson code runs, and `{"ok": {"checks": […], "metrics": […], "mutants": {id: […]}}}` or `{"error": …}`.
"""

from __future__ import annotations

import inspect
import json
import linecache
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np

from . import confine, recorded
from .places import Places
from .records import (
    Evidence,
    Judgement,
    JudgeTask,
    MetricTask,
    MetricValue,
    Number,
    Place,
    Position,
    Recorded,
    WorkerError,
)  # fmt: skip


class Failed(Exception):
    """A check or metric could not be finished; `record` describes the error."""

    def __init__(self, record: WorkerError) -> None:
        super().__init__(record["message"])
        self.record = record


def judge(
    capture: Recorded, folder: str, task: JudgeTask, mutants: str = "{}"
) -> Judgement:
    """Run every `check_…` of the lesson's file in file order, and the metrics asked for. Raises Failed.

    Those checks that a broken variant is to break run on it too; `mutants` holds the variants' records as JSON by id. A
    check that raises there has failed on it, and its measured value is NaN.
    """
    places = Places(folder)
    functions = _functions(folder, task["file"], places) if task["file"] else {}
    runs = recorded.Runs(recorded.keep_outputs(capture))  # in the form of the variants'
    checks = []
    if task["checks"]:
        for name, function in functions.items():
            if name.startswith("check_"):
                checks.append(_check(name, function, runs, places))
    metrics = [_metric(functions, metric, runs, places) for metric in task["metrics"]]
    broken = {
        name: [_on_broken(check, functions[check["id"]], variant, places)
               for check in checks if check["id"] in task["mutants"].get(name, ())]
        for name, variant in _variants(mutants)
    }  # fmt: skip
    return {"checks": checks, "metrics": metrics, "mutants": broken}


def _functions(folder: str, file: str, places: Places) -> dict[str, Callable[..., Any]]:
    path = os.path.join(places.prefix, file)
    scope: dict[str, Any] = {"__name__": "lesson_checks", "__file__": path}
    sys.path.append(places.prefix)
    try:
        with open(path, encoding="utf-8") as source:
            exec(compile(source.read(), path, "exec"), scope)
    except BaseException as error:
        raise Failed(_describe_error(error, places, file)) from error
    own = {n: v for n, v in scope.items() if inspect.isfunction(v) and v.__code__.co_filename == path}
    return dict(sorted(own.items(), key=lambda item: item[1].__code__.co_firstlineno))


def _check(name: str, function: Callable[..., Any], runs: recorded.Runs, places: Places) -> Evidence:
    try:
        measured, bound, sense = _evidence(function(runs))
    except BaseException as error:
        place: Position = {"file": os.path.relpath(function.__code__.co_filename, places.prefix),
                 "line": function.__code__.co_firstlineno}  # fmt: skip
        raise Failed(_describe_error(error, places, name, place)) from error
    sentence = (inspect.getdoc(function) or name.removeprefix("check_").replace("_", " ")).splitlines()[0]
    return {"id": name, "sentence": sentence, "measured": _number(measured), "bound": _number(bound), "sense": sense,
            "line": function.__code__.co_firstlineno}  # fmt: skip


def _on_broken(
    check: Evidence, function: Callable[..., Any], runs: recorded.Runs, places: Places
) -> Evidence:
    """What a check measured on a broken variant; where it raises, the measured value is NaN, which meets no bound."""
    try:
        return _check(check["id"], function, runs, places)
    except Failed:
        return {**check, "measured": "NaN"}


def _variants(mutants: str) -> Iterator[tuple[str, recorded.Runs]]:
    """What each broken variant recorded. Nobody has looked at it yet: lesson code may have sent anything."""
    try:
        for name, variant in json.loads(mutants).items():
            yield name, recorded.Runs(variant)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        message = "what the broken variants recorded is not the worker's"
        raise Failed({"stage": "check", "run": None, "type": type(error).__name__, "message": message, "place": None,
                      "expected": "an answer that lesson code has not touched", "code": None,
                      "context": None}) from error  # fmt: skip


def _evidence(result: Any) -> tuple[float, float, Literal["<=", ">="]]:
    """What a check returned: measured value, bound, sense. Raises TypeError for anything else."""
    try:
        measured, bound, sense = float(result["measured"]), float(result["bound"]), result["sense"]
        if sense in ("<=", ">=") and not np.isnan(bound):
            return measured, bound, sense
    except (KeyError, TypeError, ValueError, IndexError):
        pass
    wanted = """{"measured": float, "bound": float, "sense": "<=" or ">="}"""
    raise TypeError(f"it returned {repr(result)[:100]}; a check returns {wanted}")


def _metric(
    functions: Mapping[str, Callable[..., Any]], task: MetricTask, runs: recorded.Runs, places: Places
) -> MetricValue:
    name = task["function"]
    try:
        if name not in functions:
            known = ", ".join(n for n in functions if n.startswith("metric_")) or "none"
            raise LookupError(f"there is no function {name}; metrics there: {known}")
        values = recorded.select(runs[task["run"]][task["address"]], task["select"], task["reshape"])
        return {"id": task["id"], "run": task["run"], "value": _number(float(functions[name](values)))}
    except BaseException as error:
        raise Failed(_describe_error(error, places, name)) from error


def _number(value: float) -> Number:
    return value if np.isfinite(value) else "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _describe_error(
    error: BaseException, places: Places, name: str, place: Position | None = None
) -> WorkerError:
    own = places.of_traceback(error.__traceback__)
    inner: Place | Position | None = own or place
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(places.prefix):
        inner = {"file": error.filename[len(places.prefix) :], "line": error.lineno or 1}
    code = linecache.getline(places.prefix + own["file"], own["line"]).strip()[:400] if own else ""
    message = str(error).replace(places.prefix, "")[:4000]
    return {"stage": "check", "run": name, "type": type(error).__name__, "message": message,
            "place": inner, "expected": "", "code": code or None, "context": None}  # fmt: skip


def main() -> None:
    """Judge the capture that the request names."""
    channel = confine.begin()
    capture_file, folder, task_file, *mutants_file = channel.arguments
    channel.seal()
    with open(capture_file, encoding="utf-8") as capture, open(task_file, encoding="utf-8") as task:
        loaded, wanted = json.load(capture), json.load(task)
    if wanted.get("elsewhere"):
        from . import elsewhere

        elsewhere.move(folder)
    mutants = "{}"
    for name in mutants_file:
        with open(name, encoding="utf-8", errors="replace") as file:
            mutants = file.read()
    try:
        answer: dict[str, Any] = {"ok": judge(loaded, folder, wanted, mutants)}
    except Failed as error:
        answer = {"error": error.record}
    channel.say(answer)
    channel.end()
