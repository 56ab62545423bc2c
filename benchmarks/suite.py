"""Measure publishing from one lesson to a thousand, beside others, and write the table of docs/performance.md.

    ./.venv/bin/python benchmarks/suite.py            everything; about half an hour on two quiet cores
    ./.venv/bin/python benchmarks/suite.py --quick    1 and 20 lessons, without the other programs; two minutes
    ./.venv/bin/python benchmarks/suite.py --before FOLDER    beside another commit's checkout, set up as this one is

Everything happens in temporary folders. A figure is the median of its runs; ratios are made of figures of one
session, whose short rows are measured in turns, so that a machine that slows down slows them all. With --check the exit
code is 1 when an aim is missed.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from benchmarks import generated, parts, peers, performance, saving, watched  # noqa: E402  # the folder that holds this one must be in the path first
from benchmarks.performance import Row  # noqa: E402
from benchmarks.watched import Took  # noqa: E402

BARE = 'rule all:\n    output: "done.txt"\n    shell: "echo done > {output}"\n'
CHAIN = ("hash", "execute", "record", "check", "render", "publish")  # as many jobs as a lesson of ours has
MANY = 'rule all:\n    input: expand("out/{{i}}.publish", i=range({count}))\n' + "".join(
    f'rule {name}:\n    input: "{before}"\n    output: "out/{{{{i}}}}.{name}"\n'
    '    shell: "cp {{input}} {{output}}"\n'
    for name, before in zip(CHAIN, ("in/{{i}}.txt", *(f"out/{{{{i}}}}.{name}" for name in CHAIN)), strict=False)
)
MLP = """\
from torch import nn


class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
"""
BEFORE = ", before"  # how the rows of another commit end
BATCHES = 0.28  # seconds that each further of these lessons took when lessons were produced in batches
SMALL = PROJECT / "tests" / "lessons" / "tiny-affine"
ALIKE = 200  # lessons that are measured in rows without an aim: more of the same say nothing new
FILES = ("Snakefile", "config.yaml", "workflow", "profiles")


@dataclass
class Bench:
    """What a session measures with, and what it has measured."""

    scratch: Path
    sources: Sequence[Path]
    cores: int
    runs: int
    before: Path | None = None  # another commit's checkout, measured in the same turns
    figures: dict[str, Took] = field(default_factory=dict)

    def note(self, name: str, took: Took) -> Took:
        """Keep a figure and print it at once: the whole takes a while."""
        self.figures[name] = took
        memory = f", {took.memory:.0f} MiB" if took.memory else ""
        print(f"{name:44} {took.wall:8.2f} s, {took.processor:8.2f} s of processor{memory}", flush=True)
        return took

    def median(self, name: str, times: int, act: Callable[[], Took]) -> Took:
        """Do something several times, and keep the figure of the median run."""
        return self.note(name, find_median([act() for _ in range(times)]))

    def snakemake(self, folder: Path, *targets: str, memory: bool = False, python: str = sys.executable) -> Took:
        """Run Snakemake as a curator does."""
        command = (python, "-m", "snakemake", "--cores", str(self.cores), *targets)
        return watched.measure_command(command, folder, memory=memory)

    def sides(self) -> dict[str, Path]:
        """What is measured: this checkout, and another commit's where there is one, by the end of its rows' names."""
        return {"": PROJECT, **({BEFORE: self.before} if self.before else {})}

    def make_repository(self, count: int, sources: Sequence[Path] = (), project: Path = PROJECT) -> Path:
        """Make a repository of `count` lessons from `sources` (by default from all), with nothing published."""
        folder = Path(tempfile.mkdtemp(prefix=f"{count}-", dir=self.scratch))
        for name in FILES:
            source = project / name
            shutil.copytree(source, folder / name) if source.is_dir() else shutil.copy(source, folder / name)
        generated.make_lessons(folder / "lessons", count, sources or self.sources)
        return folder


def find_median(runs: Sequence[Took]) -> Took:
    """The run whose wall time is the median."""
    wall = statistics.median_low([run.wall for run in runs])
    return next(run for run in runs if run.wall == wall)


def measure_floors(bench: Bench) -> None:
    """Measure a bare Snakemake run of one job, an import of torch, and one lesson, in turns; keep the median runs."""
    runs_by_name: dict[str, list[Took]] = {}
    for _ in range(bench.runs + 1):
        folder = Path(tempfile.mkdtemp(dir=bench.scratch))
        (folder / "Snakefile").write_text(BARE)
        for name, took in (
            ("bare Snakemake, one echo job", bench.snakemake(folder)),
            ("python -c 'import torch'", watched.measure_command((sys.executable, "-c", "import torch"), folder)),
            ("bare Snakemake, nothing to do", bench.snakemake(folder)),
        ):
            runs_by_name.setdefault(name, []).append(took)
        shutil.rmtree(folder)
        for side, project in bench.sides().items():
            repository, python = bench.make_repository(1, project=project), find_python(project)
            for row in ("1 lesson, cold", "1 lesson, nothing to do"):
                took = bench.snakemake(repository, python=python)
                runs_by_name.setdefault(f"{row}{side}", []).append(took)
            shutil.rmtree(repository)
    for name, runs in runs_by_name.items():
        bench.note(name, find_median(runs[1:]))  # the first turn fills caches


def measure_saves(bench: Bench) -> None:
    """Measure what an author waits for: a picture of a model, and a page after a save. Keep the median runs."""
    folder = Path(tempfile.mkdtemp(dir=bench.scratch))
    for name, runs in saving.measure_saves(folder, bench.sources[0], bench.runs).items():
        bench.note(name, find_median(runs))
    (folder / "model.py").write_text(MLP)
    command = (sys.executable, "-m", "lessonpress", "draw", "model.py:Net", "--input", "input=1x5")
    bench.median("a model drawn", bench.runs, lambda: watched.measure_command(command, folder))


def measure_site(bench: Bench, count: int) -> None:
    """Measure a site of `count` lessons: cold, with nothing to do, after each kind of edit, verified."""
    folders = {side: bench.make_repository(count, project=project) for side, project in bench.sides().items()}
    for side, project in bench.sides().items():
        took = bench.snakemake(folders[side], memory=True, python=find_python(project))
        bench.note(f"{count} lessons, cold{side}", took)
        pages = sorted(folders[side].glob("results/models/*/*/index.html"))
        assert len(pages) == count, f"{len(pages)} pages of {count}"
    measure_in_turns(bench, f"{count} lessons, nothing to do", folders)
    for name, change in (("words", generated.edit_title), ("model", generated.edit_model)):
        measure_in_turns(bench, f"{count} lessons, one lesson's {name} edited", folders,
              lambda folder, change=change: change(sorted((folder / "lessons").iterdir())[count // 2]))  # fmt: skip
    folder = folders[""]
    if count <= ALIKE:
        bench.note(f"{count} lessons, verified", bench.snakemake(folder, "verify", memory=True))
        bench.note(f"{count} lessons, all rendered again", bench.snakemake(folder, "-R", "render"))
    for folder in folders.values():
        shutil.rmtree(folder)


def measure_in_turns(
    bench: Bench, name: str, folders: Mapping[str, Path], change: Callable[[Path], None] = lambda folder: None
) -> None:  # fmt: skip
    """Change something and run Snakemake, several times, each side in turn; keep the median runs."""
    runs_by_side: dict[str, list[Took]] = {side: [] for side in folders}
    for _ in range(bench.runs):
        for side, project in bench.sides().items():
            change(folders[side])
            runs_by_side[side].append(bench.snakemake(folders[side], python=find_python(project)))
    for side, runs in runs_by_side.items():
        bench.note(f"{name}{side}", find_median(runs))


def find_python(project: Path) -> str:
    """The Python of a checkout's own environment."""
    own = project / ".venv" / "bin" / "python"
    return sys.executable if project == PROJECT else str(own)


