"""Where a lesson's time goes: the arrows of one lesson after the other in one process, its libraries already there."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lessonpress import canon, check, execute, hashing, page, record, render, supervise
from lessonpress.settings import Config

TIMES = 3  # of each part; its median counts
PARTS = (
    "reading the recipe", "the lesson's runs", "its broken variants", "cutting the record", "its checks", "rendering",
)  # fmt: skip


def measured(scratch: Path, sources: Sequence[Path]) -> dict[str, float]:
    """Milliseconds on the wall of each part, as means over the lessons `sources`."""
    config = Config(lessons=str(sources[0].parent), work=str(scratch))
    page.warm()
    found: list[Mapping[str, float]] = []
    with supervise.kept():
        _one(config, sources[0])  # loads the libraries
        found = [_one(config, source) for source in sources]
    return {name: statistics.mean(told[name] for told in found) for name in PARTS}


def _one(config: Config, folder: Path) -> dict[str, float]:
    slug = folder.name
    reading = _median(lambda: hashing.hash_lesson(config, slug))
    source = canon.read(config.room(slug) / "source.json")
    alone = {**source, "plan": {**source["plan"], "mutants": []}}
    runs = _median(lambda: execute.run(config, alone, folder))
    both = _median(lambda: execute.execute(config, slug))
    rest = [_median(lambda verb=verb: verb(config, slug)) for verb in (record.record, check.check, render.render)]
    return dict(zip(PARTS, [reading, runs, max(both - runs, 0.0), *rest], strict=True))


def _median(act: Callable[[], Any]) -> float:
    """Milliseconds of the median of some runs."""
    took = []
    for _ in range(TIMES):
        start = time.perf_counter()
        act()
        took.append(time.perf_counter() - start)
    return 1000 * statistics.median(took)


def table(found: Mapping[str, float]) -> str:
    """The parts as Markdown."""
    lines = ["| a lesson's time, one process alone | ms |", "|---|---:|"]
    lines += [f"| {name} | {took:.0f} |" for name, took in found.items()]
    return "\n".join([*lines, f"| together | {sum(found.values()):.0f} |"])
