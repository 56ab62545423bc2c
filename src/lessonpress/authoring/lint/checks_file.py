"""The checks' file: functions that the recipe names, sentences that readers see, mutants that break them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lessonpress.authoring.lint.sources import Sources
from lessonpress.core.errors import LessonError
from lessonpress.lesson.python_ast import Function, Parameter, Source


def find_mistakes(sources: Sources) -> Iterator[LessonError]:
    """Checks that are not there, that are there twice, or that cannot be called; metrics that are not there."""
    file = sources.find_checks()
    if file is None:
        return
    functions = [each for each in file.functions if each.name.startswith(("check_", "metric_"))]
    if not any(name == "*" or name.startswith("check_") for name in file.names):
        yield LessonError(file.where, "there is no check here", "functions named check_…, each of which takes runs")
    counts = Counter(each.name for each in functions)
    for each in functions:
        if counts[each.name] > 1:
            yield LessonError(f"{file.where}:{each.line}", f"{each.name} stands here {counts[each.name]} times",
                              "only the last one would run", "Give each a name of its own.")  # fmt: skip
        if not each.decorated and not _takes_one(each):
            given = "runs" if each.name.startswith("check_") else "values"
            yield LessonError(f"{file.where}:{each.line}", f"{each.name} cannot be called with one argument",
                              f"def {each.name}({given}):")  # fmt: skip
    yield from _check_metrics(sources, file)
    yield from _check_mutants(sources, file)


def _takes_one(function: Function) -> bool:
    parameters = function.parameters
    needed = [p for p in parameters if p.default is Parameter.empty and p.kind in
              (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]  # fmt: skip
    demanded = [p for p in parameters if p.default is Parameter.empty and p.kind is Parameter.KEYWORD_ONLY]
    takes = [p for p in parameters if p.kind not in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD)]
    return len(needed) <= 1 and not demanded and bool(takes)


def _check_metrics(sources: Sources, file: Source) -> Iterator[LessonError]:
    known = [each.name for each in file.functions if each.name.startswith("metric_")]
    experiment = sources.lesson.recipe.experiment
    for at, metric in enumerate(experiment.record.metrics if experiment else ()):
        if metric.value.startswith("metric_") and not file.may_have(metric.value):
            yield sources.lesson.error(("experiment", "record", "metrics", at, "value"),
                                     f"{sources.lesson.recipe.checks} has no function {metric.value}",
                                     f"metrics there: {', '.join(known) or 'none'}")  # fmt: skip


def _check_mutants(sources: Sources, file: Source) -> Iterator[LessonError]:
    """Broken variants that name no check, and checks that no broken variant names: neither can be published."""
    known = [each for each in file.functions if each.name.startswith("check_")]
    names = ", ".join(each.name for each in known) or "none"
    mutants = sources.lesson.recipe.mutants
    for at, mutant in enumerate(mutants):
        for place, name in enumerate(mutant.breaks):
            if not file.may_have(name):
                yield sources.lesson.error(("mutants", at, "breaks", place), f"no check is called {name}",
                                         f"checks: {names}")  # fmt: skip
    named = {name for mutant in mutants for name in mutant.breaks}
    for each in known:
        if each.name not in named:
            yield LessonError(f"{file.where}:{each.line}", f"no broken variant shows that {each.name} can fail",
                              "an entry of lesson.yaml's `mutants:` whose `breaks:` names it")  # fmt: skip


def find_doubts(sources: Sources) -> Iterator[LessonError]:
    """Checks without a sentence of their own, and lessons without checks."""
    file = sources.find_checks()
    if file is None:
        yield LessonError(sources.lesson.name, "the lesson has no checks", "", "Say what must be true in checks.py.")
        return
    for each in file.functions:
        if each.name.startswith("check_") and not each.docstring:
            yield LessonError(f"{file.where}:{each.line}", f"{each.name} has no docstring",
                              "its first line is the sentence that readers see")  # fmt: skip