def measure_variations(bench: Bench, count: int) -> None:
    """Measure a site of variations of the lesson that "1 lesson" measures: each further lesson costs just as much."""
    folder = bench.make_repository(count, bench.sources[:1])
    bench.note(f"{count} lessons of one kind, cold", bench.snakemake(folder))
    shutil.rmtree(folder)


def measure_bare(bench: Bench, count: int) -> None:
    """Measure Snakemake itself with as many jobs for each lesson as we have, each a `cp`: to do, then done.

    Done by Snakemake and not made beside it: with nothing to do it reads what it noted of each job.
    """
    folder = _make_bare(bench, MANY.format(count=count))
    (folder / "in").mkdir()
    for number in range(count):
        (folder / "in" / f"{number}.txt").write_text("")
    _measure_done(bench, f"bare Snakemake, {len(CHAIN) * count} jobs", folder)


def _make_bare(bench: Bench, rules: str) -> Path:
    """A folder with a workflow of its own, and Snakemake's settings as we have them."""
    folder = Path(tempfile.mkdtemp(dir=bench.scratch))
    (folder / "Snakefile").write_text(rules)
    shutil.copytree(PROJECT / "profiles", folder / "profiles")
    return folder


def _measure_done(bench: Bench, row: str, folder: Path) -> None:
    bench.note(row, bench.snakemake(folder))
    bench.median(f"{row}, nothing to do", bench.runs, lambda: bench.snakemake(folder))
    shutil.rmtree(folder)


def measure_idle(bench: Bench, count: int) -> None:
    """Measure a site of small lessons where nothing is to be done, beside Snakemake itself with as many jobs.

    With nothing to do a lesson costs the digests of its files and six nodes of the graph, whatever it computes.
    """
    folder = bench.make_repository(count, [SMALL])
    bench.note(f"{count} small lessons, cold", bench.snakemake(folder))
    assert len(list(folder.glob("results/models/*/*/index.html"))) == count
    bench.median(f"{count} small lessons, nothing to do", bench.runs, lambda: bench.snakemake(folder))
    shutil.rmtree(folder)
    measure_bare(bench, count)


