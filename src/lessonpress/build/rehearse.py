"""Step rehearse: before a revision is published, its bundle runs as a reader's would, in a second process.

What runs is the bundle's own `run.py --compare`, confined as a lesson is, from another folder, among other addresses,
and at another time. Where it fails, or where a call gives another number than was recorded, the lesson is refused: its
readers would have other numbers, and the next publication another revision.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from lessonpress import sandbox
from lessonpress.core.errors import LessonError
from lessonpress.sandbox import capture, worker_errors
from lessonpress.worker import recorded

if TYPE_CHECKING:
    from lessonpress.build.lesson_build import LessonBuild
    from lessonpress.lesson.capture_records import Capture
    from lessonpress.worker.records import Call, Rehearsed

EXPECTED = "the same numbers at any time, in any folder and process"
FIX = "Give what differs as an input, or draw it from torch, which the recipe's seed decides."
KEYS = {"ended", "error", "results", "drawn", "asked"}
MOST, LINES = 5, 10_000_000  # calls that a message names, and lines that no file has


def rehearse_bundle(work: LessonBuild) -> None:
    """Run a rendered build's bundle. Raises LessonError where it does not run, or gives other numbers."""
    packed = io.BytesIO((work.revision / "bundle.zip").read_bytes())
    with sandbox.scratch_dir() as scratch, zipfile.ZipFile(packed) as archive:
        archive.extractall(scratch)
        [bundle] = scratch.iterdir()
        (scratch / "empty").mkdir()
        result = sandbox.run(sandbox.MODEL, [str(bundle)], scratch / "empty", work.config.limits, work.config.isolation)
    what = "the bundle's run.py --compare"
    if result.limit or len(result.lines) != 1:
        raise worker_errors.process_error(work.source_dir, what, result)
    try:
        answer = read_answer(capture.loads(result.lines[0]))
    except capture.Malformed as error:
        raise LessonError(os.path.relpath(work.source_dir), f"the answer of {what} cannot be read: {error}",
                          "an answer that lesson code has not touched") from None  # fmt: skip
    asked = describe_asked(answer, work)
    # With a check that fails, run.py ends with 1: publishing refuses such a lesson in the check's own words.
    failing = answer["ended"] == 1 and not answer["error"] and any(not check["passed"] for check in work.checks)
    if answer["ended"] and not failing:
        raise describe_end(work, answer, asked, result)
    if differs := find_difference(work.capture, answer):
        call, run, words = differs
        raise LessonError(_locate(work, call), f"in a second process, the run {run} {words}", EXPECTED,
                          asked or FIX)  # fmt: skip


def read_answer(answer: Any) -> Rehearsed:
    """A worker's answer in its form. Raises Malformed for any other."""
    if not isinstance(answer, dict) or answer.keys() != KEYS or type(answer["ended"]) is not int:
        raise capture.Malformed("other keys than it should have")
    texts, error = isinstance, answer["error"]
    good = (
        answer["ended"] in range(256) and (error is None or isinstance(error, dict))
        and _maps(answer["results"], lambda run: isinstance(run, list) and all(texts(sha, str) for sha in run))
        and _maps(answer["drawn"], lambda run: _maps(run, lambda sha: texts(sha, str)))
        and isinstance(answer["asked"], list)
        and all(isinstance(call, list) and [type(part) for part in call] == [str, int, str]
                and 0 < call[1] < LINES for call in answer["asked"])
    )
    if not good:
        raise capture.Malformed("a part of another form")
    return cast("Rehearsed", answer)


def _maps(value: Any, fits: Any) -> bool:
    return isinstance(value, dict) and all(map(fits, value.values()))


def describe_end(work: LessonBuild, answer: Rehearsed, asked: str, result: sandbox.WorkerResult) -> LessonError:
    """A run.py that failed, as a mistake of the lesson: its readers would see the same."""
    error: Mapping[str, Any] = answer["error"] or {}
    what = f"run.py --compare of the bundle ends with exit code {answer['ended']}"
    if error:
        kind, message = (worker_errors.clean_text(error.get(key))[:400] for key in ("type", "message"))
        what = f"run.py --compare of the bundle fails: {kind}: {message}"
    place, where = error.get("place"), os.path.relpath(work.source_dir)
    if isinstance(place, dict) and place.get("file") in [file["path"] for file in work.source["files"]]:
        where = f"{where}/{place['file']}:{worker_errors.clean_text(place.get('line'))}"
    fix = "" if error else worker_errors.format_printed(result)
    return LessonError(where, what, "a bundle that runs for its reader and gives the recorded numbers", asked + fix)


def find_difference(captured: Capture, answer: Rehearsed) -> tuple[Call | None, str, str] | None:
    """The first call that gave something else than was recorded, with its run and what happened, if any did."""
    recorded_results = recorded.digest_results(captured)
    for name, run in captured["runs"].items():
        old, new = recorded_results[name], answer["results"].get(name, [])
        differing = [at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b]
        plain = [at for at in differing if run["calls"][at]["kind"] != "module"]
        if differing:  # a module differs where a call inside does, or else the last one does: its own Python
            call = run["calls"][plain[0] if plain else differing[-1]]
            return call, name, f"gives other numbers from {call['layer'] or 'the model itself'} on"
        if len(old) != len(new):
            return None, name, f"has {len(new)} calls; {len(old)} were recorded"
        held = {**run["params"], **run["buffers"]}
        for weight, sha in answer["drawn"].get(name, {}).items():
            number = held.get(weight)
            if number is not None and run["values"][number]["blob"] != sha:
                return None, name, f"begins with other numbers in {weight}"
    return None


def describe_asked(answer: Rehearsed, work: LessonBuild) -> str:
    """The calls of the lesson's that asked for a clock, an address or a process, in words."""
    files = {file["path"] for file in work.source["files"]}
    known = [(file, line, name) for file, line, name in answer["asked"] if file in files]
    home = os.path.relpath(work.source_dir)
    named = [f"{home}/{file}:{line} calls {worker_errors.clean_text(name)[:60]}()" for file, line, name in known[:MOST]]
    return f"{'; '.join(named)}. {FIX}" if named else ""


def _locate(work: LessonBuild, call: Call | None) -> str:
    home = os.path.relpath(work.source_dir)
    return f"{home}/{call['at']['file']}:{call['at']['line']}" if call and call["at"] else home
