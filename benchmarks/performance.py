"""The table of docs/performance.md: figures, aims, and the machine that gave them."""

import os
import platform
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.watched import Took

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "performance.md"
MARKS = ("<!-- measured: begin -->", "<!-- measured: end -->")


@dataclass(frozen=True)
class Row:
    """A figure, the number derived from it that has an aim, the aim, and the number's unit."""

    name: str
    figure: float
    measure: float
    aim: float
    unit: str

    def met(self) -> bool:
        """Whether the aim is met."""
        return self.measure <= self.aim


def describe_machine() -> str:
    """The facts that seconds depend on, in a sentence."""
    cpu = "unknown processor"
    if os.path.exists("/proc/cpuinfo"):
        names = re.findall(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        cpu = names[0] if names else platform.machine()
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "snakemake", "numpy", "pandas"))
    return (f"{datetime.now(UTC):%Y-%m-%d}, {cpu}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
            f"Python {platform.python_version()}, {packages}; load at the end {os.getloadavg()[0]:.1f}")  # fmt: skip


def format_table(rows: Sequence[Row], figures: Mapping[str, Took], sources: int, cores: int, runs: int) -> str:
    """The figures and their aims as Markdown."""
    kind = "the real lesson" if sources == 1 else f"{sources} real lessons in turn"
    how = f"`--cores {cores}`, {kind}, medians of {runs} where a run is short"
    lines = [f"Measured on {describe_machine()}. {how}.", "",
             "| aim | figure | measured | aim | |", "|---|---:|---:|---:|---|"]  # fmt: skip
    for row in rows:
        mark = "met" if row.met() else "**missed**"
        lines.append(f"| {row.name} | {row.figure:.2f} | {row.measure:.2f} {row.unit} | {row.aim:g} | {mark} |")
    lines += ["", "| everything measured | wall, s | processor, s | memory of all processes, MiB |",
              "|---|---:|---:|---:|"]  # fmt: skip
    for name, took in figures.items():
        memory = f"{took.memory:.0f}" if took.memory else ""
        lines.append(f"| {name} | {took.wall:.2f} | {took.processor:.2f} | {memory} |")
    return "\n".join([*lines, "", describe_sizes()])


def describe_sizes() -> str:
    """How heavy the project's own published pages are."""
    pages = [path.stat().st_size / 1024 for path in PROJECT.glob("results/models/*/*/index.html")]
    whole = [sum(file.stat().st_size for file in path.parent.rglob("*") if file.is_file()) / 1024
             for path in PROJECT.glob("results/models/*/*/manifest.json")]  # fmt: skip
    if not pages:
        return "Nothing is published here, so no page was weighed."
    return (f"A page weighs {statistics.median(pages):.0f} KiB (largest {max(pages):.0f}), a whole revision with its "
            f"bundle {statistics.median(whole):.0f} KiB (largest {max(whole):.0f}); {len(pages)} weighed.")  # fmt: skip


def write_table(text: str) -> None:
    """Put the table between its marks in docs/performance.md."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}", encoding="utf-8")


