"""What Snakemake learns at parse time: the code behind each stage, and which receipts still hold."""

import ast
import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from lessonpress import canon, hashing, lesson, shipped, stages
from lessonpress.settings import Config
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
    found = []
    for change in ("", "# new\n"):
        package = tmp_path / str(len(found)) / "src" / "lessonpress"
        shutil.copytree(PACKAGE, package)
        with (package / "page" / "view.py").open("a", encoding="utf-8") as view:
            view.write(change)
        monkeypatch.setattr(stages, "PACKAGE", package)
        found.append(stages.digests())
    before, after = found
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
    assert {path.stem for path in before} == {*stages.ROOMS, "all"}


@pytest.fixture
def settled(tmp_path: Path) -> Config:
    """Give a repository whose one lesson is produced and published, as far as its records say."""
    config = Config(lessons=str(tmp_path / "lessons"), results=str(tmp_path / "results"), work=str(tmp_path / "work"))
    tiny.write(tmp_path / "lessons" / "echo")
    hashing.hash_lesson(config, "echo")
    room, folder = config.room("echo"), config.published("echo")
    seen = stages.seen(config.lesson("echo"))
    canon.write(room / "made.json", canon.pretty({"seen": seen, "code": stages.code()}))
    canon.write(room / "published.json", canon.pretty({"slug": "echo", "revision": "r1"}))
    (folder / "r1").mkdir(parents=True)
    canon.write(folder / "revisions.json", canon.pretty({"revisions": [{"revision": "r1"}]}))
    return config


def edit(path: Path) -> None:
    """Change one byte of a file without changing its size, and set its time back: only the content is another."""
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"E", b"F", 1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns - 10**9))


def told(config: Config, history: dict[str, object]) -> None:
    """Let the lesson's history tell this, as a rollback by git or a pin would."""
    canon.write(config.published("echo") / "revisions.json", canon.pretty(history))


