"""Prose bound to numbers: `{{ zero.alignment[0,2] | sig(4) }}` in a recipe's prose becomes the recorded value.

An expression stands between `{{ ` and ` }}`, with the white space, so that TeX's own braces are left alone. It sees the
recorded arrays and metrics by case and id (`cases["a-b"].context` where a case's id is no name), indices, comparisons,
arithmetic on numbers, and the filters below; nothing else, and it calls nothing. What names nothing stays as typed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel

from lessonpress.lesson import conditions
from lessonpress.lesson.reader import Lesson
from lessonpress.lesson.recipe import Question
from lessonpress.replay import statistics
from lessonpress.replay.statistics import STATISTICS

if TYPE_CHECKING:
    from lessonpress.lesson.records import Cases

_EXPRESSION = re.compile(r"\{\{\s+(.+?)\s+\}\}", re.DOTALL)
_NAME = re.compile(r"[^\W\d]")
_PROSE = frozenset([
    "title", "question", "description", "limitations", "note", "label", "beginner", "expert", "ask", "prompt",
    "fidelity", "scope", "hint", "solution",
])  # fmt: skip
_TYPED = re.compile(r"(?<![\w.])[-−]?\d+\.\d{3,}(?![\w.])")
# All that a wrong expression can end in, compiling included.
FAILURES = (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError, SyntaxError,
             RecursionError, MemoryError)  # fmt: skip
LONGEST = 200  # characters of one expression
Model = TypeVar("Model", bound=BaseModel)
Path = tuple[str | int, ...]
Value: TypeAlias = str | int | float  # what an expression may give; True and False are numbers too


class ArrayInProse:
    """A recorded array inside an expression: `alignment[0, 2]` is a number, `alignment[0]` a shorter array."""

    def __init__(self, values: Any) -> None:
        self._values = np.asarray(values, dtype=np.float64)

    def __getitem__(self, place: Any) -> Any:
        part = self._values[place]
        return float(part) if np.ndim(part) == 0 else ArrayInProse(part)

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

    def __init__(self, known: Mapping[str, object]) -> None:
        self._known = known

    def __getitem__(self, name: str) -> object:
        return self._known[name]


def bind_values(lesson: Lesson, cases: Cases) -> Lesson:
    """The lesson with every expression in its prose replaced by its value, and every question's answer computed.

    Raises LessonError with the recipe's line for what cannot be evaluated.
    """
    names = _collect_names(cases)

    def fill(text: str, path: Path) -> str:
        return _replace_expressions(text, lambda expression: _write(_evaluate(lesson, expression, names, path)))

    recipe = map_prose(lesson.recipe, (), fill)
    answers = [_answer(lesson, question, names, ("questions", at)) for at, question in enumerate(recipe.questions)]
    for at, question in enumerate(recipe.questions):
        _require_open(lesson, question, cases, ("questions", at, "until"))
    return lesson.with_recipe(recipe.model_copy(update={"questions": answers}) if answers else recipe)


def find_expressions(text: str) -> list[str]:
    """Every expression of a text, without its braces."""
    return [expression for expression in _EXPRESSION.findall(text) if _NAME.search(expression)]


def blank_expressions(text: str) -> str:
    """A text with every expression replaced by a number, as if all values were known."""
    return _replace_expressions(text, lambda _: "0")


def _replace_expressions(text: str, write: Callable[[str], str]) -> str:
    """A text with each expression replaced by what `write` gives for it; braces that name nothing stay as typed."""
    return _EXPRESSION.sub(lambda match: write(match[1]) if _NAME.search(match[1]) else match[0], text)


def find_typed(lesson: Lesson, cases: Cases) -> list[str]:
    """Numbers with three decimals or more that are typed into prose and occur in the record: a hint for each."""
    hints = []

    def look(text: str, path: Path) -> str:
        for number in _TYPED.findall(_EXPRESSION.sub("", text)):
            if source := _find_source(number, cases):
                decimals = len(number.partition(".")[2])
                fix = f"Write {{{{ {source} | fixed({decimals}) }}}}, so that it follows the record."
                seen = f"{number} is typed by hand and is a recorded number"
                hints.append(lesson.error(path, seen, fix=fix).message())
        return text

    map_prose(lesson.recipe, (), look)
    return hints


def _find_source(text: str, cases: Cases) -> str:
    """The expression of a recorded number that a typed one rounds, or nothing."""
    number, decimals = float(text.replace("−", "-")), len(text.partition(".")[2])
    for case, values in cases["cases"].items():
        for name, array in values["arrays"].items():
            flat = np.asarray(array["values"]) if array["dtype"].startswith("float") else np.zeros(0)
            near = np.abs(flat - number) <= 0.5001 * 10.0**-decimals if flat.dtype.kind == "f" else np.zeros(0)
            if (hits := np.argwhere(near)).size:
                head = case if case.isidentifier() else f'cases["{case}"]'
                return f"{head}.{name}[{', '.join(map(str, hits[0]))}]"
    return ""


def _collect_names(cases: Cases) -> dict[str, Names]:
    by_case = {
        case: Names({**{name: ArrayInProse(array["values"]) for name, array in values["arrays"].items()
                        if not array["dtype"].startswith("complex")}, **values["metrics"]})
        for case, values in cases["cases"].items()
    }  # fmt: skip
    return {**by_case, "cases": Names(by_case)}


def _evaluate(lesson: Lesson, expression: str, names: Mapping[str, Names], path: Path) -> Value:
    """What an expression gives. Raises LessonError for one that is wrong or names what is not recorded."""
    try:
        value = compile_expression(expression)(**names)
        if isinstance(value, StrictUndefined):
            str(value)  # raises, and says what is missing
        if not isinstance(value, str | int | float):
            raise TypeError("it is no single value")
        return value
    except FAILURES as error:
        known = ", ".join(sorted(names))
        seen = f"{{{{ {expression} }}}} cannot be evaluated ({error})"
        expected = f"a recorded value such as {{{{ case.id[0, 2] | sig(4) }}}}; there are: {known}"
        raise lesson.error(path, seen, expected) from error


@lru_cache(maxsize=1024)
def compile_expression(expression: str) -> Callable[..., Any]:
    """An expression, ready to be given names.

    Raises one of FAILURES for what is not an expression, and for what would take long to read.
    """
    if len(expression) > LONGEST or "**" in expression:
        raise ValueError("it is too long or has a power")
    return make_environment().compile_expression(expression, undefined_to_none=False)


def _answer(lesson: Lesson, question: Question, names: Mapping[str, Names], at: Path) -> Question:
    """A question with its answer as text: an option's words, or a number; one to be worked out has every digit."""
    if question.number is not None:
        number = _evaluate(lesson, question.number, names, (*at, "number"))
        if isinstance(number, str) or not math.isfinite(number):
            raise lesson.error((*at, "number"), f"gives {number!r}", "a single number")
        within = question.within if question.within is not None else abs(number) / 200
        return question.model_copy(update={"answer": _write(number), "number": repr(float(number)), "within": within})
    if question.answer is None:
        return question
    value = _evaluate(lesson, question.answer, names, (*at, "answer"))
    options = question.options
    if not options:
        return question.model_copy(update={"answer": _write(value)})
    chosen = _choose(value, options)
    if chosen is None:
        seen = f"gives {value!r}, which is none of the options"
        raise lesson.error((*at, "answer"), seen, "an option's place, from 0")
    return question.model_copy(update={"answer": chosen})


