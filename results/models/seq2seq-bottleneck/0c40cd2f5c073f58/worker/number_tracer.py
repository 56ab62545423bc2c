"""Follows numbers that Python reads from tensors: what is computed with them, and what is decided by them."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch

from . import naming
from .modules import ModelMap
from .places import Places
from .recording import Recorder
from .records import Call, Struct
from .values import Values
from .watched_number import WatchedNumber, can_be_watched

LISTED = 256  # numbers of a list that are followed one by one


class NumberTracer(Recorder):
    """Puts watched numbers into the place of floats, and notes what becomes of them."""

    def __init__(self, model: ModelMap, places: Places, values: Values, *, follow: bool = True) -> None:
        super().__init__(model, places, values)
        self.follow = follow  # whether floats that Python reads are watched further
        self.numbers: dict[int, list[WatchedNumber]] = {}  # what such calls gave, and what they were made of
        self.operands: dict[int, list[WatchedNumber]] = {}
        self.guards: list[tuple[int, WatchedNumber]] = []  # calls that say that Python decided by a number
        self.printing: list[FrameType | None] = []  # the lesson's functions that print now, the innermost last
        self.ended = False

    def _follows(self, raw: str, args: Any, *, floating: bool) -> bool:
        known = raw in naming.FOLLOWED and (raw != "__float__" or floating)
        return known and self.follow and can_be_watched(args[0]) and args[0].numel() <= LISTED

    def _followed(self, title: str, read: list[Struct], named: dict[str, Struct], out: Any) -> Any:
        """Watched numbers in the place of the floats that `item` or `tolist` gave."""
        call = self._call(self._numbered(title, self.scopes[-1]), f"torch.{title}", "op", read, named, 4)
        number = len(self.calls) - 1

        def watched(value: Any, path: str) -> Any:
            if isinstance(value, list):
                return [watched(part, f"{path}.{at}" if path else str(at)) for at, part in enumerate(value)]
            return self._watch(value, number, path)

        numbers = watched(out, "")
        call["out"] = self._describe(numbers, None, 0, read=False)
        return numbers

    def _watch(self, value: float, call: int, path: str) -> WatchedNumber:
        held = torch.tensor(value, dtype=torch.float64)
        self.flow.record_result(held, [call, path])
        number = WatchedNumber(value, held, self)
        self.numbers.setdefault(call, []).append(number)
        return number

    def compute(self, title: str, value: float, numbers: list[Any]) -> Any:
        """Arithmetic of Python's on watched numbers is an operation, too."""
        if self.ended:
            return value
        if self.quiet:  # inside a call, where nobody follows it
            for number in numbers:
                if type(number) is WatchedNumber:
                    self.decide(number)
            return value
        self.quiet = True
        try:
            with torch._C.DisableTorchFunction():
                read = [self.read(number, None) for number in numbers]
                call = self._call(self._numbered(title, self.scopes[-1]), f"torch.{title}", "op", read, {}, 4)
                at = len(self.calls) - 1
                self.operands[at] = [number for number in numbers if type(number) is WatchedNumber]
                result = self._watch(value, at, "")
                call["out"] = self._describe(result, None, 0, read=False)
        finally:
            self.quiet = False
        return result

    def compare(self, title: str, value: Any, numbers: list[Any]) -> None:
        """Python decides by what a comparison of watched numbers gives."""
        if self.ended or self.is_printing():
            return
        with torch._C.DisableTorchFunction():
            read = [self.read(number, None) for number in numbers]
            call = self._call(self._numbered(title, self.scopes[-1]), f"torch.{title}", "op", read, {}, 4)
            call["out"] = value

    def decide(self, number: WatchedNumber) -> None:
        """Python decides by a watched number, which must therefore stay as it is."""
        if number.decided or self.ended or self.is_printing():
            return
        number.decided = True
        with torch._C.DisableTorchFunction():
            struct = self.read(number, None)
            number.reads -= 1
            call = self._call(self._numbered("float", self.scopes[-1]), "torch.float", "op", [struct], {}, 4)
            call["out"] = self._describe(number.value, None, 0, read=False)
        self.guards.append((len(self.calls) - 1, number))

    def _settle_numbers(self) -> None:
        """Numbers that no operation read are no nodes: their calls only say by which of them Python decided."""
        for at in sorted(self.numbers, reverse=True):
            made = self.numbers[at]
            if any(number.reads for number in made):
                continue
            if any(number.decided for number in made):
                plain = [self._describe(number.value, None, 0, read=False) for number in made]
                self.calls[at]["out"] = plain[0] if len(plain) == 1 else {"list": plain}
            else:
                _forget(self.calls[at])
                for number in self.operands.get(at, ()):
                    number.reads -= 1
            for guard, number in self.guards:
                if any(number is one for one in made):
                    _forget(self.calls[guard])

    def is_printing(self) -> bool:
        """Whether the lesson's code that runs now is a line that only prints, not what that line calls."""
        return bool(self.printing) and self.places.find_frame(3) is self.printing[-1]


def _forget(call: Call) -> None:
    """A call by which nothing was decided, and whose numbers nothing read."""
    call["args"], call["kwargs"], call["out"] = [], {}, None
