"""Where a preview may be put, and that it is put there whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from lessonpress.authoring import lint, preview
from lessonpress.build import execute
from lessonpress.core import atomic_io, canonical_json
from lessonpress.core.errors import LessonError, LessonErrors
from lessonpress.core.settings import Config
from tests import tiny


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one lesson, and we in it."""
    tiny.write(tmp_path / "lessons" / "echo")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def revision(folder: Path, **texts: str) -> Path:
    """A folder with files and the list of them, as a revision has it."""
    files = {"index.html": "page", "identity.json": "{}", **texts}
    for name, text in files.items():
        atomic_io.write(folder / name, text)
    sums = "".join(f"{canonical_json.digest(text)}  {name}\n" for name, text in files.items())
    atomic_io.write(folder / "SHA256SUMS", sums)
    atomic_io.write(folder / "bundle.zip", "zip")
    return folder


def test_an_earlier_preview_is_replaced_whole(project: Path) -> None:
    """Nothing of it is left over, and nothing lies beside it."""
    old = revision(project / "out", **{"cases.csv": "old"})
    (old / "__pycache__").mkdir()
    (old / "__pycache__" / "run.pyc").touch()
    made = revision(project / "made", **{"weights.bin": "new"})
    preview.require_free(Config(), project / "lessons" / "echo", old)
    preview.replace_folder(made, old)
    assert sorted(path.name for path in old.rglob("*")) == sorted(path.name for path in made.rglob("*"))
    assert sorted(path.name for path in project.iterdir()) == ["lessons", "made", "out"]


REFUSED = {
    "somebody's file": ("out", {"out/mine.txt": "x"}, "--out out: the folder holds mine.txt, which no preview put "),
    "a file beside a preview's": ("old", {"old/mine.txt": "x"}, "--out old: the folder holds mine.txt, "),
    "a file": ("file", {"file": "x"}, "--out file: this is a file; "),
    "the site": ("results", {}, "--out results: this is the published site; "),
    "inside the site": ("results/models/new", {}, "--out results/models/new: this is the published site; "),
    "the lesson": ("lessons/echo", {}, "--out lessons/echo: this lies in the lesson's own folder; a folder beside it."),
    "inside the lesson": ("lessons/echo/out", {}, "--out lessons/echo/out: this lies in the lesson's own folder; "),
    "all lessons": ("lessons", {}, "--out lessons: the folder holds echo/lesson.yaml, which no preview put there"),
    "everything": (".", {}, "--out .: the folder holds lessons/echo/lesson.yaml, "),
    "a revision elsewhere": ("../" + canonical_json.digest("{}")[:16], {}, "this is the published site; "),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_preview_replaces_no_file_of_another_origin(project: Path, case: str) -> None:
    """Each is refused with its reason before anything is run."""
    to, files, message = REFUSED[case]
    revision(project / "old")
    revision(project.parent / canonical_json.digest("{}")[:16])
    for name, text in files.items():
        atomic_io.write(project / name, text)
    with pytest.raises(LessonError) as caught:
        preview.require_folder(Config(), Path("lessons/echo"), Path(to))
    assert message in caught.value.message()
    assert (project / "lessons" / "echo" / "lesson.yaml").is_file()


@pytest.mark.parametrize("to", ["new", "deep/new", "empty", "old"])
def test_new_and_empty_folders_and_earlier_previews_are_free(project: Path, to: str) -> None:
    """These hold nothing that anybody would miss."""
    (project / "empty").mkdir()
    revision(project / "old")
    assert preview.require_folder(Config(), Path("lessons/echo"), Path(to)) == project / "lessons" / "echo"


@pytest.mark.parametrize("path", ["lessons/echo", "lessons/echo/lesson.yaml", "echo"])
def test_a_lesson_is_meant_by_folder_recipe_or_name(project: Path, path: str) -> None:
    """What a newcomer types first is what is meant."""
    assert preview.find_folder(Config(), Path(path)) == project / "lessons" / "echo"


@pytest.mark.parametrize("path", ["lessons/ecko", "ecko"])
def test_a_missing_lesson_is_reported_with_the_nearest_name(project: Path, path: str) -> None:
    """A slip of the pen is mended by the message."""
    with pytest.raises(LessonError) as caught:
        preview.find_folder(Config(), Path(path))
    assert caught.value.message().endswith("Did you mean lessons/echo?")


@pytest.mark.parametrize(
    ("expression", "message"),
    [("nobody.sum", "names no case: nobody; cases: one, two"), ("one.nothing", "names no record: nothing; recorded: ")],
)
def test_a_wrong_expression_is_reported_as_lint_tells_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, expression: str, message: str
) -> None:
    """Before anything runs, at the recipe's line, in words about the lesson and not about what evaluates it."""
    recipe = tiny.RECORDED.replace("title: Echo", f"title: Echo\ndescription: It is {{{{ {expression} }}}}.")
    tiny.write(project / "lessons" / "echo", recipe=recipe, checks=tiny.CHECKS)
    monkeypatch.setattr(execute, "run_lesson", lambda *given: pytest.fail("something ran"))
    with pytest.raises(LessonErrors) as caught:
        preview.make_preview(Config(), Path("echo"), Path("out"))
    expected = f"lessons/echo/lesson.yaml:4: description: {{{{ {expression} }}}} {message}"
    assert caught.value.message().startswith(expected)
    with pytest.raises(LessonErrors) as linted:
        lint.lint_lesson(Config(), "echo")
    assert caught.value.message() in linted.value.message()
