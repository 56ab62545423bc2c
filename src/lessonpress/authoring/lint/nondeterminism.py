"""Calls whose result differs from run to run, or from one processor to another."""

from __future__ import annotations

from collections.abc import Iterator

from lessonpress.authoring.lint.sources import Sources
from lessonpress.core.errors import LessonError
from lessonpress.lesson import decompositions
from lessonpress.lesson.python_ast import Call

CLOCK, CHANCE = "it tells the time of the run", "no seed decides what it gives"
ALWAYS = {
    **dict.fromkeys(["time.time", "time.time_ns", "time.perf_counter", "time.perf_counter_ns", "time.monotonic",
                     "time.monotonic_ns", "time.process_time", "time.localtime", "time.gmtime", "time.ctime",
                     "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today",
                     "datetime.date.today"], CLOCK),
    **dict.fromkeys(["os.urandom", "os.getrandom", "os.getpid", "random.SystemRandom", "random.SystemRandom.random",
                     "torch.seed", "torch.random.seed", "uuid.uuid1", "uuid.uuid4"], CHANCE),
}  # fmt: skip
# These are seeded by what they are given.
BARE = dict.fromkeys([
    "random.seed", "random.Random", "numpy.random.seed", "numpy.random.default_rng", "numpy.random.RandomState",
    "numpy.random.SeedSequence", "numpy.random.PCG64",
], CHANCE)  # fmt: skip
FIX = "Give its value as an input, or draw it from torch, which the recipe's seed decides."


PROCESSOR = "its last digits depend on the processor, which the page will say"
TOLERANCE = "The lesson's tolerance must allow for it; see docs/determinism.md."


def find_doubts(sources: Sources) -> Iterator[LessonError]:
    """Every call in a lesson's files that no seed decides, or whose last digits a processor decides."""
    for file in sources.files.values():
        for call in file.calls:
            if reason := _explain(call):
                yield LessonError(f"{file.where}:{call.line}", f"{call.name} is called", reason, FIX)
            elif decompositions.is_decomposition(call.name):
                yield LessonError(f"{file.where}:{call.line}", f"{call.name} is called", PROCESSOR, TOLERANCE)


def _explain(call: Call) -> str:
    if call.name.startswith("secrets."):
        return CHANCE
    return ALWAYS.get(call.name, "") or (BARE.get(call.name, "") if not call.arguments else "")
