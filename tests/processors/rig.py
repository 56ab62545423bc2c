"""Runs the probe and whole lessons on this machine and under emulated processors, and says what differs.

The emulator is qemu's user mode: it runs one program with another processor's instructions and answers to `cpuid`, so
that every library chooses its code as it would there. It cannot emulate AVX-512; the machine itself may have that.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lessonpress.build import source_record
from lessonpress.core import canonical_json
from lessonpress.lesson import reader
from lessonpress.sandbox import SETTINGS

PROJECT = Path(__file__).resolve().parents[2]
HERE = "this machine"
# x86-64 from the oldest on which numpy starts, of three makers: without AVX, with AVX, with FMA and AVX2.
MODELS: Mapping[str, str] = {
    "Nehalem": "Intel 2008, SSE4.2",
    "SandyBridge": "Intel 2011, AVX",
    "Haswell": "Intel 2013, AVX2, FMA",
    "Skylake-Server": "Intel 2017, AVX2, FMA, its AVX-512 off",
    "Opteron_G5": "AMD 2012, AVX, FMA, no AVX2",
    "EPYC": "AMD 2017, AVX2, FMA",
    "EPYC-Milan": "AMD 2021, AVX2, FMA",
    "Dhyana": "Hygon 2018, AVX2, FMA",
}
# What a processor may decide: matrix decompositions. Their libraries choose their own block sizes and kernels.
EXCUSED = ("LAPACK",)
DIGITS = {"float32": 1e-5, "complex64": 1e-5}  # how far another architecture may be away; float64 1e-12

Answers = dict[str, np.ndarray[Any, Any]]


class NoEmulator(Exception):
    """The emulator, or what it should run, is not on this machine; the message says what to install."""


@dataclass(frozen=True)
class Difference:
    """One array that a processor computes otherwise: how many numbers, by how much of the largest, and by how much."""

    group: str
    name: str
    cells: int
    size: int
    relative: float
    absolute: float = np.inf
    dtype: str = ""


def emulator(architecture: str = "x86_64") -> str:
    """The path of qemu's user mode. Raises NoEmulator."""
    for name in (f"qemu-{architecture}-static", f"qemu-{architecture}"):
        if path := shutil.which(name):
            return path
    raise NoEmulator(f"qemu-{architecture} is not there; Debian's package is qemu-user-static")


def started(model: str) -> list[str]:
    """How this interpreter is started as on a processor."""
    return [sys.executable] if model == HERE else [emulator(), "-cpu", model, sys.executable]


def environment(**more: str) -> dict[str, str]:
    """The worker's environment, in which the tests are importable too."""
    paths = os.pathsep.join((str(PROJECT / "src"), str(PROJECT)))
    return {"PATH": "", "HOME": "/nonexistent", **SETTINGS, "PYTHONPATH": paths, **more}


def ask(command: Sequence[str], request: Mapping[str, Any], scratch: Path, **more: str) -> Answers:
    """What the probe computes when `command` starts Python. Raises RuntimeError with what it printed when it fails."""
    question = scratch / "request.json"
    question.write_text(canonical_json.dumps(request), encoding="utf-8")
    return _answered([*command, "-P", "-B", "-m", "tests.processors.probe", str(question)], scratch, more)


def ask_judge(command: Sequence[str], scratch: Path, **more: str) -> Answers:
    """What checks compute with, by a process without torch. Raises RuntimeError with what it printed when it fails."""
    return _answered([*command, "-P", "-B", "-m", "tests.processors.judged"], scratch, more)


def _answered(command: list[str], scratch: Path, more: Mapping[str, str]) -> Answers:
    """The file that a command writes, whose last argument names it."""
    answer = scratch / "answer.npz"
    answer.unlink(missing_ok=True)
    done = subprocess.run(
        [*command, str(answer)],
        cwd=scratch,
        env=environment(**more),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not answer.exists():
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr[-2000:]}")
    with np.load(answer) as found:
        return {name: found[name] for name in found.files}


def lesson_request(folder: Path) -> dict[str, Any]:
    """What the probe needs to run a lesson: its folder, its plan, and its file of checks and metrics."""
    read = reader.read(folder)
    return {"folder": str(folder), "plan": source_record.make_source_record(read)["plan"]}


