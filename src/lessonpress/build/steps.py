"""The steps of a lesson, and how one is done: taken over where the same was made before, else made.

A step's result names the digest of what it was made from. So a step is passed over where an earlier state of the lesson
has the same result already (other words run no model), and a file that was made from something else, or that is not
whole, is made again by whoever needs it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lessonpress.build import artifact, code_digest
from lessonpress.build.artifact import Artifact
from lessonpress.build.code_digest import StepName
from lessonpress.build.lesson_build import LessonBuild
from lessonpress.core import canonical_json, variables
from lessonpress.core.errors import LessonError, LessonErrors, RetryableError, is_proven
from lessonpress.core.settings import Config
from lessonpress.lesson.recipe import WORDS

RULES: Mapping[StepName, StepName] = {"rehearse": "render"}  # a step that the rule of another one does
NOT_RUN = ("record", "metrics", "checks")  # what a plan says about reading the runs, not about running


@dataclass(frozen=True)
class Made:
    """What a step made: the content of its artifact, the files beside it, and what there is to say."""

    body: Mapping[str, object]
    beside: Mapping[str, bytes] = field(default_factory=dict)
    words: str | None = None


@dataclass(frozen=True)
class Step:
    """One step: its artifact, the files that lie beside it in any case, the steps before it, and what it does."""

    name: StepName
    file: str
    beside: tuple[str, ...]  # a folder ends in a slash
    after: tuple[StepName, ...]
    inputs: Callable[[LessonBuild], list[object]]  # what the result depends on, beside the code and the surroundings
    make: Callable[[LessonBuild], Made]


@dataclass(frozen=True)
class Done:
    """How a step ended: what there is to say, what was wrong with the lesson, and whether it was passed over."""

    words: str | None = None
    mistakes: tuple[LessonError, ...] = ()
    passed_over: bool = False


def open_build(config: Config, slug: str, key: str | None = None) -> LessonBuild:
    """The build of a lesson as its files are now.

    Raises RetryableError when that is not the state that `key` names: the files have changed since it was computed.
    """
    now = code_digest.compute_present_key(config, slug)
    if key not in (None, now):
        raise _make_change_error(config, slug)
    return LessonBuild(config, slug, now)


def _make_change_error(config: Config, slug: str) -> RetryableError:
    return RetryableError(os.path.relpath(config.lesson(slug)), "the lesson has changed since the run began", "",
                          "Run the same command again.")  # fmt: skip


def perform(work: LessonBuild, name: StepName, *, again: bool | None = None) -> Done:
    """Do one step, and those before it whose results are missing or not whole.

    With `again` (by default: where Snakemake forces the step) the step itself is done whatever is there. A lesson's
    mistake is a result too, which all later steps pass on. Raises RetryableError for what is no mistake of the lesson.
    """
    step = STEPS[name]
    for each in step.after:
        _require_result(work, each)
    mistakes = next(filter(None, (work.artifact(STEPS[each].file).mistakes for each in step.after)), ())
    made_from = _digest_inputs(work, step)
    if mistakes:
        _write(work, step, made_from, Made({}), mistakes)
        return Done(mistakes=mistakes, passed_over=True)
    again = RULES.get(name, name) in os.environ.get(variables.AGAIN, "").split(",") if again is None else again
    if not again and (whole := _read_present(work, step, made_from) or _take_earlier(work, step, made_from)):
        work.known[step.file] = whole
        return Done(mistakes=whole.mistakes, passed_over=True)
    try:
        made = step.make(work)
    except LessonError as error:
        if not is_proven(error):
            raise
        mistakes = tuple(error.errors if isinstance(error, LessonErrors) else [error])
        _require_unchanged(work)
        _write(work, step, made_from, Made({}), mistakes)
        return Done(mistakes=mistakes)
    _write(work, step, made_from, made)
    return Done(made.words)


def perform_all(work: LessonBuild, last: StepName = "rehearse") -> list[str]:
    """Do every step up to `last` that is not there; returns what they report. Raises the lesson's mistakes."""
    reports = []
    for name in STEPS:
        done = perform(work, name)
        if done.mistakes:
            raise LessonErrors(list(done.mistakes))
        reports += [done.words] if done.words else []
        if name == last:
            break
    return reports


