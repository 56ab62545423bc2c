"""What isolation costs a lesson, next to a bare child process: `./.venv/bin/python benchmarks/bench_isolation.py`.

Every round starts a worker in each way, one after the other, so that a machine that slows down slows all of them. Only
differences within one run mean anything. With --check a cost above the aim is an error.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lessonpress import sandbox
from lessonpress.build import execute
from lessonpress.build.source_record import make_source_record
from lessonpress.core import canonical_json
from lessonpress.core.settings import Isolation, Limits
from lessonpress.lesson import reader
from lessonpress.sandbox import bubblewrap
from lessonpress.worker import confine

AIM = 50.0  # milliseconds a lesson
ROOT = Path(__file__).resolve().parents[1]
BARE: Any = Isolation(minimum="posix-basic", bubblewrap="never")
OUTER: Any = Isolation(minimum="posix-basic", bubblewrap="auto")
NONE = sandbox.Layers(())


def measure_call(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1000


def list_ways() -> dict[str, tuple[Isolation, sandbox.Layers]]:
    """How a worker can be started here: bare, and with one layer more each time."""
    ways = {"bare child": (BARE, NONE)}
    for count in range(1, len(confine.LAYERS) + 1):
        ways[f"+ {confine.LAYERS[count - 1]}"] = (BARE, sandbox.Layers(confine.LAYERS[:count]))
    if bubblewrap.wrap_command([], ROOT, OUTER):
        ways["+ bubblewrap"] = (OUTER, sandbox.ALL)
    return ways


def measure(folder: Path, runs: int) -> dict[str, list[float]]:
    """Milliseconds of each way, `runs` times, after one round that is not counted."""
    plan = make_source_record(reader.read(folder))["plan"]
    times: dict[str, list[float]] = {name: [] for name in list_ways()}
    with tempfile.TemporaryDirectory(prefix="bench-isolation-") as scratch:
        (Path(scratch) / "empty").mkdir()
        (Path(scratch) / "plan.json").write_text(canonical_json.compact(plan))
        mutants = execute.make_mutants(plan, folder, Path(scratch) / "mutants")
        arguments = [str(Path(scratch) / "plan.json"), str(folder), str(mutants)]
        given: Any = (sandbox.MODEL, arguments, Path(scratch) / "empty", Limits())
        for turn in range(runs + 1):
            for name, (isolation, layers) in list_ways().items():
                took = measure_call(lambda: sandbox.run(*given, isolation, layers=layers))  # noqa: B023  # called now
                if turn:
                    times[name].append(took)
    return times


def main() -> None:
    """Print medians and what each layer adds; with --check the whole must meet the aim."""
    parser = argparse.ArgumentParser(description="Measure what isolation costs.")
    parser.add_argument("--runs", type=int, default=9, help="measured rounds (default 9)")
    parser.add_argument("--lesson", type=Path, default=ROOT / "tests" / "lessons" / "tiny-affine", help="its folder")
    parser.add_argument("--check", action="store_true", help="exit 1 when the aim is missed")
    options = parser.parse_args()
    times = measure(options.lesson, options.runs)
    print(f"{'median of ' + str(options.runs):20} {'ms':>8} {'more':>7}   smallest … largest")
    for name, values in times.items():
        # Pairs of one round: what slows the machine down for a while slows both of a pair.
        cost = statistics.median(one - bare for one, bare in zip(values, times["bare child"], strict=True))
        print(f"{name:20} {statistics.median(values):8.1f} {cost:7.1f}   {min(values):.1f} … {max(values):.1f}")
    met = cost <= AIM
    print(f"isolation costs {cost:.1f} ms a lesson; aim ≤ {AIM:.0f} ms: {'met' if met else 'MISSED'}")
    sys.exit(0 if met or not options.check else 1)


if __name__ == "__main__":
    main()
