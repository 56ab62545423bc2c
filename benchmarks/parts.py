"""Where a lesson's time goes: its steps one after the other in one process, with the libraries loaded before."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lessonpress import sandbox
from lessonpress.build import execute, steps
from lessonpress.core.settings import Config
from lessonpress.web.page import rendering

TIMES = 3  # of each part; its median counts
PARTS = (
    "reading the recipe", "the lesson's runs", "its broken variants", "cutting the record", "its checks", "rendering",
    "the bundle, once more",
)  # fmt: skip


def measure_parts(scratch: Path, sources: Sequence[Path]) -> dict[str, float]:
    """Milliseconds on the wall of each part, as means over the lessons `sources`."""
    config = Config(lessons=str(sources[0].parent), work=str(scratch))
    rendering.warm_up()
    with sandbox.keep_servers():
        _measure_lesson(config, sources[0])  # loads the libraries
        lessons = [_measure_lesson(config, source) for source in sources]
    return {name: statistics.mean(lesson[name] for lesson in lessons) for name in PARTS}


def _measure_lesson(config: Config, folder: Path) -> dict[str, float]:
    work = steps.open_build(config, folder.name)
    took = {name: _median(lambda name=name: steps.perform(work, name, again=True)) for name in steps.STEPS}
    alone = {**work.source, "plan": {**work.source["plan"], "mutants": []}}
    runs = _median(lambda: execute.run_lesson(config, alone, folder))
    broken = max(took["execute"] - runs, 0.0)
    parts = [took["hash"], runs, broken, took["record"], took["check"], took["render"],
             took["rehearse"]]  # fmt: skip
    return dict(zip(PARTS, parts, strict=True))


def _median(act: Callable[[], Any]) -> float:
    """Milliseconds of the median of some runs."""
    took = []
    for _ in range(TIMES):
        start = time.perf_counter()
        act()
        took.append(time.perf_counter() - start)
    return 1000 * statistics.median(took)


def format_table(parts: Mapping[str, float]) -> str:
    """The parts as Markdown."""
    lines = ["| a lesson's time, one process alone | ms |", "|---|---:|"]
    lines += [f"| {name} | {took:.0f} |" for name, took in parts.items()]
    return "\n".join([*lines, f"| together | {sum(parts.values()):.0f} |"])
