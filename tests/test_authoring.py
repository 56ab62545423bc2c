"""The commands that an author types, as they are typed: what they say, and their exit codes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lessonpress.__main__ import main
from lessonpress.core import atomic_io
from tests import tiny

pytestmark = pytest.mark.slow  # commands, each in a process of its own


def typed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run lessonpress in a folder."""
    command = [sys.executable, "-m", "lessonpress", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_new_then_lint(tmp_path: Path) -> None:
    """A lesson is begun and good; begun again it is refused, and no traceback is shown."""
    (tmp_path / "config.yaml").touch()
    done = typed(tmp_path, "new", "my-own")
    assert (done.returncode, done.stderr) == (0, "")
    assert "lessonpress preview lessons/my-own --watch" in done.stdout
    again = typed(tmp_path, "new", "my-own")
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith("lessons/my-own: this exists already.")
    lint = typed(tmp_path, "lint")
    assert (lint.returncode, lint.stdout) == (0, "my-own: good\n")


def test_lint_reads_all_lessons_though_one_is_wrong(tmp_path: Path) -> None:
    """A folder with an odd name stops itself only; the exit code tells it."""
    for name in ("Odd name", "echo"):
        tiny.write(tmp_path / "lessons" / name)
    done = typed(tmp_path, "lint")
    assert done.returncode == 1
    assert "echo: good" in done.stdout
    assert done.stderr == "lessons/Odd name/lesson.yaml:2: slug: 'echo' given; the folder is called 'Odd name'.\n"


def test_lint_in_the_wrong_folder_is_no_success(tmp_path: Path) -> None:
    """An empty folder is reported, with what to type."""
    done = typed(tmp_path, "lint")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no folder 'lessons' here" in done.stderr
    assert "lessonpress new SLUG" in done.stderr


@pytest.mark.parametrize("arguments", [["new"], ["preview"], ["serve", "--port", "99999"], ["preview", "--port", "a"]])
def test_wrong_usage_is_two(tmp_path: Path, arguments: list[str]) -> None:
    """As for every other command."""
    assert typed(tmp_path, *arguments).returncode == 2


@pytest.mark.parametrize("command", ["lint", "preview", "prepare", "hash", "check", "publish"])
@pytest.mark.parametrize("name", ["eccho", "../echo", "empty", "x" * 300])
def test_a_name_that_no_lesson_has_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    """Whichever command gets it: exit 2 and one message, also for a folder without a recipe; nothing is published."""
    tiny.write(tmp_path / "lessons" / "echo")
    (tmp_path / "lessons" / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    if command == "preview" and name == "empty":
        name = "lessons/empty"
    code, errors = run_command(capsys, command, name)
    assert code == 2, errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("name", ["No Slug", "verify", "echo", "x" * 300])
def test_new_under_an_impossible_name_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """What cannot be a lesson's name, or is one already."""
    tiny.write(tmp_path / "lessons" / "echo")
    monkeypatch.chdir(tmp_path)
    assert run_command(capsys, "new", name)[0] == 2


def test_a_taken_port_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For the site and for a preview that is watched, with another port to type."""
    tiny.write(tmp_path / "lessons" / "echo")
    atomic_io.write(tmp_path / "results" / "index.html", "front")
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for command in (["serve"], ["preview", "echo", "--watch"]):
            code, errors = run_command(capsys, *command, "--port", port)
            assert (code, f"Type --port {int(port) + 1}" in errors) == (2, True)


def test_settings_that_are_not_there_are_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--config` names a file."""
    monkeypatch.chdir(tmp_path)
    assert run_command(capsys, "lint", "--config", "other.yaml")[0] == 2


def test_a_lesson_that_is_wrong_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recipe under another name is a lesson's mistake; beside a name that no lesson has, the exit code is 2."""
    tiny.write(tmp_path / "lessons" / "echo")
    (tmp_path / "lessons" / "echo" / "lesson.yaml").rename(tmp_path / "lessons" / "echo" / "lesson.yml")
    monkeypatch.chdir(tmp_path)
    assert run_command(capsys, "lint", "echo")[0] == 1
    assert run_command(capsys, "lint", "echo", "eccho")[0] == 2


def run_command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int | str | None, str]:
    """Run a command line in this process: its exit code, and what it wrote on standard error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["lessonpress", *words])
        with pytest.raises(SystemExit) as done:
            main()
    return done.value.code, capsys.readouterr().err


def test_serve_shows_the_site_until_it_is_interrupted(tmp_path: Path) -> None:
    """It names its address first; Ctrl-C is the end and not an error, and leaves no traceback."""
    atomic_io.write(tmp_path / "results" / "index.html", "front")
    command = [sys.executable, "-m", "lessonpress", "serve", "--port", "0"]
    started = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONUNBUFFERED": ""})  # fmt: skip
    with started:
        assert started.stdout
        assert started.stderr
        assert started.stdout.readline().startswith("http://127.0.0.1:")
        started.send_signal(signal.SIGINT)
        assert started.wait(timeout=20) == 0
        assert started.stderr.read() == ""
