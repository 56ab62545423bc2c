"""`python -m tests.workflow.determinism`: every lesson under every combination of surroundings gives the same bytes.

The tests try a selection in which every value occurs, at night every pair; this program tries the whole product.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
# What a machine, a user or a CI may say around us. None of it is the worker's business, and none may show.
FACTORS: Mapping[str, tuple[str, ...]] = {
    "ATEN_CPU_CAPABILITY": ("avx512", "avx2", "default"), "OMP_NUM_THREADS": ("1", "2"),
    "PYTHONHASHSEED": ("0", "4321"), "LC_ALL": ("C.UTF-8", "POSIX"), "TZ": ("UTC", "Pacific/Chatham"),
    "folder": ("plain", "with a spâce"),
}  # fmt: skip

Surroundings = tuple[str, ...]  # one value of each factor, in order


def product() -> list[Surroundings]:
    """Every combination."""
    return list(itertools.product(*FACTORS.values()))


def pairwise() -> list[Surroundings]:
    """A few combinations in which every pair of values of two factors occurs: greedy, always the same."""
    left = set().union(*(_pairs(one) for one in product()))
    chosen = []
    while left:
        best = max(product(), key=lambda one: len(_pairs(one) & left))
        chosen.append(best)
        left -= _pairs(best)
    return chosen


def each_value() -> list[Surroundings]:
    """As few combinations as can be in which every value of every factor occurs."""
    longest = max(map(len, FACTORS.values()))
    return [tuple(values[at % len(values)] for values in FACTORS.values()) for at in range(longest)]


def _pairs(one: Surroundings) -> set[tuple[tuple[int, str], tuple[int, str]]]:
    return set(itertools.combinations(enumerate(one), 2))


def lessons() -> list[Path]:
    """The lessons of the repository and of its tests."""
    folders = (PROJECT / "lessons", PROJECT / "tests" / "lessons")
    return [path.parent for folder in folders for path in sorted(folder.glob("*/lesson.yaml"))]


def digest(lesson: Path, surroundings: Surroundings) -> str:
    """What a lesson becomes under some surroundings: the digest of identity.json and of every file that it lists.

    The page is listed without what is volatile on it, so that its own bytes stay out.
    """
    said = dict(zip(FACTORS, surroundings, strict=True))
    with tempfile.TemporaryDirectory(prefix="determinism-") as scratch:
        folder = Path(scratch) / said.pop("folder")
        shutil.copytree(lesson, folder / lesson.name, ignore=shutil.ignore_patterns("__pycache__"))
        preview = ("preview", str(folder / lesson.name), "--out", str(folder / "out"))
        command = [sys.executable, "-m", "lessonpress", *preview]
        around = {**os.environ, **said}
        done = subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{lesson.name} under {surroundings}: {done.stderr}")
        identity = (folder / "out" / "identity.json").read_bytes()
        whole = hashlib.sha256(identity)
        for name in sorted(set(json.loads(identity)["files"]) - {"index.html"}):
            whole.update(name.encode() + b"\0" + (folder / "out" / name).read_bytes() + b"\0")
        return whole.hexdigest()


def different(lesson: Path, tried: Iterable[Surroundings]) -> list[Surroundings]:
    """The surroundings under which a lesson becomes something else than under the first."""
    first, *rest = tried
    aim = digest(lesson, first)
    return [one for one in rest if digest(lesson, one) != aim]


def main() -> None:
    """Try the whole product on every lesson; say which surroundings showed."""
    failed = 0
    for lesson in lessons():
        shown = different(lesson, product())
        failed += len(shown)
        words = f"{lesson.name}: {len(product())} surroundings, {len(shown)} with other bytes"
        print(words, *shown, sep="\n  ", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
