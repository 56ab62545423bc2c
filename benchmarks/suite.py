"""Measure publishing from one lesson to a thousand, beside others, and write the table of docs/performance.md.

    ./.venv/bin/python benchmarks/suite.py            everything; about half an hour on two quiet cores
    ./.venv/bin/python benchmarks/suite.py --quick    1 and 20 lessons, without the other programs; two minutes

Everything happens in temporary folders. A figure is the median of its runs; ratios are made of figures of one
session, whose short rows are measured in turns, so that a machine that slows down slows them all. With --check the exit
code is 1 when an aim is missed.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from benchmarks import generated, parts, peers, performance, watched  # noqa: E402  # found beside this file's folder
from benchmarks.performance import Row  # noqa: E402
from benchmarks.watched import Took  # noqa: E402

SNAKEMAKE = (sys.executable, "-m", "snakemake")
BARE = 'rule all:\n    output: "done.txt"\n    shell: "echo done > {output}"\n'
MANY = """\
rule all:
    input: "all.txt"
rule gather:
    input: expand("out/{i}.txt", i=range(%d))
    output: "all.txt"
    shell: "touch {output}"
rule copy:
    input: "in/{i}.txt"
    output: "out/{i}.txt"
    shell: "cp {input} {output}"
"""
ALIKE = 200  # lessons of one kind that are measured at most: more of the same say nothing new
HOUSE = ("Snakefile", "config.yaml", "workflow", "profiles")


@dataclass
class Bench:
    """What a session measures with, and what it has found."""

    scratch: Path
    sources: Sequence[Path]
    cores: int
    runs: int
    found: dict[str, Took] = field(default_factory=dict)

    def note(self, name: str, took: Took) -> Took:
        """Keep a figure and say it at once: the whole takes a while."""
        self.found[name] = took
        memory = f", {took.memory:.0f} MiB" if took.memory else ""
        print(f"{name:44} {took.wall:8.2f} s, {took.processor:8.2f} s of processor{memory}", flush=True)
        return took

    def median(self, name: str, times: int, act: Callable[[], Took]) -> Took:
        """Do something several times, and keep the median run."""
        return self.note(name, middle([act() for _ in range(times)]))

    def snakemake(self, folder: Path, *targets: str, memory: bool = False) -> Took:
        """Run Snakemake as a curator does."""
        command = (*SNAKEMAKE, "--cores", str(self.cores), *targets)
        return watched.run(command, folder, memory=memory)

    def house(self, count: int, sources: Sequence[Path] = ()) -> Path:
        """A repository with so many lessons, made from `sources` (by default from all), and nothing published."""
        folder = Path(tempfile.mkdtemp(prefix=f"{count}-", dir=self.scratch))
        for name in HOUSE:
            source = PROJECT / name
            shutil.copytree(source, folder / name) if source.is_dir() else shutil.copy(source, folder / name)
        generated.make(folder / "lessons", count, sources or self.sources)
        return folder


def middle(runs: Sequence[Took]) -> Took:
    """The run whose wall time is the median."""
    wall = statistics.median_low([run.wall for run in runs])
    return next(run for run in runs if run.wall == wall)


def floors(bench: Bench) -> None:
    """A bare Snakemake run of one job, an import of torch, and one lesson, in turns; each the median of its runs."""
    found: dict[str, list[Took]] = {}
    for _ in range(bench.runs + 1):
        folder = Path(tempfile.mkdtemp(dir=bench.scratch))
        (folder / "Snakefile").write_text(BARE)
        house = bench.house(1)
        for name, took in (
            ("bare Snakemake, one echo job", bench.snakemake(folder)),
            ("python -c 'import torch'", watched.run((sys.executable, "-c", "import torch"), folder)),
            ("1 lesson, cold", bench.snakemake(house)),
            ("1 lesson, nothing to do", bench.snakemake(house)),
            ("bare Snakemake, nothing to do", bench.snakemake(folder)),
        ):
            found.setdefault(name, []).append(took)
        shutil.rmtree(folder)
        shutil.rmtree(house)
    for name, runs in found.items():
        bench.note(name, middle(runs[1:]))  # the first turn fills caches


def site(bench: Bench, count: int) -> None:
    """A site of `count` lessons: cold, at rest, after each kind of edit, verified."""
    folder = bench.house(count)
    lessons = sorted((folder / "lessons").iterdir())
    bench.note(f"{count} lessons, cold", bench.snakemake(folder, memory=True))
    pages = sorted(folder.glob("results/models/*/*/index.html"))
    assert len(pages) == count, f"{len(pages)} pages of {count}"
    bench.median(f"{count} lessons, nothing to do", bench.runs, lambda: bench.snakemake(folder))
    for name, change in (("words", generated.edit), ("model", generated.edit_model)):

        def edited(change: Callable[[Path], None] = change) -> Took:
            change(lessons[count // 2])
            return bench.snakemake(folder)

        bench.median(f"{count} lessons, one lesson's {name} edited", bench.runs, edited)
    bench.note(f"{count} lessons, verified", bench.snakemake(folder, "verify", memory=True))
    bench.note(f"{count} lessons, all rendered again", template_edited(bench, folder))
    shutil.rmtree(folder)


def alike(bench: Bench, count: int) -> None:
    """A site of one lesson's variations, the one that "1 lesson" measures: a lesson more costs just as much."""
    folder = bench.house(count, bench.sources[:1])
    bench.note(f"{count} lessons of one kind, cold", bench.snakemake(folder))
    shutil.rmtree(folder)