CHANGES: dict[str, tuple[Callable[[Config], object], bool]] = {
    "nothing": (lambda config: None, False),
    "a touch": (lambda config: (config.lesson("echo") / "model.py").touch(), False),
    "an older file": (lambda config: edit(config.lesson("echo") / "model.py"), True),
    "a new file": (lambda config: (config.lesson("echo") / "data.txt").write_text("x"), True),
    "a lost file": (lambda config: (config.lesson("echo") / "model.py").unlink(), True),
    "no record": (lambda config: (config.room("echo") / "made.json").unlink(), True),
    "half a record": (lambda config: (config.room("echo") / "made.json").write_text('{"seen": ['), True),
    "no receipt": (lambda config: (config.room("echo") / "published.json").unlink(), True),
    "produced, not published": (lambda config: (config.room("echo") / "made.json").touch(), True),
    "no revision": (lambda config: (config.published("echo") / "r1").rmdir(), True),
    "no event": (lambda config: canon.write(config.published("echo") / "revisions.json", "{}"), True),
    "a later event": (lambda config: told(config, {"revisions": [{"revision": "r1"}, {"revision": "r2"}]}), True),
    "a pinned revision": (
        lambda config: told(config, {"current": "r0", "revisions": [{"revision": "r0"}, {"revision": "r1"}]}), False
    ),
    "no results": (lambda config: shutil.rmtree(config.results), True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_lesson_is_due_when_it_is_not_what_is_published(settled: Config, change: str) -> None:
    """Whatever a checkout, an editor or `rm` did to source, records or site shows; a mere touch does not count."""
    make, is_due = CHANGES[change]
    make(settled)
    assert stages.due(["echo"], settled) == (["echo"] if is_due else [])


def test_a_touched_lesson_is_looked_into_once(settled: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new times are noted, so that the next run need not read the files again."""
    (settled.lesson("echo") / "model.py").touch()
    noted = settled.room("echo") / "made.json"
    before = noted.read_bytes()
    assert stages.due(["echo"], settled, dry=True) == []
    assert noted.read_bytes() == before
    assert stages.due(["echo"], settled) == []
    monkeypatch.setattr(stages, "_only_touched", lambda *given: pytest.fail("it was looked into again"))
    assert stages.due(["echo"], settled) == []


def test_other_code_makes_every_lesson_due(settled: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upgrade of lessonpress produces again, as far as the arrows' own keys say."""
    monkeypatch.setattr(stages, "code", lambda: "other")
    assert stages.due(["echo"], settled) == ["echo"]


@pytest.mark.parametrize("stale", ["", "page", "edit", "title", "older receipt", "publication", "history", "lesson"])
def test_the_pages_receipt_goes_with_what_it_stands_for(tmp_path: Path, stale: str) -> None:
    """Pages are made again when one is gone or edited, when the site is called otherwise, after a publication."""
    work, results = tmp_path / "work", tmp_path / "results"
    canon.write(work / "a" / "published.json", "{}")
    page = results / "index.html"
    canon.write(page, "x")
    told = results / "models" / "a" / "revisions.json"
    canon.write(told, "{}")
    stamps = {"index.html": canon.stamp(page), "models/a/revisions.json": canon.stamp(told)}
    pages = ["index.html"] if stale == "older receipt" else stamps
    canon.write(work / "site.json", canon.pretty({"about": {"title": "One"}, "pages": pages}))
    if stale == "page":
        page.unlink()
    if stale == "edit":
        canon.write(page, "junk")
    if stale == "history":  # git brought an older one
        canon.write(told, "{ }")
    if stale == "lesson":  # somebody put a published one there
        canon.write(results / "models" / "b" / "revisions.json", "{}")
    if stale == "publication":
        later = (work / "site.json").stat().st_mtime_ns + 1
        os.utime(work / "a" / "published.json", ns=(later, later))
    stages.drop_stale_pages(work, results, {"title": "Two" if stale == "title" else "One"})
    assert (work / "site.json").exists() == (not stale)


def test_what_no_slug_can_name_is_odd_and_what_is_hidden_is_nothing(tmp_path: Path) -> None:
    """A name that is too long for a file's would stop all others."""
    for name in ("good", "a" * 100, "b" * 101, "Not A Slug", ".trash"):
        canon.write(tmp_path / name / "lesson.yaml", "")
    assert stages.lessons(tmp_path) == ["a" * 100, "good"]
    assert stages.odd(tmp_path) == ["Not A Slug", "b" * 101]


def test_snakemake_sees_the_files_that_a_lesson_is_made_of(tmp_path: Path) -> None:
    """What is hashed is what is watched: no more, no less."""
    folder = tiny.write(tmp_path / "echo")
    for name in ("__pycache__/model.pyc", ".git/config", ".hidden", "model.py~", "parts/deep.py", "data.npy"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    watched = [Path(path).relative_to(folder).as_posix() for path in stages.sources(folder)]
    assert sorted(watched) == sorted(lesson.read(folder).files)
    assert stages.lessons(tmp_path) == ["echo"]


def test_a_lesson_whose_file_vanishes_while_it_is_looked_into_is_due(
    settled: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was listed, with another time, and is gone when it is to be read."""
    model, own = settled.lesson("echo") / "model.py", stages.seen
    model.touch()

    def seen(folder: Path) -> stages.Seen:
        listed = own(folder)
        model.unlink()
        return listed

    monkeypatch.setattr(stages, "seen", seen)
    assert stages.due(["echo"], settled) == ["echo"]


@pytest.mark.parametrize("folder", [False, True])
def test_what_vanishes_while_it_is_listed_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: bool
) -> None:
    """Editors write beside a file and rename; a look in between tells the other files."""
    echo = tiny.write(tmp_path / "echo")
    before = stages.seen(echo)
    fleeting = echo / "fleeting" / "deep.py" if folder else echo / "fleeting"
    canon.write(fleeting, "x")
    assert len(stages.seen(echo)) == len(before) + 1
    own = os.scandir

    @contextlib.contextmanager
    def listing(at: str) -> Iterator[list[os.DirEntry[str]]]:
        with own(at) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            entry.is_file()
        fleeting.unlink(missing_ok=True)
        if folder and fleeting.parent.is_dir():
            fleeting.parent.rmdir()
        yield listed

    monkeypatch.setattr(os, "scandir", listing)
    assert stages.seen(echo) == before


def test_parse_time_is_short() -> None:
    """Reading the stages loads neither numpy nor pandas nor a template engine."""
    heavy = {"numpy", "pandas", "jinja2", "torch", "ruamel.yaml"}
    code = f"import sys; import lessonpress.stages; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
