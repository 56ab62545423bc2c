"""A new repository: what it starts with, and that no file of its owner's is ever touched."""

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lessonpress import __version__
from lessonpress.authoring import repository
from lessonpress.build import source_record
from lessonpress.core import atomic_io, config
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config
from lessonpress.lesson import reader

YAML_READER = YAML(typ="safe", pure=True)


def tree(folder: Path) -> dict[str, str]:
    """Every file below a folder with its text, and every empty folder."""
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") if path.is_file() else "(folder)"
            for path in folder.rglob("*") if path.is_file() or not any(path.iterdir())}  # fmt: skip


def test_a_new_folder_gets_every_file(tmp_path: Path) -> None:
    """What was promised is there, nothing else is, and the answer names each."""
    lines = repository.create_repository(tmp_path / "new" / "project")
    written = tree(tmp_path / "new" / "project")
    assert written == repository.make_files()
    assert {str(tmp_path / "new" / "project" / name) for name in written} <= set(lines)
    assert set(written) >= {"Snakefile", "config.yaml", "README.md", "requirements.txt", ".gitignore", ".gitattributes",
                            "profiles/default/config.yaml", "scripts/check_site.sh"}  # fmt: skip


def test_the_readme_names_only_what_is_there() -> None:
    """Every file that the README's table explains exists, or comes with the first publication."""
    files = repository.make_files()
    rows = re.findall(r"(?m)^\| (.*?) \|", files["README.md"])[1:]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert {"lessons/", "config.yaml"} <= named
    made_later = {"results/"}
    assert not {name for name in named - made_later if not any(file.startswith(name) for file in files)}


def test_no_file_holds_a_mark_or_a_place_of_this_machine(project: Path) -> None:
    """Every blank of the templates is filled, and no file knows where lessonpress lies."""
    for name, text in repository.make_files().items():
        assert not re.search(r"@[A-Z]+@", text), name
        assert str(project) not in text, name


def test_the_settings_are_the_defaults_all_of_them() -> None:
    """config.yaml shows every setting at its default, each under a line that says what it means."""
    text = repository.make_files()["config.yaml"]
    assert YAML_READER.load(text) == Config().model_dump()
    lines = text.splitlines()
    keys = [at for at, line in enumerate(lines) if re.match(r" *\w+:", line)]
    assert all(lines[at - 1].lstrip().startswith("# ") and lines[at - 1].endswith(".") for at in keys)


def test_the_settings_are_read_back(tmp_path: Path) -> None:
    """What is written is what `lessonpress` itself reads."""
    repository.create_repository(tmp_path)
    assert config.read(tmp_path / "config.yaml") == Config()


def test_the_first_lesson_is_read_without_complaint(tmp_path: Path) -> None:
    """The lesson is called as its folder, and has an experiment and checks to learn from."""
    repository.create_repository(tmp_path)
    read = reader.read(tmp_path / "lessons" / repository.LESSON)
    assert read.recipe.slug == repository.LESSON
    assert read.recipe.experiment
    assert len(read.recipe.experiment.cases) > 1
    assert source_record.make_source_record(read)["plan"]["checks"] == "checks.py"


@pytest.mark.parametrize("there", ["README.md", "config.yaml", ".github/workflows/site.yml"])
def test_a_file_of_the_owners_stops_everything(tmp_path: Path, there: str) -> None:
    """The error names each file that is there already, says how to go on, and nothing was written."""
    atomic_io.write(tmp_path / there, "mine\n")
    atomic_io.write(tmp_path / "LICENSE", "mine too\n")
    before = tree(tmp_path)
    with pytest.raises(LessonError) as caught:
        repository.create_repository(tmp_path)
    assert caught.value.message() == (
        f"{tmp_path}: already there: {there}. Nothing was written. Say --keep to keep them and add the others."
    )
    assert tree(tmp_path) == before


def test_everything_in_the_way_is_named_at_once(tmp_path: Path) -> None:
    """A second call names all files; a file where a folder must be, and a link to nowhere, are in the way too."""
    repository.create_repository(tmp_path / "twice")
    with pytest.raises(LessonError) as caught:
        repository.create_repository(tmp_path / "twice")
    assert caught.value.seen == f"already there: {', '.join(repository.make_files())}"
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "scripts").write_text("a file")
    (tmp_path / "odd" / "README.md").symlink_to("nowhere")
    with pytest.raises(LessonError, match=r"already there: README.md, scripts/check_site.sh\."):
        repository.create_repository(tmp_path / "odd")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    """A file in place of the repository itself is an error in words, and stays as it is."""
    (tmp_path / "project").write_text("mine")
    with pytest.raises(LessonError, match="it is a file"):
        repository.create_repository(tmp_path / "project", keep=True)
    assert (tmp_path / "project").read_text() == "mine"


def test_what_is_there_can_be_kept(tmp_path: Path) -> None:
    """With `keep` the owner's file stays as it is and every other one is added; a second time adds nothing."""
    atomic_io.write(tmp_path / "README.md", "mine\n")
    repository.create_repository(tmp_path, keep=True)
    assert tree(tmp_path) == {**repository.make_files(), "README.md": "mine\n"}
    lines = repository.create_repository(tmp_path, keep=True)
    assert [line for line in lines if not line.startswith("Next:")] == []


