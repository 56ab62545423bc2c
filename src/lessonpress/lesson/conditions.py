"""What a reader is to reach by moving a slider: a comparison of one recorded number with a bound."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

SENSES: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_CONDITION = re.compile(
    r"(?P<record>[a-z0-9_-]+)\s*(\[\s*(?P<place>-?\d+(\s*,\s*-?\d+)*)\s*\])?\s*(\|\s*(?P<statistic>[a-z]+))?"
    r"\s*(?P<sense><=|>=|<|>)\s*(?P<bound>[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?)"
)
FORM = "a record, an element or a statistic of it, and a bound: `alignment[0, 2] > 0.5`, `shares | max >= 0.9`"


@dataclass(frozen=True)
class Condition:
    """A recorded array's id (or a metric's), which number of it counts, and what that is compared with."""

    record: str
    place: tuple[int, ...] | None
    statistic: str | None
    sense: str
    bound: float

    def holds(self, value: float) -> bool:
        """Whether a number is as it should be."""
        return SENSES[self.sense](value, self.bound)


def parse_condition(text: str) -> Condition:
    """The condition that a text says. Raises ValueError where it says none."""
    match = _CONDITION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no condition")
    if match["place"] and match["statistic"]:
        raise ValueError(f"{text!r} asks for a statistic of one number")
    place = tuple(int(part) for part in match["place"].split(",")) if match["place"] else None
    return Condition(match["record"], place, match["statistic"], match["sense"], float(match["bound"]))
