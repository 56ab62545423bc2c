"""The command line asks before it destroys, and knows a lesson's name from a slip of the pen."""

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner, Result

from lessonpress.cli import main
from lessonpress.publishing import site
from lessonpress.revision import history
from tests import tiny

SLUG = "echo"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a repository with two revisions, of which no commit holds the first."""
    root = tmp_path_factory.mktemp("template") / "house"
    config = tiny.at(root)
    for title in ("One", "Two"):
        tiny.published(config, title)
    site.write_site(config)
    for command in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message", "nothing yet"]):
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *command], cwd=root, check=True)
    return root


@pytest.fixture
def house(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of it, as the working directory."""
    shutil.copytree(template, tmp_path / "house")
    (tmp_path / "house" / "config.yaml").touch()
    monkeypatch.chdir(tmp_path / "house")
    return tmp_path / "house"


def run(*words: str, answer: str = "") -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main.app, list(words), input=answer)


def count(house: Path) -> int:
    """How many revisions there are."""
    return len(history.list_newest_first(history.read_history(house / "results" / "models" / SLUG, SLUG)))


@pytest.mark.parametrize("command", ["verify", "diff", "history", "pin", "retire", "prune", "doctor --accept"])
def test_a_lesson_that_never_was_is_wrong_usage(house: Path, command: str) -> None:
    """Exit 2, and the names that are near."""
    done = run(*command.split(), "eccho")
    assert done.exit_code == 2
    assert "no lesson is called 'eccho'; near it: echo." in done.output
    assert run(*command.split(), "../models/echo").exit_code == 2
    assert "no lesson is called 'quite-another'; lessons: echo." in run(*command.split(), "quite-another").output


def test_prune_says_what_it_would_drop(house: Path) -> None:
    """With --dry-run nothing goes."""
    done = run("prune", "--dry-run")
    assert (done.exit_code, count(house)) == (0, 2)
    assert done.output.startswith(f"{SLUG}: would drop ")
    assert "first publication" in done.output


@pytest.mark.parametrize(("words", "answer", "left"), [((), "n\n", 2), ((), "y\n", 1), (("--yes",), "", 1)])
def test_prune_asks_on_a_terminal(
    house: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], answer: str, left: int
) -> None:
    """Only a yes, or --yes, drops."""
    monkeypatch.setattr(main, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    done = run("prune", *words, answer=answer)
    assert (done.exit_code, count(house)) == (0, left)
    assert ("for good?" in done.output) is bool(answer)


def test_prune_does_not_ask_a_script(house: Path) -> None:
    """Without a terminal it asks nothing."""
    done = run("prune")
    assert (done.exit_code, count(house)) == (0, 1)
    assert f"{SLUG}: dropped " in done.output
    assert run("prune").output.startswith("Nothing to drop")
