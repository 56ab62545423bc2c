"""A new lesson is good as it stands, whatever it is called, and nothing that exists is touched."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from lessonpress.authoring import lint, new_lesson
from lessonpress.core import canonical_json, yaml_reader
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import recipe
from lessonpress.publishing import doctor

NAMES = ["my-first-lesson", "123", "null", "true", "none", "1e5", "2d-conv", "a--b-", "x" * 100]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, and we in it."""
    (tmp_path / "config.yaml").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("slug", NAMES)
def test_a_new_lesson_is_good(project: Path, slug: str) -> None:
    """Also under names that YAML or Python would read as something else."""
    folder = new_lesson.create_lesson(Config(), slug)
    assert sorted(path.name for path in folder.iterdir()) == ["checks.py", "lesson.yaml", "model.py"]
    assert lint.lint_lesson(Config(), slug) == f"{slug}: good"


def test_the_modeline_leads_to_the_schema(project: Path) -> None:
    """The first line of the recipe names a file that is there, relative to the lesson, and that the recipe fits."""
    text = (new_lesson.create_lesson(Config(), "mine") / "lesson.yaml").read_text(encoding="utf-8")
    modeline = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", text.splitlines()[0])
    assert modeline
    schema = canonical_json.read(project / "lessons" / "mine" / modeline[1])
    assert schema == recipe.schema()
    jsonschema.Draft202012Validator(schema).validate(yaml_reader.read(text, "x").value)


def test_the_schema_alone_is_not_a_damaged_site(project: Path) -> None:
    """What is written for editors before the first publication is no page that has lost the others."""
    new_lesson.create_lesson(Config(), "mine")
    assert doctor.find_faults(Config()) == []


def test_no_mark_is_left(project: Path) -> None:
    """Every place that waits for the lesson's name has it."""
    for path in new_lesson.create_lesson(Config(), "my-own").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\{(slug|title|class|schema)\}", text)
    assert "class MyOwn(nn.Module)" in (project / "lessons" / "my-own" / "model.py").read_text()
    assert 'title: "My own"' in (project / "lessons" / "my-own" / "lesson.yaml").read_text()


@pytest.mark.parametrize(
    ("slug", "near"),
    [("My Lesson", "my-lesson"), ("softmax_2", "softmax-2"), ("-x", "x"), ("../x", "x"), ("Ü", "my-lesson"),
     ("", "my-lesson"), ("x" * 101, "x" * 100), ("a/b", "a-b"), ("verify", "my-verify"), ("site", "my-site")],
)  # fmt: skip
def test_an_impossible_name_is_refused_with_one_that_is_possible(project: Path, slug: str, near: str) -> None:
    """The message ends in what to type."""
    with pytest.raises(LessonError) as caught:
        new_lesson.create_lesson(Config(), slug)
    assert caught.value.message().endswith(f"Type: lessonpress new {near}")
    assert not (project / "lessons").exists()


def taken(project: Path) -> None:
    """A lesson's folder with a file in it."""
    (project / "lessons" / "mine").mkdir(parents=True)
    (project / "lessons" / "mine" / "notes.txt").write_text("mine")


def elsewhere(project: Path) -> None:
    """A folder that is no repository."""
    (project / "config.yaml").unlink()


@pytest.mark.parametrize(
    ("prepare", "message"),
    [(taken, "lessons/mine: this exists already. Choose another name, or go on with it: lessonpress preview lessons/m"),
     (elsewhere, "lessons: there is no such folder here, and no config.yaml. Go to the repository's root, or make")],
)  # fmt: skip
def test_nothing_is_written_where_it_must_not_be(project: Path, prepare: Callable[[Path], None], message: str) -> None:
    """A folder that exists stays as it is; outside a repository nothing is begun."""
    prepare(project)
    before = sorted(project.rglob("*"))
    with pytest.raises(LessonError) as caught:
        new_lesson.create_lesson(Config(), "mine")
    assert caught.value.message().startswith(message)
    assert sorted(project.rglob("*")) == before
