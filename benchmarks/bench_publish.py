"""Measure how long publishing takes, next to the time that Snakemake and torch need for doing nothing.

Run as `./.venv/bin/python benchmarks/bench_publish.py [--runs 3] [--only SLUG] [--check]`. Everything happens in
temporary folders. All figures come from one session and its rounds are interleaved, so that a machine that slows
down slows every row alike; only the ratios mean anything on another machine.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
COPIED = ("Snakefile", "config.yaml", "workflow", "profiles", "templates", "src", "lessons")
COLD_AIM, IDLE_AIM = 1.6, 1.15  # published aims: cold ÷ floor, nothing to do ÷ bare nothing to do
SNAKEMAKE = (sys.executable, "-m", "snakemake", "--cores", "1")
BARE_SNAKEFILE = 'rule all:\n    output: "done.txt"\n    shell: "echo done > {output}"\n'


@dataclass(frozen=True)
class Round:
    """Wall-clock seconds of one round, each process started anew."""

    bare: float  # Snakemake with one `echo` job
    torch: float  # python -c "import torch"
    cold: float  # publish: no work/, no results/
    idle: float  # publish again: nothing to do
    bare_idle: float  # bare Snakemake again: nothing to do

    @property
    def floor(self) -> float:
        """The least that a publisher built on Snakemake and torch can take."""
        return self.bare + self.torch


def seconds(command: Sequence[str], folder: Path) -> float:
    """Run a command in `folder` and give its wall time; a failing command ends the benchmark with its words."""
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    elapsed = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed in {folder}:\n{done.stdout.decode(errors='replace')}")
    return elapsed


def lay_out_bare(folder: Path) -> Path:
    """Make a workflow of one `echo` job, with the project's own profile, so that only the jobs differ."""
    folder.mkdir()
    (folder / "Snakefile").write_text(BARE_SNAKEFILE)
    shutil.copytree(PROJECT / "profiles", folder / "profiles")
    return folder


def lay_out_project(folder: Path, *, only: str | None) -> Path:
    """Copy what a fresh clone holds, but nothing published; with `only` a single lesson."""
    folder.mkdir()
    for name in COPIED:
        source = PROJECT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, folder / name)
    for lesson in (folder / "lessons").iterdir():
        if only and lesson.name != only:
            shutil.rmtree(lesson)
    return folder


def count_lessons(only: str | None) -> int:
    """Count the lessons that a round publishes; ends the benchmark when there is none."""
    found = sum(only in (None, recipe.parent.name) for recipe in PROJECT.glob("lessons/*/lesson.yaml"))
    return found or sys.exit(f"lessons/{only or '*'}/lesson.yaml: no such lesson. Name a folder of lessons/.")


def tree(folder: Path) -> list[tuple[str, int, int]]:
    """List path, size and time of change of every file, to see whether anything was written."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]


def measure(scratch: Path, *, only: str | None) -> Round:
    """Measure one round in fresh folders below `scratch`."""
    bare = lay_out_bare(scratch / "bare")
    project = lay_out_project(scratch / "project", only=only)
    first = seconds(SNAKEMAKE, bare)
    torch = seconds((sys.executable, "-c", "import torch"), bare)
    cold = seconds(SNAKEMAKE, project)
    published = tree(project / "results")
    if not any(path.endswith("index.html") for path, _, _ in published):
        sys.exit(f"publishing wrote no page below {project / 'results'}: the measurement would be of nothing")
    idle = seconds(SNAKEMAKE, project)
    if tree(project / "results") != published:
        sys.exit("a run with nothing to do changed results/: the measurement would be of something else")
    return Round(bare=first, torch=torch, cold=cold, idle=idle, bare_idle=seconds(SNAKEMAKE, bare))


def measure_all(runs: int, *, only: str | None) -> list[Round]:
    """Measure a warm-up round, which fills caches and counts for nothing, and then `runs` rounds."""
    rounds = []
    for _ in range(runs + 1):
        with tempfile.TemporaryDirectory(prefix="bench-publish-") as scratch:
            rounds.append(measure(Path(scratch), only=only))
    return rounds[1:]


def print_report(rounds: Sequence[Round], lessons: int) -> bool:
    """Print the table of medians in seconds and the two ratios; tell whether both aims are met."""
    median = {
        name: statistics.median(getattr(one, name) for one in rounds)
        for name in ("bare", "torch", "floor", "cold", "idle", "bare_idle")
    }
    rows = [
        ("bare Snakemake, one echo job", "bare"),
        ('python -c "import torch"', "torch"),
        ("floor: the sum of these", "floor"),
        (f"cold publish, lessons: {lessons}", "cold"),
        ("publish again: nothing to do", "idle"),
        ("bare Snakemake: nothing to do", "bare_idle"),
    ]
    print(f"{'median of ' + str(len(rounds)):34} {'s':>7}   smallest … largest")
    for label, name in rows:
        values = [getattr(one, name) for one in rounds]
        print(f"{label:34} {median[name]:7.2f}   {min(values):.2f} … {max(values):.2f}")
    ratios = [
        ("cold publish ÷ floor", median["cold"] / median["floor"], COLD_AIM),
        ("nothing to do ÷ bare nothing to do", median["idle"] / median["bare_idle"], IDLE_AIM),
    ]
    for label, ratio, aim in ratios:
        print(f"{label:34} {ratio:7.2f}   aim ≤ {aim}: {'met' if ratio <= aim else 'MISSED'}")
    return all(ratio <= aim for _, ratio, aim in ratios)


def main() -> None:
    """Read the options, measure, print; with --check an aim that is missed is an error."""
    parser = argparse.ArgumentParser(description="Measure how long publishing takes.")
    parser.add_argument("--runs", type=int, default=3, help="measured rounds (default 3)")
    parser.add_argument("--only", metavar="SLUG", help="publish this lesson only (default: all)")
    parser.add_argument("--check", action="store_true", help="exit 1 when an aim is missed")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs: give at least 1")
    lessons = count_lessons(options.only)
    met = print_report(measure_all(options.runs, only=options.only), lessons)
    sys.exit(0 if met or not options.check else 1)


if __name__ == "__main__":
    main()
