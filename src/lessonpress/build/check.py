"""Step check: run the lesson's numerical checks on the capture (checks.json)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lessonpress.build import check_runner
from lessonpress.core.errors import LessonErrors
from lessonpress.core.settings import Config
from lessonpress.lesson import reader
from lessonpress.lesson.recipe import Recipe

if TYPE_CHECKING:
    from lessonpress.core.records import Real
    from lessonpress.lesson.records import MutantVerdict, Verdict
    from lessonpress.worker.records import Evidence


def judge_checks(config: Config, read: reader.Lesson, captured: bytes, mutants: bytes) -> list[Verdict]:
    """The verdicts of all checks. A failing check is a verdict, not an error: publish is the gate.

    Every check is also put to the broken variants that name it, on which it must fail. `captured` and `mutants` are the
    bytes of capture.json and mutants.json.
    """
    if not read.recipe.checks:
        _require_known(read, [])
        return []
    checks, broken = check_runner.run_checks(config, read, captured, mutants)
    _require_known(read, [evidence["id"] for evidence in checks])
    return [{**make_verdict(evidence), "mutants": _judge_mutants(read.recipe, evidence["id"], broken)}
            for evidence in checks]  # fmt: skip


def _require_known(read: reader.Lesson, checks: Sequence[str]) -> None:
    """A broken variant names checks that there are. Raises LessonErrors at the recipe's lines."""
    unknown = [
        read.error(("mutants", i, "breaks", k), f"no check is called {name}", f"checks: {', '.join(checks)}")
        for i, mutant in enumerate(read.recipe.mutants) for k, name in enumerate(mutant.breaks) if name not in checks
    ]  # fmt: skip
    if unknown:
        raise LessonErrors(unknown)


def _judge_mutants(recipe: Recipe, check: str, broken: Mapping[str, Sequence[Evidence]]) -> list[MutantVerdict]:
    """The verdict of a check on each broken variant that is there to break it."""
    verdicts: list[MutantVerdict] = []
    for mutant in recipe.mutants:
        if check in mutant.breaks:
            verdict = make_verdict(next(evidence for evidence in broken[mutant.id] if evidence["id"] == check))
            verdicts.append({"id": mutant.id, "failed": not verdict["passed"], "measured": verdict["measured"],
                             "bound": verdict["bound"]})  # fmt: skip
    return verdicts


def make_verdict(evidence: Evidence) -> Verdict:
    """A check's evidence with its verdict: it passes when `measured sense bound`; its margin is their distance."""
    measured, bound = float(str(evidence["measured"])), float(str(evidence["bound"]))
    passed = measured <= bound if evidence["sense"] == "<=" else measured >= bound
    margin = bound - measured if evidence["sense"] == "<=" else measured - bound
    return {
        "id": evidence["id"], "sentence": evidence["sentence"], "passed": passed, "measured": evidence["measured"],
        "bound": evidence["bound"], "sense": evidence["sense"], "margin": _encode_number(margin),
        "line": evidence["line"],
    }  # fmt: skip


def _encode_number(value: float) -> Real:
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
