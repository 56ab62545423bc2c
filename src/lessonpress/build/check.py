"""Step check: run the lesson's numerical checks on the capture (checks.json)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lessonpress.build import check_runner
from lessonpress.core.errors import LessonErrors
from lessonpress.core.settings import Config
from lessonpress.lesson import reader
from lessonpress.lesson.recipe import Recipe


def judge_checks(config: Config, read: reader.Lesson, captured: bytes, mutants: bytes) -> list[dict[str, Any]]:
    """The verdicts of all checks. A failing check is a verdict, not an error: publish is the gate.

    Every check is also put to the broken variants that name it, on which it must fail. `captured` and `mutants` are the
    bytes of capture.json and mutants.json.
    """
    found, broken = check_runner.run_checks(config, read, captured, mutants) if read.recipe.checks else ([], {})
    _require_known(read, [entry["id"] for entry in found])
    return [{**make_verdict(entry), "mutants": _on_mutants(read.recipe, entry["id"], broken)} for entry in found]


def _require_known(read: reader.Lesson, checks: Sequence[str]) -> None:
    """A broken variant names checks that there are. Raises LessonErrors at the recipe's lines."""
    unknown = [
        read.error(("mutants", i, "breaks", k), f"no check is called {name}", f"checks: {', '.join(checks)}")
        for i, mutant in enumerate(read.recipe.mutants) for k, name in enumerate(mutant.breaks) if name not in checks
    ]  # fmt: skip
    if unknown:
        raise LessonErrors(unknown)


def _on_mutants(recipe: Recipe, check: str, broken: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """What a check said of each broken variant that is there to break it."""
    out = []
    for mutant in recipe.mutants:
        if check in mutant.breaks:
            told = make_verdict(next(entry for entry in broken[mutant.id] if entry["id"] == check))
            out.append({"id": mutant.id, "failed": not told["passed"], "measured": told["measured"],
                        "bound": told["bound"]})  # fmt: skip
    return out


def make_verdict(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A check's evidence with its verdict: it passes when `measured sense bound`; its margin is their distance."""
    measured, bound = float(str(entry["measured"])), float(str(entry["bound"]))
    passed = measured <= bound if entry["sense"] == "<=" else measured >= bound
    margin = bound - measured if entry["sense"] == "<=" else measured - bound
    return {
        "id": entry["id"], "sentence": entry["sentence"], "passed": passed, "measured": entry["measured"],
        "bound": entry["bound"], "sense": entry["sense"], "margin": _plain(margin), "line": entry["line"],
    }  # fmt: skip


def _plain(value: float) -> float | str:
    if value != value:
        return "NaN"
    return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"