def _require_open(lesson: Lesson, question: Question, cases: Cases, at: Path) -> None:
    """Raise LessonError for a condition that no reader has to reach, or that names an element that is not there."""
    if question.until is None:
        return
    condition = conditions.parse_condition(question.until)
    for name, case in cases["cases"].items():
        value = case["metrics"].get(condition.record)
        if value is None:
            array = np.asarray(case["arrays"][condition.record]["values"], dtype=object)
            try:
                value = _pick(array, condition)
            except (IndexError, ValueError) as error:
                raise lesson.error(at, f"{condition.record} has shape {list(array.shape)}: {error}",
                                   "one number of it") from None  # fmt: skip
        if isinstance(value, int | float) and condition.holds(value):
            raise lesson.error(at, f"holds in the case {name} already ({_write(float(value))})",
                               "something that the reader has to reach")  # fmt: skip


def _pick(array: np.ndarray[Any, Any], condition: conditions.Condition) -> Any:
    """The number of a recorded array that a condition is about. Raises IndexError or ValueError where it is none."""
    if condition.statistic:
        return statistics.compute_statistic(condition.statistic, array.astype(float))
    value = array[condition.place] if condition.place is not None else array.reshape(-1)
    if np.ndim(value) and np.size(value) != 1:
        raise ValueError("more than one number")
    return np.ravel(value)[0] if np.ndim(value) else value


def _choose(value: Value, options: list[str]) -> str | None:
    """The option that an answer names, by its place or by its words."""
    if isinstance(value, str):
        return value if value in options else None
    whole = not isinstance(value, bool) and float(value).is_integer()
    return options[int(value)] if whole and 0 <= value < len(options) else None


def map_prose(node: Model, path: Path, fill: Callable[[str, Path], str]) -> Model:
    """A record with `fill` applied to all prose inside it."""
    changed: dict[str, object] = {}
    for name, field in type(node).model_fields.items():
        value, here = getattr(node, name), (*path, field.alias or name)
        if isinstance(value, str) and name in _PROSE:
            new: object = fill(value, here)
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


def _write(value: Value) -> str:
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
    environment = _Environment(undefined=StrictUndefined)
    environment.filters = {
        "sig": sig, "fixed": fixed, "percent": percent, "abs": abs, **{name: _reduce(name) for name in STATISTICS},
    }  # fmt: skip
    environment.globals = {}
    environment.tests = {}
    return environment


def _reduce(name: str) -> Callable[[ArrayInProse], float]:
    """A statistic of all numbers of an array, as a plain Python number."""
    return lambda array: statistics.compute_statistic(name, array._flat)