def template_edited(bench: Bench, folder: Path) -> Took:
    """Publish again as after a change of a template: the keys of all renderings are forgotten, nothing else."""
    for record in (folder / "work").glob("*/made.json"):
        told = performance.read(record)
        told["keys"].pop("render")
        record.write_text(performance.written({**told, "code": "another"}))
    return bench.snakemake(folder)


def bare_graph(bench: Bench, count: int) -> None:
    """Snakemake itself with a job for each lesson and nothing to do."""
    folder = Path(tempfile.mkdtemp(dir=bench.scratch))
    (folder / "Snakefile").write_text(MANY % count)
    for name in ("in", "out"):
        (folder / name).mkdir()
        for number in range(count):
            (folder / name / f"{number}.txt").write_text("")
    (folder / "all.txt").write_text("")
    shutil.copytree(PROJECT / "profiles", folder / "profiles")
    bench.median(f"bare Snakemake, {count} jobs, nothing to do", bench.runs, lambda: bench.snakemake(folder))
    shutil.rmtree(folder)


def rows(bench: Bench, sizes: Sequence[int]) -> list[Row]:
    """The figures beside their aims."""
    found = {name: took.wall for name, took in bench.found.items()}
    floor = found["bare Snakemake, one echo job"] + found["python -c 'import torch'"]
    one = found["1 lesson, cold"]
    out = [Row("one lesson, cold", one, one / floor, 1.35, "× (bare Snakemake run + import torch)")]
    for size in (size for size in sizes if size > 1):
        for kind in ("", " of one kind") if size <= ALIKE else ("",):
            further = (found[f"{size} lessons{kind}, cold"] - one) / (size - 1)
            out.append(Row(f"each further of {size} lessons{kind}", further, further, 0.20, "s"))
    largest = max(sizes)
    if largest > 1:
        idle, bare = found[f"{largest} lessons, nothing to do"], found[f"bare Snakemake, {largest} jobs, nothing to do"]
        unit = f"× bare Snakemake, {largest} jobs"
        out.append(Row(f"nothing to do, {largest} lessons", idle, idle / bare, 1.2, unit))
        for name in ("words", "model"):
            edited = found[f"{largest} lessons, one lesson's {name} edited"]
            out.append(Row(f"one lesson's {name} edited, of {largest}", edited, edited - idle, 3.5, "s above that"))
        memory = bench.found[f"{largest} lessons, cold"].memory
        out.append(Row(f"memory of all processes, {largest} lessons", memory, memory, 1024 + 512 * bench.cores, "MiB"))
    return out


def main() -> None:
    """Read the options, measure, write the table."""
    parser = argparse.ArgumentParser(description="Measure publishing, from one lesson to a thousand.")
    parser.add_argument("--quick", action="store_true", help="1 and 20 lessons, without the other programs")
    parser.add_argument("--sizes", type=int, nargs="+", help="how many lessons (default 1 20 200 1000)")
    parser.add_argument("--runs", type=int, default=3, help="runs of the short rows (default 3)")
    parser.add_argument("--cores", type=int, default=2, help="for Snakemake (default 2)")
    parser.add_argument("--only", metavar="SLUG", help="make all lessons from this one (default: from all in turn)")
    parser.add_argument("--no-peers", action="store_true", help="leave out the other programs")
    parser.add_argument("--no-write", action="store_true", help="print only; docs/performance.md stays")
    parser.add_argument("--check", action="store_true", help="exit 1 when an aim is missed")
    options = parser.parse_args()
    sizes = sorted({1, *(options.sizes or ((1, 20) if options.quick else (1, 20, 200, 1000)))})
    sources = generated.originals(options.only)
    if not sources:
        parser.error(f"lessons/{options.only or '*'}: no such lesson")
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        bench = Bench(Path(scratch), sources, options.cores, options.runs)
        floors(bench)
        if not (options.quick or options.no_peers):
            for name, took in peers.measured(Path(scratch), sources, options.cores):
                bench.note(name, took)
        for size in sizes[1:]:
            if size <= ALIKE:
                alike(bench, size)
            site(bench, size)
        if len(sizes) > 1:
            bare_graph(bench, sizes[-1])
        took = parts.measured(Path(scratch), sources)
    told = rows(bench, sizes)
    table = performance.table(told, bench.found, len(sources), options.cores, options.runs)
    table += f"\n\n{parts.table(took)}"
    print(f"\n{table}")
    if not (options.quick or options.no_write):
        performance.write(table)
    sys.exit(1 if options.check and not all(row.met() for row in told) else 0)


if __name__ == "__main__":
    main()