def _require_result(work: LessonBuild, name: StepName) -> None:
    """See to it that a step's result is there, whole, and made from what it should be."""
    step = STEPS[name]
    if step.file not in work.known:
        for each in step.after:
            _require_result(work, each)
        present = _read_present(work, step, _digest_inputs(work, step))
        if present is None:
            perform(work, name, again=False)
        else:
            work.known[step.file] = present


def _digest_inputs(work: LessonBuild, step: Step) -> str:
    """The digest of all that a step's result follows from."""
    before = [work.known[STEPS[each].file] for each in step.after]
    if any(result.mistakes for result in before):
        return canonical_json.digest_of([result.digest for result in before])
    around = code_digest.describe_environment(work.config)
    return canonical_json.digest_of([step.name, code_digest.digest_step(step.name), around, step.inputs(work)])


def _read_present(work: LessonBuild, step: Step, made_from: str) -> Artifact | None:
    """The result that is there already, where it is whole and of the right things; a mistake is one too."""
    present = artifact.read(work.folder / step.file)
    return present if present and present.made_from == made_from else None


def _take_earlier(work: LessonBuild, step: Step, made_from: str) -> Artifact | None:
    """The same result of another state of the lesson, copied from there.

    Not where it is a mistake: that names lines, which may be others now.
    """
    for other in sorted(work.folder.parent.glob(f"{'?' * code_digest.KEY}/{step.file}")):
        if other.parent != work.folder and artifact.read_made_from(other) == made_from:
            earlier = artifact.read(other)
            if earlier and not earlier.mistakes and (copied := artifact.copy(other, work.folder)):
                return copied
    return None


def has_earlier_result(work: LessonBuild, name: StepName) -> bool:
    """Whether a step's result is there, or could be taken over from another state of the lesson."""
    step = STEPS[name]
    made_from = _digest_inputs(work, step)
    candidates = [work.folder / step.file, *work.folder.parent.glob(f"{'?' * code_digest.KEY}/{step.file}")]
    return any(artifact.read_made_from(path) == made_from for path in candidates)


def _write(
    work: LessonBuild, step: Step, made_from: str, made: Made, mistakes: tuple[LessonError, ...] = ()
) -> None:  # fmt: skip
    (work.folder / step.file).unlink(missing_ok=True)  # it stands for the files beside it
    for folder in (name for name in step.beside if name.endswith("/")):
        shutil.rmtree(work.folder / folder, ignore_errors=True)
        (work.folder / folder).mkdir(parents=True)
    beside = {**{name: b"" for name in step.beside if not name.endswith("/")}, **made.beside}
    artifact.write(work.folder / step.file, made_from, made.body, beside, mistakes)
    work.known.pop(step.file, None)
    work.artifact(step.file)


def _require_unchanged(work: LessonBuild) -> None:
    """A mistake is a state's own only if the files are still those of the state."""
    if code_digest.compute_present_key(work.config, work.slug) != work.key:
        raise _make_change_error(work.config, work.slug)


def _hash(work: LessonBuild) -> Made:
    from lessonpress.build import source_record

    body, warning = source_record.hash_lesson(work.source_dir)
    files = [(file["path"], file["sha256"]) for file in body["files"]]
    if code_digest.compute_key(work.config, files) != work.key:
        raise _make_change_error(work.config, work.slug)
    return Made(body, words=warning)


def _list_run_inputs(work: LessonBuild) -> list[object]:
    """What the runs depend on: the plan of them, and every file but recipe and checks."""
    plan = work.source["plan"]
    runs = {key: part for key, part in plan.items() if key not in NOT_RUN}
    # Which checks a variant is to break is a matter of judging it.
    variants = [{key: part for key, part in mutant.items() if key != "breaks"} for mutant in plan["mutants"]]
    return [{**runs, "mutants": variants}, work.source["digests"]["source"]]


def _execute(work: LessonBuild) -> Made:
    from lessonpress.build import execute

    _load_ahead(work.config)
    captured, mutants = execute.run_lesson(work.config, work.source, work.source_dir)
    return Made(captured, {"mutants.json": mutants})


def _load_ahead(config: Config) -> None:
    """Where servers are kept: while one loads torch, import what the steps after it need."""
    from lessonpress import sandbox

    if sandbox.keeps_servers():
        for program in (sandbox.MODEL, sandbox.JUDGE):
            sandbox.warm_up(program, config.limits, config.isolation)
        from lessonpress.build import check, record, render  # noqa: F401  # for the steps that follow
        from lessonpress.web.page import rendering

        rendering.warm_up()


