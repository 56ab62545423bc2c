"""Files that nobody wrote, through reading and validation and through all verbs: a message or a lesson, never more."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lessonpress.authoring import lint
from lessonpress.build import source_record
from lessonpress.core import canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import reader
from tests import tiers, tiny
from tests.hostile import mutations

pytestmark = pytest.mark.hostile
PROJECT = Path(__file__).resolve().parents[2]
MANY, LINTED, ROUND = 2_000, 400, 100
WHOLE = tiers.amount(8, 50)
SECONDS = 2.0  # for reading one lesson
LESSONS = (tiny.LESSON, *sorted(path.parent for path in (PROJECT / "lessons").glob("*/lesson.yaml")))
# Names of files that are put beside the lesson's own, or that its model file is renamed to.
NAMES = (
    "a b.py", "über.py", "\u202eyp.ledom", "-rf", "x\ny.py", "$(id).py", "model.PY", "con", "torch.py", "json.py",
    "</script>.py", "{{ 7*7 }}.py", "worker.py", "worker", "index.html", "SHA256SUMS", ".hidden", "a~", "x.pyc",
    "ndt\udcff.py", "a/b/c/d.py", "values/x.npy", "lesson.yml", "x" * 250, "'.py", '".py',
)  # fmt: skip


@pytest.mark.parametrize("seed", tiers.some(range(0, MANY, ROUND), 5))
def test_a_mutated_lesson_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    """A hundred mutated lessons: each gives a plan that is strict JSON or a LessonError, and in bounded time."""
    for number in range(seed, seed + ROUND):
        chance = random.Random(number)
        folder = _lesson(tmp_path / str(number), chance, scripts=False)
        start = time.process_time()
        try:
            read = reader.read(folder)
            source = {**source_record.make_source_record(read), "document": reader.document(read)}
        except LessonError as refusal:
            _check_message(refusal)
        except Exception as error:
            error.add_note(f"seed {number}: {(folder / 'lesson.yaml').read_bytes()[:2000]!r}")
            raise
        else:
            again = _strict(canonical_json.compact(source).encode())
            assert reader.reopen(folder, again).recipe.model_dump_json() == read.recipe.model_dump_json()
        assert time.process_time() - start < SECONDS, f"seed {number}"
        shutil.rmtree(folder)


@pytest.mark.parametrize("seed", tiers.some(range(0, LINTED, ROUND), 4))
def test_a_mutated_lesson_is_linted_or_refused(tmp_path: Path, seed: int) -> None:
    """Recipes and Python files that nobody wrote: lint calls them good or tells why not, and runs none of them."""
    for number in range(seed, seed + ROUND):
        folder = _lesson(tmp_path / str(number), random.Random(number), scripts=number % 2 == 0)
        start = time.process_time()
        try:
            assert lint.lint_lesson(Config(lessons=str(folder.parent)), folder.name).endswith(": good")
        except LessonError as refusal:
            _check_message(refusal)
        except Exception as error:
            error.add_note(f"seed {number}")
            raise
        assert time.process_time() - start < SECONDS, f"seed {number}"
        shutil.rmtree(folder)


def test_a_mutated_lesson_ends_well_through_all_verbs(tmp_path: Path) -> None:
    """Mutated lessons through `preview`: exit 0 with a whole folder, or 1 with a message; nothing in between."""
    settings = tmp_path / "config.yaml"
    settings.write_text("limits: {wall_seconds: 20, cpu_seconds: 20}\n", encoding="utf-8")
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(lambda number: _previewed(tmp_path, settings, number), range(WHOLE)))
    assert [end for end in ends if end] == []


def _previewed(tmp_path: Path, settings: Path, number: int) -> str:
    """What is wrong with how the preview of one mutated lesson ended; empty when nothing is."""
    chance = random.Random(number + 1_000_000)
    folder = _accepted(tmp_path / str(number), chance)
    out, scratch = tmp_path / f"out-{number}", tmp_path / f"scratch-{number}"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "lessonpress", "preview", str(folder), "--out", str(out), "--config", str(settings)],
        env={**os.environ, "PYTHONPATH": str(PROJECT / "src"), "TMPDIR": str(scratch)}, cwd=tmp_path,
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    faults = []
    if done.returncode not in (0, 1):
        faults.append(f"exit code {done.returncode}")
    if b'File "' + str(PROJECT / "src").encode() in done.stderr:
        faults.append("a traceback of ours")
    if done.returncode and not done.stderr.strip():
        faults.append("no message")
    if out.exists() and not _is_whole(out):
        faults.append(f"half a folder: {sorted(path.name for path in out.iterdir())}")
    if done.returncode == 0 and not out.exists():
        faults.append("no folder")
    if list(scratch.iterdir()):
        faults.append(f"left behind: {[path.name for path in scratch.iterdir()]}")
    return f"seed {number}: {faults}\n{done.stderr.decode('utf-8', 'replace')[-3000:]}" if faults else ""


def _check_message(refusal: LessonError) -> None:
    """A refusal can be printed and is no flood."""
    assert 0 < len(refusal.message().encode()) < 100_000


def _is_whole(folder: Path) -> bool:
    """Whether every file of a revision is there with its bytes, by its own list."""
    sums = folder / "SHA256SUMS"
    if not sums.is_file() or not (folder / "bundle.zip").is_file():
        return False
    lines = [line.split("  ", 1) for line in sums.read_text(encoding="utf-8").splitlines()]
    listed = {name: folder / name for _, name in lines}
    return all(listed[name].is_file() and canonical_json.digest(listed[name].read_bytes()) == sha
               for sha, name in lines)  # fmt: skip


def _strict(text: bytes) -> Any:
    """JSON without NaN, Infinity and repeated keys."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        listed = dict(pairs)
        assert len(listed) == len(pairs)
        return listed

    def never(word: str) -> None:
        raise AssertionError(word)

    return json.loads(text, parse_constant=never, object_pairs_hook=once)


def _lesson(folder: Path, chance: random.Random, *, scripts: bool) -> Path:
    """A copy of a good lesson with its recipe mutated, or its Python files too, or with files of odd names beside."""
    origin = chance.choices(LESSONS, [3] + [1] * (len(LESSONS) - 1))[0]
    target = folder / origin.name
    shutil.copytree(origin, target, ignore=shutil.ignore_patterns("__pycache__"))
    recipe = target / "lesson.yaml"
    file = chance.choice([recipe, *sorted(target.glob("*.py"))]) if scripts else recipe
    change = mutations.mutated if file == recipe else mutations.script
    file.write_bytes(change(file.read_bytes(), chance))
    if chance.random() < 0.1:
        _odd_file(target, chance)
    return target


def _odd_file(folder: Path, chance: random.Random) -> None:
    """One more file, or another name for the model's."""
    path = folder / chance.choice(NAMES)
    path.parent.mkdir(parents=True, exist_ok=True)
    if chance.random() < 0.3:
        (folder / "model.py").rename(path)
    else:
        path.write_bytes(chance.choice((b"", b"x = 1\n", b"\xff\xfe", b"\0" * 10)))


def _accepted(folder: Path, chance: random.Random) -> Path:
    """A mutated lesson that reading accepts, so that what comes after it is tried as well."""
    while True:
        listed = _lesson(folder, chance, scripts=True)
        try:
            source_record.make_source_record(reader.read(listed))
            return listed
        except LessonError:
            shutil.rmtree(folder)
