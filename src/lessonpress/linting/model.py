"""The model's file: whether the class is there, and whether its forward takes what the recipe gives it."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterator, Mapping, Sequence

from lessonpress import plan
from lessonpress.errors import LessonError
from lessonpress.linting.sources import Sources
from lessonpress.syntax import Class, Function, Parameter

IN_ORDER = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def mistakes(sources: Sources) -> Iterator[LessonError]:
    """The class named by the recipe that is not in its file, and inputs that its forward does not take."""
    file, recipe = sources.model(), sources.read.recipe
    if file is None:
        return
    known = {each.name: each for each in file.classes}
    if recipe.model.class_ not in known:
        if not file.may_have(recipe.model.class_):
            yield _no_class(sources, list(known))
        return
    method = _inherited(known, recipe.model.class_, "forward")
    if method and not method.decorated:
        yield from _calls(sources, method, f"{file.where}:{method.line}")


def _no_class(sources: Sources, known: Sequence[str]) -> LessonError:
    model = sources.read.recipe.model
    close = difflib.get_close_matches(model.class_, known, n=1)
    return sources.read.error(("model", "class"), f"{model.file} has no class {model.class_}",
                              f"classes there: {', '.join(known) or 'none'}",
                              f"Did you mean {close[0]}?" if close else "")  # fmt: skip


def _inherited(known: Mapping[str, Class], name: str, method: str) -> Function | None:
    """A method of a class or of its bases in the same file; None where it comes from elsewhere."""
    seen: set[str] = set()
    while name in known and name not in seen:
        seen.add(name)
        if method in known[name].methods:
            return known[name].methods[method]
        name = known[name].bases[0] if len(known[name].bases) == 1 else ""
    return None


def _calls(sources: Sources, forward: Function, where: str) -> Iterator[LessonError]:
    """What every distinct set of inputs of the plan would meet when forward is called with it."""
    told: set[str] = set()
    for number, run in enumerate(plan.of(sources.read.recipe)["runs"]):
        names = [name for name, _ in run["inputs"]]
        problem = unfit(forward.parameters, names)
        if problem and problem not in told:
            told.add(problem)
            takes = ", ".join(parameter.name for parameter in forward.parameters[1:]) or "nothing"
            seen = f"forward cannot take these inputs: {problem}"
            yield sources.read.error(sources.read.said(number, "inputs"), seen,
                                     f"it takes {takes} ({where})", "Name one input for each parameter.")  # fmt: skip


def unfit(parameters: Sequence[Parameter], names: Sequence[str]) -> str:
    """Why a method with these parameters, the first being `self`, cannot be called with inputs of these names.

    They are passed as the worker passes them: by name where the signature allows it, else in order. Empty when it can.
    """
    own = list(parameters[1:]) if parameters and parameters[0].kind in IN_ORDER else list(parameters)
    by_name = {parameter.name for parameter in own if parameter.kind in BY_NAME}
    rest = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in own)
    in_order = [at for at, name in enumerate(names) if name not in by_name and not rest]
    cut = in_order[-1] + 1 if in_order else 0
    try:
        inspect.Signature(own).bind(*names[:cut], **dict.fromkeys(names[cut:]))
    except TypeError as error:
        return str(error)
    return ""
