"""The model's file: whether the class is there, and whether its forward takes what the recipe gives it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence

from lessonpress.authoring.lint.sources import Sources
from lessonpress.core import suggestions
from lessonpress.core.errors import LessonError
from lessonpress.core.source_map import Path
from lessonpress.lesson import plan
from lessonpress.lesson.python_ast import Class, Function, Parameter

IN_ORDER = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def find_mistakes(sources: Sources) -> Iterator[LessonError]:
    """The class named by the recipe that is not in its file, and inputs that its forward does not take."""
    file, recipe = sources.find_model(), sources.lesson.recipe
    if file is None:
        return
    known = {each.name: each for each in file.classes}
    if recipe.model.class_ not in known:
        if not file.may_have(recipe.model.class_):
            yield _describe_missing_class(sources, list(known))
        return
    if method := _find_forward(sources):
        yield from _check_calls(sources, method, f"{file.where}:{method.line}")


def find_doubts(sources: Sources) -> Iterator[LessonError]:
    """Inputs that are passed in their order, because forward has no parameter of their name."""
    file, forward = sources.find_model(), _find_forward(sources)
    if file is None or forward is None:
        return
    names = dict.fromkeys(name for run in plan.plan_runs(sources.lesson.recipe)["runs"] for name, _ in run["inputs"])
    positional = [p.name for p in forward.parameters[1:] if p.kind is Parameter.POSITIONAL_ONLY]
    starred = [p.name for p in forward.parameters if p.kind is Parameter.VAR_POSITIONAL]
    for name in () if positional or starred else list_positional(forward.parameters, list(names)):
        takes = ", ".join(parameter.name for parameter in forward.parameters[1:])
        seen = f"no parameter of forward is called {name}, so the input is passed by its position"
        yield sources.lesson.error(_find_input(sources, name), seen,
                                   f"forward takes {takes} ({file.where}:{forward.line})",
                                   "Give the input its parameter's name.")  # fmt: skip


def _find_input(sources: Sources, name: str) -> Path:
    """Where the recipe first names an input."""
    runs = plan.plan_runs(sources.lesson.recipe)["runs"]
    number = next(number for number, run in enumerate(runs) if name in dict(run["inputs"]))
    return sources.lesson.setting_place(number, "inputs", name)


def _find_forward(sources: Sources) -> Function | None:
    """The model's forward, where the file shows it as it will be called."""
    file = sources.find_model()
    known = {each.name: each for each in file.classes} if file else {}
    method = _find_method(known, sources.lesson.recipe.model.class_, "forward")
    return None if method is None or method.decorated else method


def _describe_missing_class(sources: Sources, known: Sequence[str]) -> LessonError:
    model = sources.lesson.recipe.model
    return sources.lesson.error(("model", "class"), f"{model.file} has no class {model.class_}",
                              f"classes there: {', '.join(known) or 'none'}",
                              suggestions.did_you_mean(model.class_, known))  # fmt: skip


def _find_method(known: Mapping[str, Class], name: str, method: str) -> Function | None:
    """A method of a class or of its bases in the same file; None where it comes from elsewhere."""
    visited: set[str] = set()
    while name in known and name not in visited:
        visited.add(name)
        if method in known[name].methods:
            return known[name].methods[method]
        name = known[name].bases[0] if len(known[name].bases) == 1 else ""
    return None


def _check_calls(sources: Sources, forward: Function, where: str) -> Iterator[LessonError]:
    """What is wrong with a call of forward, for every distinct set of inputs of the plan."""
    reported: set[str] = set()
    for number, run in enumerate(plan.plan_runs(sources.lesson.recipe)["runs"]):
        names = [name for name, _ in run["inputs"]]
        problem = explain_mismatch(forward.parameters, names)
        if problem and problem not in reported:
            reported.add(problem)
            takes = ", ".join(parameter.name for parameter in forward.parameters[1:]) or "nothing"
            seen = f"forward cannot take these inputs: {problem}"
            yield sources.lesson.error(sources.lesson.setting_place(number, "inputs"), seen,
                                     f"it takes {takes} ({where})", "Name one input for each parameter.")  # fmt: skip


def explain_mismatch(parameters: Sequence[Parameter], names: Sequence[str]) -> str:
    """Why a method with these parameters, the first being `self`, cannot be called with inputs of these names.

    They are passed as the worker passes them: by name where the signature allows it, else in order. Empty when it can.
    """
    own = _drop_self(parameters)
    unnamed = list_positional(parameters, names)
    cut = names.index(unnamed[-1]) + 1 if unnamed else 0
    try:
        inspect.Signature(own).bind(*names[:cut], **dict.fromkeys(names[cut:]))
    except TypeError as error:
        return str(error)
    return ""


def list_positional(parameters: Sequence[Parameter], names: Sequence[str]) -> list[str]:
    """Those of the inputs that cannot be passed by their names."""
    own = _drop_self(parameters)
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in own):
        return []
    by_name = {parameter.name for parameter in own if parameter.kind in BY_NAME}
    return [name for name in names if name not in by_name]


def _drop_self(parameters: Sequence[Parameter]) -> list[Parameter]:
    """A method's parameters without `self`."""
    return list(parameters[1:]) if parameters and parameters[0].kind in IN_ORDER else list(parameters)
