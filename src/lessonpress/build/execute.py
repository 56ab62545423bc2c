"""Step execute: run the lesson once in a worker process, and validate what it recorded (capture.json)."""

from __future__ import annotations

import functools
import os
import platform
import shutil
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lessonpress import sandbox
from lessonpress.core import canonical_json, clock, git
from lessonpress.core.errors import LessonError, RetryableError
from lessonpress.core.settings import Config
from lessonpress.lesson import reader
from lessonpress.sandbox import capture, worker_errors

if TYPE_CHECKING:
    from lessonpress.core.records import Isolation
    from lessonpress.lesson.capture_records import Capture, CaptureProvenance
    from lessonpress.lesson.records import LessonFile, Plan, SourceRecord
    from lessonpress.worker.records import Facts, WorkerError


def run_lesson(config: Config, source: SourceRecord, folder: Path) -> tuple[Capture, bytes]:
    """The validated capture of one run of the lesson in `folder`, and those of its broken variants by id.

    The latter are JSON as the worker wrote it: only the judge reads them, who is confined as the worker is. Raises
    LessonError, naming the lesson's file and line, when its code fails or answers nothing, RetryableError at a limit.
    """
    plan = source["plan"]
    what = plan["model"]["class"]
    with sandbox.scratch_dir() as scratch:
        copied = copy_files(select_readable(source), folder, scratch / "lesson")
        mutants = make_mutants(plan, copied, scratch / "mutants")
        plan_file = scratch / "plan.json"
        plan_file.write_text(canonical_json.compact(plan), encoding="utf-8")
        (scratch / "empty").mkdir()
        files = {file["path"]: (copied / file["path"]).read_bytes() for file in select_readable(source)}
        arguments = [str(plan_file), str(copied), str(mutants)]
        result = sandbox.run(sandbox.MODEL, arguments, scratch / "empty", config.limits, config.isolation)
    if result.limit or len(result.lines) < 2:
        raise worker_errors.process_error(folder, what, result)
    try:
        facts, answer = (capture.loads(line) for line in result.lines[:2])
        if isinstance(answer, dict) and answer.keys() == {"error"} and isinstance(answer["error"], dict):
            error = cast("WorkerError", answer["error"])
            raise worker_errors.lesson_error(error, folder, what, result, find_recipe_place(error, plan, folder))
        recorded = capture.read_answer(answer, plan, files)
        if len(result.lines) != 3:
            raise worker_errors.process_error(folder, what, result)
    except capture.Malformed as malformed:
        raise LessonError(os.path.relpath(folder), f"the worker's answer was not the worker's: {malformed}",
                          "an answer that lesson code has not touched") from None  # fmt: skip
    captured: Capture = {"schema": 1, "slug": source["slug"], "runs": recorded["runs"], "modules": recorded["modules"],
                         "blobs": recorded["blobs"], "provenance": make_provenance(facts, result)}  # fmt: skip
    return captured, result.lines[2]


def find_recipe_place(error: WorkerError, plan: Plan, folder: Path) -> str:
    """The recipe's line that a mistake belongs to when no line of the lesson's code took part in it."""
    read = reader.read(folder)
    mutants = [mutant["id"] for mutant in plan["mutants"]]
    if (mutant := error.get("mutant")) in mutants:
        return read.error(("mutants", mutants.index(mutant)), "").where
    number = next((i for i, run in enumerate(plan["runs"]) if run["id"] == error.get("run")), 0)
    key = (str(error["key"]),) if error.get("key") else ()
    args = read.setting_place(number, "args")
    path: tuple[str | int, ...] = {
        "import": ("model", "file"), "class": ("model", "class"), "build": args if args[-1] == "args" else ("model",),
        "parameters": read.setting_place(number, "parameters", *key),
        "inputs": read.setting_place(number, "inputs", *key), "call": read.setting_place(number, "inputs"),
        "gradients": ("experiment", "record", "gradients"),
        "weights": read.setting_place(number, "weights"), "prepare": ("prepare",),
    }.get(str(error.get("stage")), ())  # fmt: skip
    return read.error(path, "").where


def select_readable(source: SourceRecord) -> list[LessonFile]:
    """The files that a run may read: all but the recipe and the checks.

    A run then depends on nothing but what its key is made of: other words or checks are no reason to run again.
    """
    left = {reader.RECIPE, source["plan"]["checks"]}
    return [file for file in source["files"] if file["path"] not in left]


def copy_files(files: Iterable[LessonFile], folder: Path, to: Path) -> Path:
    """Copy exactly the files that were hashed; what the lesson writes beside its source stays in the copy."""
    for file in files:
        path = to / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            data = (folder / file["path"]).read_bytes()
        except FileNotFoundError:
            data = b""
        if canonical_json.digest(data) != file["sha256"]:
            where = os.path.relpath(folder / file["path"])
            raise RetryableError(where, "the file changed while the lesson was running", "",
                                 "Run the same command again.")  # fmt: skip
        path.write_bytes(data)
    return to


def make_mutants(plan: Plan, copied: Path, to: Path) -> Path:
    """Make a whole lesson for every broken variant, each with its one place changed. Returns the folder of them all."""
    to.mkdir()
    for mutant in plan["mutants"]:
        shutil.copytree(copied, to / mutant["id"])
        path = to / mutant["id"] / mutant["file"]
        text = path.read_bytes().decode("utf-8", errors="surrogateescape")
        path.write_bytes(text.replace(mutant["find"], mutant["with"], 1).encode("utf-8", errors="surrogateescape"))
    return to


def make_provenance(facts: Facts, result: sandbox.WorkerResult) -> CaptureProvenance:
    """Who ran what, where and when; written by the parent, except the facts sent before lesson code ran."""
    return {
        "capturedAt": clock.read_clock(), "productRevision": read_commit(), "python": platform.python_version(),
        "torch": version("torch").partition("+")[0], "initialisation": str(facts.get("initialisation")),
        "settings": {**sandbox.SETTINGS, "threads": facts.get("threads"), "interopThreads": 1,
                     "deterministicAlgorithms": facts.get("deterministic"), "mkldnn": facts.get("mkldnn"),
                     "nnpack": facts.get("nnpack"), "kernels": facts.get("kernels"), "flushDenormal": False},
        "cpu": {"machine": str(facts.get("machine")), "capability": str(facts.get("capability"))},
        "host": {"system": platform.system(), "kernel": platform.release(), "user": os.getuid()},
        "isolation": cast("Isolation", result.isolation()),
    }  # fmt: skip


def read_commit() -> str | None:
    """The commit of the repository in which the lessons lie, or None outside git."""
    return _read_commit_of(Path.cwd())


@functools.cache
def _read_commit_of(folder: Path) -> str | None:
    return git.read_head(folder)
