"""Makes this process another one: its objects lie at other addresses, its clocks show another time.

A lesson that is run a second time must not know. What it computes from an address or from a clock then differs, and
can be refused. The calls by which its own code asked are noted, so that a message can name them.
"""

from __future__ import annotations

import builtins
import datetime as dates
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

AWAY = 400 * 86400 + 7 * 3600 + 13 * 60 + 17  # seconds: another year, another day of the week, another hour
CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")  # and, in nanoseconds, their `…_ns`
OF_A_MOMENT = ("localtime", "gmtime", "ctime", "strftime", "asctime")  # that they are given, or of now
ASIDE = 16 * 1_000_003  # bytes
FURTHER = 7919  # processes
# Bytes; Python keeps objects apart by 16.
SIZES = (*range(0, 513, 16), 640, 768, 1024, 1 << 12, 1 << 14, 1 << 16, 1 << 18)
KEPT = 20  # calls are noted
_FORMAT = 1  # the arguments of strftime before the moment
_ballast: list[object] = []


class Noted:
    """The calls that ask for a clock, an address, chance or a process, by which line of the lesson's asked first."""

    def __init__(self, folder: str) -> None:
        self.prefix = os.path.join(os.path.realpath(folder), "")
        self.calls: dict[tuple[str, int, str], None] = {}

    def note(self, name: str, depth: int = 2) -> bool:
        """Note a call where a line of the lesson's own made it; whether one did."""
        frame = sys._getframe(depth)
        file = frame.f_code.co_filename
        own = file.startswith(self.prefix)
        if own and len(self.calls) < KEPT:
            self.calls[file[len(self.prefix) :].replace(os.sep, "/"), frame.f_lineno, name] = None
        return own

    def listed(self) -> list[tuple[str, int, str]]:
        """The file, the line, and the name of each call."""
        return list(self.calls)


def move(folder: str, allocate: Callable[[int], object] = bytearray) -> Noted:
    """Take up some memory, in which a first run put its objects, and let every clock show another time.

    `allocate` takes up so many bytes in the way in which the lesson's numbers are kept. Returns the notes of the calls
    that the lesson in `folder` makes from now on.
    """
    # A few of each size: what comes later lies elsewhere. How many is by chance, so no two runs are alike.
    for size, chance in zip(SIZES, os.urandom(len(SIZES)), strict=True):
        count = 8 + chance % 25
        _ballast.extend(bytes(size) for _ in range(count))
        _ballast.extend(allocate(size) for _ in range(count if size < 1 << 12 else 2))
    _ballast.extend(object() for _ in range(64 + os.urandom(1)[0]))
    noted = Noted(folder)
    _move_clocks(noted)
    # What was freed in the same order may lie at the same address all the same. Libraries keep what they know by it.
    _watch(noted, builtins, "id", "id", lambda address: address + ASIDE, everybody=False)
    _watch(noted, os, "urandom", "os.urandom")
    for name in ("getpid", "getppid"):  # in a namespace of its own, every first process has the same number
        _watch(noted, os, name, f"os.{name}", lambda number: number + FURTHER, everybody=False)
    return noted


def _watch(
    noted: Noted, module: Any, name: str, called: str, away: Callable[[Any], Any] = lambda value: value, *,
    everybody: bool = True,
) -> None:  # fmt: skip
    """Note the calls of a function, and change what it gives: to everybody, or to the lesson's own lines."""
    native = getattr(module, name)

    def function(*given: Any, **named: Any) -> Any:
        value = native(*given, **named)
        return away(value) if noted.note(called) or everybody else value

    setattr(module, name, function)


def _move_clocks(noted: Noted) -> None:
    now = time.time
    for name in CLOCKS:
        _watch(noted, time, name, f"time.{name}", lambda seconds: seconds + AWAY)
        _watch(noted, time, f"{name}_ns", f"time.{name}_ns", lambda nanoseconds: nanoseconds + AWAY * 10**9)
    _watch(noted, time, "clock_gettime", "time.clock_gettime", lambda seconds: seconds + AWAY)
    for name in OF_A_MOMENT:
        _tell(noted, name, getattr(time, name), now)
    made, day, utc = dates.datetime.fromtimestamp, dates.date.fromtimestamp, dates.UTC
    moments: Mapping[str, Callable[..., Any]] = {
        "now": lambda *zone, tz=None: made(now() + AWAY, *(zone or (tz,))), "today": lambda: made(now() + AWAY),
        "utcnow": lambda: made(now() + AWAY, utc).replace(tzinfo=None),
    }  # fmt: skip
    dates.datetime = _moved(noted, dates.datetime, moments)  # type: ignore[misc]
    dates.date = _moved(noted, dates.date, {"today": lambda: day(now() + AWAY)})  # type: ignore[misc]


def _tell(noted: Noted, name: str, native: Callable[..., Any], now: Callable[[], float]) -> None:
    """Let a function that tells of a moment take the moved one for now."""
    before = _FORMAT if name == "strftime" else 0
    split = name in ("strftime", "asctime")  # these take a moment that is taken apart already

    def function(*given: Any) -> Any:
        noted.note(f"time.{name}")
        if len(given) > before and given[before] is not None:
            return native(*given)
        moment = now() + AWAY
        return native(*given[:before], _LOCAL(moment) if split else moment)

    setattr(time, name, function)


_LOCAL = time.localtime


def _moved(noted: Noted, native: Any, moments: Mapping[str, Callable[..., Any]]) -> Any:
    """A class of dates that tells the moved moments; what is of the native class is of this one too."""

    class Kind(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, native)

    def make(name: str, tell: Callable[..., Any]) -> Any:
        def moment(cls: Any, *zone: Any, **named: Any) -> Any:
            noted.note(f"{native.__module__}.{native.__name__}.{name}")
            return tell(*zone, **named)

        return classmethod(moment)

    methods = {name: make(name, tell) for name, tell in moments.items()}
    return Kind(native.__name__, (native,), {"__module__": native.__module__, **methods})
