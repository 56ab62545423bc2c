"""Prose bound to numbers: `{{ zero.alignment[0,2] | sig(4) }}` in a recipe's prose becomes the recorded value.

An expression stands between `{{ ` and ` }}`, with the white space, so that TeX's own braces are left alone. It sees the
recorded arrays and metrics by case and id (`cases["a-b"].context` where a case's id is no name), indices, comparisons,
arithmetic on numbers, and the filters below; nothing else, and it calls nothing. What names nothing stays as typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from typing import Any, TypeVar

import numpy as np
from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel

from lessonpress.core.errors import LessonError
from lessonpress.lesson.reader import Lesson
from lessonpress.replay import statistics
from lessonpress.replay.statistics import STATISTICS

_EXPRESSION = re.compile(r"\{\{\s+(.+?)\s+\}\}", re.DOTALL)
_NAME = re.compile(r"[^\W\d]")
_PROSE = frozenset([
    "title", "question", "description", "limitations", "note", "label", "beginner", "expert", "prompt", "fidelity",
    "scope",
])  # fmt: skip
_TYPED = re.compile(r"(?<![\w.])[-−]?\d+\.\d{3,}(?![\w.])")
# All that a wrong expression can end in, compiling included.
FAILURES = (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError, SyntaxError,
             RecursionError, MemoryError)  # fmt: skip
LONGEST = 200  # characters of one expression
Model = TypeVar("Model", bound=BaseModel)
Path = tuple[str | int, ...]


class Recorded:
    """A recorded array inside an expression: `alignment[0, 2]` is a number, `alignment[0]` a shorter array."""

    def __init__(self, values: Any) -> None:
        self._values = np.asarray(values, dtype=np.float64)

    def __getitem__(self, place: Any) -> Any:
        found = self._values[place]
        return float(found) if np.ndim(found) == 0 else Recorded(found)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))

    @property
    def _flat(self) -> Any:
        """All numbers in row-major order; an expression cannot reach numpy's own object, which could write files."""
        return self._values.ravel()


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja's expressions without calls, and with arithmetic on numbers only (a text times a number fills memory)."""

    intercepted_binops = frozenset(["+", "-", "*", "/", "//", "%", "**"])

    def is_safe_callable(self, obj: Any) -> bool:
        return False

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise TypeError(f"{operator} stands between numbers only")
        return super().call_binop(context, operator, left, right)