def lessons() -> dict[str, Path]:
    """The shipped lessons by slug."""
    return {path.parent.name: path.parent for path in sorted((PROJECT / "lessons").glob("*/lesson.yaml"))}


def compare(ours: Answers, theirs: Answers) -> list[Difference]:
    """Every array that is not the same bytes, in the order of names; what one side lacks is all different."""
    found = []
    for name in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(name), theirs.get(name)
        if name == "facts" or (one is not None and other is not None and _same(one, other)):
            continue
        group, _, rest = name.partition("/")
        if one is None or other is None or one.shape != other.shape or one.dtype != other.dtype:
            found.append(Difference(group, rest, -1, -1, np.inf))
            continue
        cells = (one != other) & ~((one != one) & (other != other))
        far = _distances(one, other, cells)
        found.append(Difference(group, rest, int(cells.sum()), one.size, *far, str(one.dtype)))
    return found


def _same(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def _distances(
    one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], cells: np.ndarray[Any, Any]
) -> tuple[float, float]:
    """The largest difference, as a share of the array's largest finite number, and as it is."""
    if not cells.any():
        return 0.0, 0.0  # only the bits of a NaN, or the sign of a zero
    if one.dtype.kind not in "fc":
        return np.inf, np.inf
    with np.errstate(all="ignore"):
        wide = np.complex128 if one.dtype.kind == "c" else np.float64
        gap = np.abs(one[cells].astype(wide) - other[cells].astype(wide))
        size = np.abs(one.astype(wide))
        largest = size[np.isfinite(size)].max(initial=0.0)
        most = float(np.nanmax(gap, initial=0.0))
        return most / largest if largest else np.inf, most


def is_tolerated(difference: Difference) -> bool:
    """Whether a difference is within what another architecture may show: of the largest number, or of 1 if less.

    A digest has no distance; the numbers that it is of are compared too.
    """
    allowed = DIGITS.get(difference.dtype, 1e-12)
    return "/digest" in difference.name or min(difference.relative, difference.absolute) <= allowed


def operations(differences: Iterable[Difference]) -> dict[str, list[str]]:
    """The names of what differs by group, without numbers of cases and dtypes."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for one in differences:
        name = one.name.rpartition("/")[0].partition("#")[0]
        found[one.group][name] = max(min(one.relative, one.absolute), found[one.group].get(name, 0.0))
    return {group: [f"{name} ({size:.0e})" for name, size in names.items()] for group, names in found.items()}


def identity(model: str, lesson: Path, scratch: Path) -> str:
    """identity.json of a lesson that went the whole way (run, checks, metrics, pages) on a processor.

    Command, worker and judge are started anew by wrappers, because what an emulated process starts is not emulated. The
    worker is not confined there: the emulator knows neither Landlock nor seccomp.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "config.yaml").write_text(
        "isolation: {minimum: posix-basic, bubblewrap: never}\nlimits: {wall_seconds: 1800, cpu_seconds: 1800}\n",
        encoding="utf-8",
    )
    wrapper = scratch / "python"
    words = " ".join(
        f"'{word}'" for word in (*started(model), "-s", "-P", "-B", str(PROJECT / "tests/processors/inside.py"))
    )
    ours = f"export PYTHONPATH='{PROJECT / 'src'}'"
    wrapper.write_text(f'#!/bin/sh\n{ours}\nexec {words} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    command = [str(wrapper), "preview", str(lesson), "--out", str(scratch / "out")]
    done = subprocess.run(
        command, cwd=scratch, env={**os.environ, "EMULATED": str(wrapper)}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{lesson.name} on {model}: {done.stderr[-2000:]}")
    return (scratch / "out" / "identity.json").read_text(encoding="utf-8")


def published(slug: str) -> str:
    """identity.json of a lesson's published revision."""
    history = json.loads((PROJECT / "results" / "models" / slug / "revisions.json").read_text(encoding="utf-8"))
    folder = PROJECT / "results" / "models" / slug / history["current"]
    return (folder / "identity.json").read_text(encoding="utf-8")