def _list_record_inputs(work: LessonBuild) -> list[object]:
    """What the record depends on: the runs, what is to be recorded of them, and the lesson's own metrics."""
    experiment = _drop_words(work.source["document"]["value"].get("experiment"))
    return [work.digest("capture.json"), experiment, work.source["digests"]["checks"], work.source["digests"]["source"]]


def _drop_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _drop_words(part) for k, part in value.items() if k not in WORDS or not isinstance(part, str)}
    return [_drop_words(part) for part in value] if isinstance(value, list) else value


def _record(work: LessonBuild) -> Made:
    from lessonpress.build import record

    cases = record.record_cases(work.config, work.lesson, work.bytes("capture.json"))
    table = record.make_table(work.lesson.recipe, cases).to_csv(index=False, lineterminator="\n")
    return Made(cases, {"cases.csv": table.encode()})


def _list_check_inputs(work: LessonBuild) -> list[object]:
    """What the verdicts depend on: the runs, with the variants', the checks, and which variants break which."""
    breaks = [[mutant["id"], mutant["breaks"]] for mutant in work.source["document"]["value"].get("mutants") or []]
    digests = work.source["digests"]
    return [digests["checks"], digests["source"], breaks, work.digest("capture.json"), work.digest("mutants.json")]


def _check(work: LessonBuild) -> Made:
    from lessonpress.build import check

    captured, mutants = work.bytes("capture.json"), work.bytes("mutants.json")
    return Made({"checks": check.judge_checks(work.config, work.lesson, captured, mutants)})


def _list_render_inputs(work: LessonBuild) -> list[object]:
    files = [[file["path"], file["sha256"]] for file in work.source["files"]]
    made = ("capture.json", "cases.json", "cases.csv", "checks.json")
    return [files, canonical_json.digest_of(work.source), *(work.digest(name) for name in made)]


def _render(work: LessonBuild) -> Made:
    from lessonpress.build import render

    name, files, hints = render.render_lesson(work)
    body = {"slug": work.slug, "revision": name, "files": sorted(files)}
    return Made(body, {f"revision/{path}": data for path, data in files.items()}, hints)


def _list_rehearsal_inputs(work: LessonBuild) -> list[object]:
    """What a reader's run depends on: the numbers and how they are cut, the code in the bundle, the weights.

    Not the checks, which were judged on the same numbers: a change of them runs no model.
    """
    tools = ("run.py", "compare.py", "weights.safetensors")
    rendered = work.artifact("rendered.json").beside
    code = {name: sha for name, sha in rendered.items() if name.startswith("revision/worker/")}
    beside = [code, *(rendered.get(f"revision/{name}") for name in tools)]
    value = work.source["document"]["value"]
    runs = [*_list_run_inputs(work), work.source["plan"]["record"], value.get("tolerance")]
    return [*runs, work.digest("capture.json"), beside]


def _rehearse(work: LessonBuild) -> Made:
    from lessonpress.build import rehearse

    rehearse.rehearse_bundle(work)
    return Made({"slug": work.slug})


STEPS: Mapping[StepName, Step] = {
    "hash": Step("hash", "source.json", (), (), lambda work: [work.key], _hash),
    "execute": Step("execute", "capture.json", ("mutants.json",), ("hash",), _list_run_inputs, _execute),
    "record": Step("record", "cases.json", ("cases.csv",), ("hash", "execute"), _list_record_inputs, _record),
    "check": Step("check", "checks.json", (), ("hash", "execute"), _list_check_inputs, _check),
    "render": Step("render", "rendered.json", ("revision/",), ("hash", "execute", "record", "check"),
                   _list_render_inputs, _render),
    "rehearse": Step("rehearse", "rehearsed.json", (), ("hash", "execute", "record", "check", "render"),
                     _list_rehearsal_inputs, _rehearse),
}  # fmt: skip


def sweep_states(work: LessonBuild, keep: int = 3) -> None:
    """Remove the folders of earlier states but the last few; never the present one."""
    def age(folder: Path) -> int:
        try:
            return folder.stat().st_mtime_ns
        except OSError:
            return 0

    states = [path for path in work.folder.parent.glob("?" * code_digest.KEY) if path.is_dir() and path != work.folder]
    for old in sorted(states, key=age, reverse=True)[keep:]:
        shutil.rmtree(old, ignore_errors=True)