class Names:
    """What an expression may name: looked up, never listed."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = known

    def __getitem__(self, name: str) -> Any:
        return self._known[name]


def bind_values(read: Lesson, cases: Mapping[str, Any]) -> Lesson:
    """The lesson with every expression in its prose replaced by its value, and every question's answer computed.

    `cases` is the content of cases.json. Raises LessonError with the recipe's line for what cannot be evaluated.
    """
    names = _names(cases)

    def fill(text: str, path: Path) -> str:
        return _EXPRESSION.sub(
            lambda found: _written(_value(read, found[1], names, path)) if _NAME.search(found[1]) else found[0], text
        )

    recipe = map_prose(read.recipe, (), fill)
    answers = [_answered(read, question, names, ("questions", at)) for at, question in enumerate(recipe.questions)]
    return read.with_recipe(recipe.model_copy(update={"questions": answers}) if answers else recipe)


def find_expressions(text: str) -> list[str]:
    """Every expression of a text, without its braces."""
    return [found for found in _EXPRESSION.findall(text) if _NAME.search(found)]


def blank_expressions(text: str) -> str:
    """A text with every expression replaced by a number, as if all values were known."""
    return _EXPRESSION.sub(lambda found: "0" if _NAME.search(found[1]) else found[0], text)


def find_typed(read: Lesson, cases: Mapping[str, Any]) -> list[str]:
    """Numbers with three decimals or more that are typed into prose and occur in the record: a hint for each."""
    hints = []

    def look(text: str, path: Path) -> str:
        for found in _TYPED.findall(_EXPRESSION.sub("", text)):
            if source := _source(found, cases):
                decimals = len(found.partition(".")[2])
                fix = f"Write {{{{ {source} | fixed({decimals}) }}}}, so that it follows the record."
                hints.append(read.error(path, f"{found} is typed by hand and is a recorded number", fix=fix).message())
        return text

    map_prose(read.recipe, (), look)
    return hints


def _source(found: str, cases: Mapping[str, Any]) -> str:
    """The expression of a recorded number that a typed one rounds, or nothing."""
    number, decimals = float(found.replace("−", "-")), len(found.partition(".")[2])
    for case, told in cases["cases"].items():
        for name, array in told["arrays"].items():
            values = np.asarray(array["values"]) if array["dtype"].startswith("float") else np.zeros(0)
            near = np.abs(values - number) <= 0.5001 * 10.0**-decimals if values.dtype.kind == "f" else np.zeros(0)
            if (hits := np.argwhere(near)).size:
                head = case if case.isidentifier() else f'cases["{case}"]'
                return f"{head}.{name}[{', '.join(map(str, hits[0]))}]"
    return ""


def _names(cases: Mapping[str, Any]) -> dict[str, Any]:
    found = {
        case: Names({**{name: Recorded(array["values"]) for name, array in told["arrays"].items()
                        if not array["dtype"].startswith("complex")}, **told["metrics"]})
        for case, told in cases["cases"].items()
    }  # fmt: skip
    return {**found, "cases": Names(found)}


def _value(read: Lesson, expression: str, names: Mapping[str, Any], path: Path) -> Any:
    """What an expression gives. Raises LessonError for one that is wrong or names what is not recorded."""
    try:
        value = compile_expression(expression)(**names)
        if isinstance(value, StrictUndefined):
            str(value)  # says what is missing
        if not isinstance(value, str | int | float):
            raise TypeError("it is no single value")
        return value
    except FAILURES as error:
        known = ", ".join(sorted(names))
        raise _wrong(read, path, f"{{{{ {expression} }}}} cannot be evaluated ({error})", known) from error


@lru_cache(maxsize=1024)
def compile_expression(expression: str) -> Callable[..., Any]:
    """An expression, ready to be given names; raises one of FAILURES for what is none, or would take long to read."""
    if len(expression) > LONGEST or "**" in expression:
        raise ValueError("it is too long or has a power")
    return make_environment().compile_expression(expression, undefined_to_none=False)


def _wrong(read: Lesson, path: Path, seen: str, known: str) -> LessonError:
    return read.error(path, seen, f"a recorded value such as {{{{ case.id[0, 2] | sig(4) }}}}; there are: {known}")


def _answered(read: Lesson, question: Any, names: Mapping[str, Any], at: Path) -> Any:
    """A question with its answer as text: an option's words, or a number."""
    value = _value(read, question.answer, names, (*at, "answer"))
    options = question.options
    if not options:
        return question.model_copy(update={"answer": _written(value)})
    whole = isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    chosen = options[int(value)] if whole and 0 <= value < len(options) else value if value in options else None
    if chosen is None:
        raise read.error((*at, "answer"), f"gives {value!r}, which is none of the options", "an option's place, from 0")
    return question.model_copy(update={"answer": chosen})


def map_prose(node: Model, path: Path, fill: Callable[[str, Path], str]) -> Model:
    """A record with `fill` applied to all prose inside it."""
    changed: dict[str, Any] = {}
    for name, field in type(node).model_fields.items():
        value, here = getattr(node, name), (*path, field.alias or name)
        if isinstance(value, str) and name in _PROSE:
            new: Any = fill(value, here)
        elif isinstance(value, BaseModel):
            new = map_prose(value, here, fill)
        elif isinstance(value, list):
            new = [map_prose(item, (*here, at), fill) if isinstance(item, BaseModel) else item
                   for at, item in enumerate(value)]  # fmt: skip
        else:
            continue
        if new != value:
            changed[name] = new
    return node.model_copy(update=changed) if changed else node


def _written(value: Any) -> str:
    """A value in prose: numbers at four significant digits unless a filter said otherwise."""
    return sig(value) if isinstance(value, float) else str(value)


def sig(value: float, digits: int = 4) -> str:
    """A number at so many significant digits, trailing zeros kept: `sig(0.2, 3)` is `0.200`."""
    exact = Decimal(float(value))
    unit = Decimal(1).scaleb((exact.adjusted() if exact else 0) - digits + 1)
    return f"{exact.quantize(unit, rounding=ROUND_HALF_UP):f}"


def fixed(value: float, decimals: int = 2) -> str:
    """A number at so many decimals."""
    return f"{Decimal(float(value)).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP):f}"


def percent(value: float, decimals: int = 0) -> str:
    """A share as a percentage: `21 %`."""
    return f"{fixed(100 * float(value), decimals)} %"


@cache
def make_environment() -> _Environment:
    """What expressions are read with: our filters and nothing else."""
    made = _Environment(undefined=StrictUndefined)
    made.filters = {
        "sig": sig, "fixed": fixed, "percent": percent, "abs": abs, **{name: _reduced(name) for name in STATISTICS},
    }  # fmt: skip
    made.globals = {}
    made.tests = {}
    return made


def _reduced(name: str) -> Callable[[Recorded], Any]:
    """A statistic of all numbers of an array, as a plain Python number."""
    return lambda array: statistics.compute_statistic(name, array._flat)
