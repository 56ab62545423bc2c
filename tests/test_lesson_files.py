"""Which files a lesson is made of: the same ones that are read, whatever an editor, a build or a clock leaves there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.lesson import lesson_files, reader
from tests import tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a lesson's folder."""
    return tiny.write(tmp_path / "echo")


def digest(folder: Path) -> str:
    """The digest of all that is in a lesson's folder."""
    return lesson_files.digest(lesson_files.entries(folder))


def test_what_no_slug_can_name_is_odd_and_what_is_hidden_is_nothing(tmp_path: Path) -> None:
    """A name that is too long for a file's would stop all others."""
    for name in ("good", "a" * 100, "b" * 101, "Not A Slug", ".trash"):
        atomic_io.write(tmp_path / name / "lesson.yaml", "")
    (tmp_path / "empty").mkdir()
    assert lesson_files.slugs(tmp_path) == ["a" * 100, "good"]
    assert lesson_files.odd_names(tmp_path) == ["Not A Slug", "b" * 101]


def test_without_lessons_there_is_something_to_say(tmp_path: Path) -> None:
    """A run in the wrong folder would be a silent success."""
    with pytest.raises(LessonError, match=r"there is no folder .*nowhere' here.*lessonpress new SLUG"):
        lesson_files.slugs(tmp_path / "nowhere")


def test_snakemake_sees_the_files_that_a_lesson_is_made_of(folder: Path) -> None:
    """What is hashed is what is watched and what is published: no more, no less."""
    for name in ("__pycache__/model.pyc", ".git/config", ".hidden", "model.py~", "parts/deep.py", "data.npy"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    assert lesson_files.paths(folder) == sorted(reader.read(folder).files)
    assert lesson_files.paths(folder) == ["data.npy", "lesson.yaml", "model.py", "parts/deep.py"]
    assert lesson_files.entries(folder) == [
        (name, canonical_json.digest((folder / name).read_bytes())) for name in lesson_files.paths(folder)
    ]


CHANGES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "a touch": (lambda folder: (folder / "model.py").touch(), False),
    "an older file": (lambda folder: os.utime(folder / "model.py", (1, 1)), False),
    "another byte": (lambda folder: tiny.edit(folder / "model.py", "x + 1", "x + 2"), True),
    "another name": (lambda folder: (folder / "model.py").rename(folder / "other.py"), True),
    "an empty file": (lambda folder: (folder / "data").touch(), True),
    "a file less": (lambda folder: (folder / "model.py").unlink(), True),
    "another folder": (lambda folder: atomic_io.write(folder / "a" / "model.py", "x"), True),
    "an empty folder": (lambda folder: (folder / "empty").mkdir(), False),
    "an editor's copy": (lambda folder: (folder / "model.py~").write_text("x"), False),
    "a hidden file": (lambda folder: (folder / ".notes").write_text("x"), False),
    "a link": (lambda folder: (folder / "link").symlink_to("model.py"), True),
    "a pipe": (lambda folder: os.mkfifo(folder / "pipe"), True),
    "a name that is no text": (lambda folder: Path(os.fsdecode(bytes(folder) + b"/\xff")).touch(), True),
    "a name of two lines": (lambda folder: (folder / "a\nb").touch(), True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_is_of_names_and_bytes(folder: Path, change: str) -> None:
    """Nothing else counts: no time, no order, and nothing that is no part of the lesson."""
    before = digest(folder)
    make, another = CHANGES[change]
    make(folder)
    assert (digest(folder) != before) is another


def test_no_two_sets_of_files_look_alike() -> None:
    """A name that contains what separates names and contents is kept apart from two files."""
    one, two = "1" * 64, "2" * 64
    assert lesson_files.digest([("a", one), ("b", two)]) != lesson_files.digest([(f"a{one}\nb", two)])
    assert lesson_files.digest([("a", "1b"), ("c", two)]) != lesson_files.digest([("a", "1"), ("bc", two)])
    assert lesson_files.digest([("a", one), ("b", two)]) == lesson_files.digest([("b", two), ("a", one)])
    assert lesson_files.digest([("a", one), ("b", two)]) != lesson_files.digest([("a", two), ("b", one)])


def test_a_link_counts_by_where_it_leads(folder: Path) -> None:
    """No lesson may hold one: it is never followed, so nothing outside is read, and a new target is a new state."""
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "folder").symlink_to("/etc")
    first = dict(lesson_files.entries(folder))
    assert first["link"] == "link to '/etc/passwd'"
    assert first["folder"] == "link to '/etc'"
    (folder / "link").unlink()
    (folder / "link").symlink_to("/etc/group")
    assert dict(lesson_files.entries(folder))["link"] != first["link"]


def test_a_file_that_is_too_large_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lesson is refused for it anyway; at every start of Snakemake it would cost seconds."""
    monkeypatch.setattr(lesson_files, "MAX_BYTES", 100)
    (folder / "data").write_bytes(b"x" * 101)
    assert dict(lesson_files.entries(folder))["data"] == "101 bytes"


def test_a_file_that_cannot_be_read_is_kept_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops no other lesson; once it can be read the state is another one."""

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    before = digest(folder)
    monkeypatch.setattr("builtins.open", refused)
    assert dict(lesson_files.entries(folder))["model.py"] == "unreadable: Permission denied"
    assert digest(folder) != before


@pytest.mark.parametrize("deep", [False, True])
def test_what_vanishes_while_it_is_listed_is_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, deep: bool
) -> None:
    """Editors write beside a file and rename; a look in between tells the other files."""
    before = lesson_files.entries(folder)
    fleeting = folder / "fleeting" / "deep.py" if deep else folder / "fleeting"
    atomic_io.write(fleeting, "x")
    assert len(lesson_files.entries(folder)) == len(before) + 1
    own = os.scandir

    def listing(at: str) -> contextlib.AbstractContextManager[list[os.DirEntry[str]]]:
        with own(at) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            entry.is_file()
        fleeting.unlink(missing_ok=True)
        if deep and fleeting.parent.is_dir():
            fleeting.parent.rmdir()
        return contextlib.nullcontext(listed)

    monkeypatch.setattr(os, "scandir", listing)
    assert lesson_files.entries(folder) == before


def test_a_lesson_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    """Whoever reads it says so; asking for its state is no failure."""
    assert lesson_files.entries(tmp_path / "nowhere") == lesson_files.paths(tmp_path / "nowhere") == []


def test_a_folder_that_nobody_may_look_into_stops_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither Snakemake, which would publish no other lesson, nor this one: what is hashed is what is read."""
    atomic_io.write(folder / "private" / "key", "x")
    own = os.scandir

    def refused(at: str | Path) -> object:
        if str(at).endswith("private"):
            raise PermissionError(13, "Permission denied", at)
        return own(at)

    monkeypatch.setattr(os, "scandir", refused)
    assert lesson_files.paths(folder) == ["lesson.yaml", "model.py"] == sorted(reader.read(folder).files)