def test_a_repository_with_lessons_needs_no_first_one(tmp_path: Path) -> None:
    """With `keep` no lesson is put beside those that are there."""
    atomic_io.write(tmp_path / "lessons" / "mine" / "lesson.yaml", "schema: 1\n")
    repository.create_repository(tmp_path, keep=True)
    assert [path.name for path in (tmp_path / "lessons").iterdir()] == ["mine"]
    assert (tmp_path / "Snakefile").is_file()


@pytest.mark.parametrize("count", [0, 1, 5, 11])
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Where a file cannot be written, those before it are taken away again, with the folders that were made."""
    write, done = atomic_io.write, []

    def until_full(path: Path, text: str) -> None:
        if len(done) == count:
            raise OSError(28, "No space left on device", str(path))
        done.append(path)
        write(path, text)

    monkeypatch.setattr(atomic_io, "write", until_full)
    (tmp_path / "lessons").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OSError, match="No space left"):
        repository.create_repository(tmp_path)
    assert tree(tmp_path) == {"lessons": "(folder)", "notes.txt": "mine"}
    with pytest.raises(OSError, match="No space left"):
        repository.create_repository(tmp_path / "deep" / "project")
    assert not (tmp_path / "deep").exists()


VERSION = f"lessonpress=={__version__}"
FLOW = ".github/workflows/publish-check.yml"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
VCS = {"vcs": "git", "commit_id": COMMIT}
# What pip noted (PEP 610) → the line of requirements.txt, and the reusable workflow.
ORIGINS: dict[str, tuple[Any, str, str]] = {
    "index": (None, VERSION, f"OWNER/lessonpress/{FLOW}@v{__version__}"),
    "file": (
        {"url": "file:///home/a/lessonpress-1-py3-none-any.whl", "archive_info": {}},
        f"--find-links wheels\n{VERSION}", f"OWNER/lessonpress/{FLOW}@v{__version__}",
    ),
    "address": (
        {"url": "https://example.org/lessonpress-1-py3-none-any.whl", "archive_info": {}},
        "lessonpress @ https://example.org/lessonpress-1-py3-none-any.whl", f"OWNER/lessonpress/{FLOW}@v{__version__}",
    ),
    "github": (
        {"url": "https://github.com/some-one/our.press.git", "vcs_info": VCS},
        f"lessonpress @ git+https://github.com/some-one/our.press.git@{COMMIT}", f"some-one/our.press/{FLOW}@{COMMIT}",
    ),
    "github by ssh": (
        {"url": "ssh://git@github.com/some-one/lessonpress", "vcs_info": VCS},
        f"lessonpress @ git+ssh://git@github.com/some-one/lessonpress@{COMMIT}",
        f"some-one/lessonpress/{FLOW}@{COMMIT}",
    ),
    "another forge": (
        {"url": "https://git.example.org/a/lessonpress", "vcs_info": VCS},
        f"lessonpress @ git+https://git.example.org/a/lessonpress@{COMMIT}", f"OWNER/lessonpress/{FLOW}@{COMMIT}",
    ),
}  # fmt: skip


class Distribution:
    """An installed package of which only pip's note is known."""

    def __init__(self, noted: Any) -> None:
        """Note where it came from, or nothing."""
        self.noted = noted

    def read_text(self, name: str) -> str | None:
        """The note, which pip leaves out for a package index."""
        assert name == "direct_url.json"
        return json.dumps(self.noted) if self.noted else None


@pytest.mark.parametrize("kind", ORIGINS)
def test_requirements_name_the_lessonpress_that_was_installed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version, a commit or an address: what others install is what this repository was started with."""
    noted, requirement, workflow = ORIGINS[kind]
    monkeypatch.setattr(repository, "distribution", lambda name: Distribution(noted))
    files = repository.make_files()
    torch = version("torch").partition("+")[0]  # numbers depend on it, and lessonpress takes several
    assert files["requirements.txt"].endswith(f"\n{requirement}\ntorch=={torch}\n")
    assert YAML_READER.load(files[repository.SITE])["jobs"]["site"]["uses"] == workflow


@pytest.mark.parametrize("kind", ["index", "file", "github"])
def test_what_is_left_to_do_is_said(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner's name and the wheel are requested where they are missing, and only there."""
    monkeypatch.setattr(repository, "distribution", lambda name: Distribution(ORIGINS[kind][0]))
    text = "\n".join(repository.create_repository(tmp_path))
    assert ("in place of OWNER" in text) == (kind != "github")
    assert ("put lessonpress's wheel into" in text) == (kind == "file")


def test_the_workflow_gives_only_what_is_asked(project: Path) -> None:
    """Continuous integration calls the reusable workflow with inputs that it declares, and finds what it expects."""
    given = YAML_READER.load(repository.make_files()[repository.SITE])
    reusable = YAML_READER.load((project / repository.WORKFLOW).read_text(encoding="utf-8"))
    inputs = reusable["on"]["workflow_call"]["inputs"]
    assert set(given["jobs"]["site"]["with"]) <= set(inputs)
    assert given["permissions"] == {"contents": "read"}
    assert inputs["script"]["default"] in repository.make_files()
    assert inputs["lock"]["default"] == repository.REQUIREMENTS
    assert f"-r {repository.REQUIREMENTS}" in inputs["install"]["default"]