def bare_row(count: int) -> str:
    """The name of a row of `measure_bare`."""
    return f"bare Snakemake, {len(CHAIN) * count} jobs, nothing to do"


def list_aims(bench: Bench, sizes: Sequence[int]) -> list[Row]:
    """The figures beside their aims."""
    walls = {name: took.wall for name, took in bench.figures.items()}
    floor = walls["bare Snakemake, one echo job"] + walls["python -c 'import torch'"]
    one = walls["1 lesson, cold"]
    out = [Row("one lesson, cold", one, one / floor, 1.15, "× (bare Snakemake run + import torch)")]
    for size in (size for size in sizes if size > 1):
        further = (walls[f"{size} lessons, cold"] - one) / (size - 1)
        out.append(_compare(bench, f"each further of {size} lessons", further, BATCHES, 1.15, lambda size=size: (
            walls[f"{size} lessons, cold{BEFORE}"] - walls[f"1 lesson, cold{BEFORE}"]) / (size - 1)))  # fmt: skip
        for name in ("words", "model"):
            row = f"{size} lessons, one lesson's {name} edited"
            if bench.before:
                out.append(_compare(bench, row, walls[row], 0, 1.1, lambda row=row: walls[f"{row}{BEFORE}"]))
        memory = bench.figures[f"{size} lessons, cold"].memory
        out.append(Row(f"memory of all processes, {size} lessons", memory, memory, 1024 + 512 * bench.cores, "MiB"))
    for name, aim in (("words", 0.5), ("model", 1.2)):
        saved = walls[f"{name} saved, until the page shows it"]
        out.append(Row(f"{name} saved, until the page shows it", saved, saved, aim, "s"))
    drawn = walls["a model drawn"]
    out.append(Row("a model drawn", drawn, drawn - walls["python -c 'import torch'"], 2, "s beside an import of torch"))
    for name, idle in walls.items():
        count, _, kind = name.removesuffix(", nothing to do").partition(" ")
        if name.endswith(", nothing to do") and kind.endswith("lessons") and (bare := walls.get(bare_row(int(count)))):
            unit = f"× bare Snakemake, {len(CHAIN) * int(count)} jobs"
            out.append(Row(f"nothing to do, {count} {kind}", idle, idle / bare, 1.4, unit))
    return out


def _compare(bench: Bench, name: str, figure: float, then: float, aim: float, before: Callable[[], float]) -> Row:
    """A figure as a ratio to the other commit's of the same session, or to what that one once took."""
    if bench.before:
        return Row(name, figure, figure / before(), aim, "× the commit before")
    return Row(name, figure, figure / then, aim, f"× {then:g} s")


def main() -> None:
    """Read the options, measure, write the table."""
    parser = argparse.ArgumentParser(description="Measure publishing, from one lesson to a thousand.")
    parser.add_argument("--quick", action="store_true", help="1 and 20 lessons, without the other programs")
    parser.add_argument("--sizes", type=int, nargs="+", help="how many lessons (default 1 20 200 1000)")
    parser.add_argument("--runs", type=int, default=3, help="runs of the short rows (default 3)")
    parser.add_argument("--cores", type=int, default=2, help="for Snakemake (default 2)")
    parser.add_argument("--only", metavar="SLUG", help="make all lessons from this one (default: from all in turn)")
    parser.add_argument("--idle", type=int, metavar="N", help="also N small lessons where nothing is to be done")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="another commit's checkout with its .venv")
    parser.add_argument("--no-peers", action="store_true", help="leave out the other programs")
    parser.add_argument("--no-write", action="store_true", help="print only; docs/performance.md stays")
    parser.add_argument("--check", action="store_true", help="exit 1 when an aim is missed")
    options = parser.parse_args()
    sizes = sorted({1, *(options.sizes or ((1, 20) if options.quick else (1, 20, 200, 1000)))})
    # Both read the earlier commit's lessons; it would not know what recipes have learnt since.
    sources = generated.list_originals(options.only, options.before or PROJECT)
    if not sources:
        parser.error(f"lessons/{options.only or '*'}: no such lesson")
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        before = options.before.resolve() if options.before else None
        bench = Bench(Path(scratch), sources, options.cores, options.runs, before)
        measure_floors(bench)
        measure_saves(bench)
        if not (options.quick or options.no_peers):
            for name, took in peers.measure_peers(Path(scratch), sources, options.cores):
                bench.note(name, took)
        for size in sizes[1:]:
            if size <= ALIKE:
                measure_variations(bench, size)
            measure_bare(bench, size)
            measure_site(bench, size)
        if options.idle:
            measure_idle(bench, options.idle)
        took = parts.measure_parts(Path(scratch), sources)
    aims = list_aims(bench, sizes)
    table = performance.format_table(aims, bench.figures, len(sources), options.cores, options.runs)
    table += f"\n\n{parts.format_table(took)}"
    print(f"\n{table}")
    if not (options.quick or options.no_write):
        performance.write_table(table)
    sys.exit(1 if options.check and not all(row.met() for row in aims) else 0)


if __name__ == "__main__":
    main()
