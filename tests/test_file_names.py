"""A file's name stops its own lesson where some system could not show it, unpack it, or keep it apart; no other one."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from lessonpress.build import rule_inputs
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import file_names, lesson_files, reader
from tests import tiny

# From Microsoft's "Naming Files, Paths, and Namespaces", and Unicode's categories.
ODD = (
    "con.txt", "CON", "nul", "aux.py", "Prn.tar.gz", "com1.py", "lpt9", "com\u00b9.txt", "conin$", "parts/con.py",
    "a:b", "a*b", "what?.txt", "a<b", "a>b", 'a"b', "a|b", "a\\b", "end.", "end ", " begin", "a\u200bb", "a\u00adb",
    "\ufeffa", "a\u202eb", "a\x00b", "a\x7fb", "\ue000", os.fsdecode(b"a\xff"), "x" * 101, "/".join(["x" * 60] * 4),
)  # fmt: skip
GOOD = (
    "model.py", "console.txt", "com0x.py", "common/con_text.py", "a b.py", "modèle.py", "模型.py", "a.b.c", "com10.py",
    "README", "nul_model.py", "-x", "x" * 100,
)  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_a_name_that_some_system_cannot_have_is_refused(name: str) -> None:
    """Windows' devices, signs and endings, what nobody sees, and what is too long."""
    assert file_names.fault(name), name
    assert file_names.fault(name).isprintable()  # type: ignore[union-attr]


@pytest.mark.parametrize("name", GOOD)
def test_a_name_that_every_system_can_have_is_not(name: str) -> None:
    """Letters of every script, and names that only begin as a device's does."""
    assert file_names.fault(name) is None


COMPOSED = unicodedata.normalize("NFC", "modèle.py")
COLLIDING = (
    ("run2.py", "Run2.py"), (COMPOSED, unicodedata.normalize("NFD", COMPOSED)), ("straße.py", "STRASSE.py"),
    ("Parts/a.py", "parts/b.py"), ("data/x.txt", "Data"), ("\u212a.py", "k.py"), ("σ.py", "ς.py"), ("ﬁ.py", "fi.py"),
)  # fmt: skip


@pytest.mark.parametrize("pair", COLLIDING)
def test_names_that_fold_to_one_are_refused(tmp_path: Path, pair: tuple[str, str]) -> None:
    """On a system that folds case or composition, the second file would overwrite the first."""
    folder = tiny.write(tmp_path / "echo")
    for name in pair:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x", encoding="utf-8")
    with pytest.raises(LessonError, match="take it for"):
        reader.read(folder)


def test_names_that_differ_are_no_collision() -> None:
    """Two files of one folder are not two of one name."""
    assert list(file_names.collisions(["a/x.py", "a/y.py", "a.py", "ab.py", "b/x.py"])) == []


@pytest.mark.parametrize("name", ["Run.py", "MANIFEST.json", "Worker/x.py", "IDENTITY.JSON", ".VSCode", "preview.SVG"])
def test_a_published_files_name_is_taken_in_every_case(tmp_path: Path, name: str) -> None:
    """`Run.py` beside the published `run.py` is one file on many systems."""
    folder = tiny.write(tmp_path / "echo")
    (folder / name).parent.mkdir(exist_ok=True)
    if name.startswith("."):
        assert file_names.folded(name) in {file_names.folded(taken) for taken in reader.RESERVED_FOLDERS}
        return
    (folder / name).write_text("x", encoding="utf-8")
    with pytest.raises(LessonError, match="a published file has this name"):
        reader.read(folder)


def test_a_lesson_behind_a_link_is_refused(tmp_path: Path) -> None:
    """What a link leads to may lie outside the repository, and change without it."""
    tiny.write(tmp_path / "elsewhere" / "echo")
    (tmp_path / "echo").symlink_to(tmp_path / "elsewhere" / "echo")
    with pytest.raises(LessonError, match="the lesson's folder is a link"):
        reader.read(tmp_path / "echo")


def test_a_recipe_that_is_a_link_to_itself_is_reported(tmp_path: Path) -> None:
    """Its folder is a lesson's, so its mistake is reported; it does not vanish from the list."""
    (tmp_path / "echo").mkdir()
    (tmp_path / "echo" / "lesson.yaml").symlink_to("lesson.yaml")
    assert lesson_files.slugs(tmp_path) == ["echo"]
    with pytest.raises(LessonError, match="a link or no file"):
        reader.read(tmp_path / "echo")


def write_odd_lessons(lessons: Path) -> dict[str, str]:
    """One lesson for each odd name, and what its mistake must say."""
    messages = {}
    for number, (name, words) in enumerate((
        (os.fsdecode(b"a\xff.py"), "the file's name holds"), ("con.txt", "device"), ("a:b", "the file's name holds"),
        ("Run.py", "a published file has this name"), ("{slug}.py", ""), ("self", "link"),
    )):  # fmt: skip
        folder = tiny.write(lessons / f"odd-{number}", recipe=tiny.RECIPE.replace("slug: echo", f"slug: odd-{number}"))
        if name == "self":
            (folder / name).symlink_to(name)
        else:
            (folder / name).write_text("x = 1\n", encoding="utf-8")
        if words:
            messages[folder.name] = words
    tiny.write(lessons.parent / "elsewhere" / "linked", recipe=tiny.RECIPE.replace("slug: echo", "slug: linked"))
    (lessons / "linked").symlink_to(lessons.parent / "elsewhere" / "linked")
    (lessons / "looped").symlink_to("looped")
    tiny.write(lessons / os.fsdecode(b"bad\xff"))
    return {**messages, "linked": "the lesson's folder is a link"}


def test_the_rules_can_be_read_whatever_files_are_called(tmp_path: Path) -> None:
    """Keys, inputs and the digest of all lessons are made beside names that no text can hold."""
    write_odd_lessons(tmp_path / "lessons")
    config = Config(lessons=str(tmp_path / "lessons"), work=str(tmp_path / "work"), results=str(tmp_path / "results"))
    state = rule_inputs.State(config, config, "")
    assert [len(state.key(slug)) for slug in state.slugs] == [16] * 7
    for slug in state.slugs:
        for name in state.sources(slug):
            name.encode()
    assert len(state.digest) == 16
    assert state.odd == [os.fsdecode(b"bad\xff")]
