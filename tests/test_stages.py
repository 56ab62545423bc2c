"""What Snakemake learns at parse time: the code behind each stage, and which receipts still hold."""

import ast
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from lessonpress import canon, lesson, shipped, stages
from tests import tiny

VERBS = {stage: {"hash": "hashing"}.get(stage, stage) for stage in stages.ROOMS}
PACKAGE = stages.PACKAGE


def named(file: Path) -> set[str]:
    """The rooms that a file names: by import, or as a module to run (`"lessonpress.worker.judge"`)."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.ImportFrom(module="lessonpress", names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(module)) if module.startswith("lessonpress."):
                found.add(module.split(".")[1])
            case ast.Import(names=names):
                found |= {alias.name.split(".")[1] for alias in names if alias.name.startswith("lessonpress.")}
            case ast.Constant(value=str(text)) if re.fullmatch(r"lessonpress(\.\w+)+", text):
                found.add(text.split(".")[1])
    return found - {"__version__"}


def files_of(room: str) -> list[Path]:
    """The Python files of a room, be it one file or a folder."""
    return sorted((PACKAGE / room).rglob("*.py")) if (PACKAGE / room).is_dir() else [PACKAGE / f"{room}.py"]


@cache
def reach(room: str) -> frozenset[str]:
    """A room and every room that it imports, directly or not."""
    seen, waiting = set(), [room]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += [found for file in files_of(one) for found in named(file)]
    return frozenset(seen)


@pytest.mark.parametrize("stage", stages.ROOMS)
def test_a_stages_rooms_are_what_its_verb_imports(stage: str) -> None:
    """A room that is left out would not rerun the stage, one too many reruns it for nothing."""
    rooms = {f"{room}/*" if (PACKAGE / room).is_dir() else room for room in reach(VERBS[stage])}
    if "page/*" in rooms:
        rooms.add("templates/*")
    assert set(stages.ROOMS[stage]) == rooms
    assert len(stages.ROOMS[stage]) == len(rooms)


@pytest.mark.parametrize("stage", stages.ROOMS)
def test_every_file_of_a_stage_is_there(stage: str) -> None:
    """The digest is made of files that exist, scripts and templates included."""
    files = stages.files(stage)
    assert files
    assert all(path.is_file() for path in files)
    assert (PACKAGE / f"{VERBS[stage]}.py") in files


def test_a_change_of_code_moves_the_digest_of_its_stages_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change to pages renders again and executes nothing again."""
    package = tmp_path / "src" / "lessonpress"
    shutil.copytree(PACKAGE, package)
    monkeypatch.setattr(stages, "PACKAGE", package)
    before = {stage: stages.digest(stage) for stage in stages.ROOMS}
    view = package / "page" / "view.py"
    view.write_text(view.read_text() + "# new\n")
    after = {stage: stages.digest(stage) for stage in stages.ROOMS}
    assert {stage for stage in before if before[stage] != after[stage]} == {"render", "publish", "site"}


def test_what_a_person_goes_on_to_edit_is_no_part_of_a_page() -> None:
    """The files that `init` and `new` write are templates too, but nothing is rendered again because of them."""
    folder = shipped.path("templates")
    starters = {path for name in stages.STARTERS for path in (folder / name).rglob("*") if path.is_file()}
    assert starters
    assert not starters & set(stages.files("render"))
    assert folder / "lesson.html.jinja" in stages.files("render")


def test_the_note_of_code_changes_only_with_the_code(tmp_path: Path) -> None:
    """Snakemake compares times: a note that says the same must not be written again."""
    stages.note_code(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "code").iterdir()}
    stages.note_code(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "code").iterdir()} == before
    assert {path.stem for path in before} == set(stages.ROOMS)


@pytest.mark.parametrize("lost", ["nothing", "folder", "event", "page"])
def test_receipts_without_what_they_stand_for_are_dropped(tmp_path: Path, lost: str) -> None:
    """After `rm -rf results` or a git checkout the lesson is published again; otherwise nothing is done."""
    work, results = tmp_path / "work", tmp_path / "results"
    canon.write(work / "a" / "published.json", canon.pretty({"slug": "a", "revision": "r1"}))
    canon.write(work / "site.json", canon.pretty({"pages": ["index.html"]}))
    if lost != "folder":
        (results / "models" / "a" / "r1").mkdir(parents=True)
    event = "r0" if lost == "event" else "r1"
    canon.write(results / "models" / "a" / "revisions.json", canon.pretty({"revisions": [{"revision": event}]}))
    if lost != "page":
        canon.write(results / "index.html", "x")
    stages.drop_stale_receipts(work, results)
    assert (work / "a" / "published.json").exists() == (lost in ("nothing", "page"))
    # Snakemake makes a missing receipt anew only where the target that needs it is missing too.
    assert (work / "site.json").exists() == (lost == "nothing")


def test_snakemake_sees_the_files_that_a_lesson_is_made_of(tmp_path: Path) -> None:
    """What is hashed is what is watched: no more, no less."""
    folder = tiny.write(tmp_path / "echo")
    for name in ("__pycache__/model.pyc", ".git/config", ".hidden", "model.py~", "parts/deep.py", "data.npy"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    watched = [Path(path).relative_to(folder).as_posix() for path in stages.sources(folder)]
    assert sorted(watched) == sorted(lesson.read(folder).files)
    assert stages.lessons(tmp_path) == ["echo"]


def test_parse_time_is_short() -> None:
    """Reading the stages loads neither numpy nor pandas nor a template engine."""
    heavy = {"numpy", "pandas", "jinja2", "torch", "ruamel.yaml"}
    code = f"import sys; import lessonpress.stages; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
