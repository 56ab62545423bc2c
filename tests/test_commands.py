"""The rules' commands: their arguments, what they do, and how they end, in a run of Snakemake and typed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from lessonpress import sandbox
from lessonpress.build import artifact, code_digest, steps
from lessonpress.build.steps import Made
from lessonpress.cli import command_line, commands, main
from lessonpress.cli.commands import Arguments
from lessonpress.core import atomic_io, canonical_json, variables
from lessonpress.core.errors import LessonError, RetryableError
from lessonpress.core.settings import Config
from lessonpress.publishing import publish, verify
from lessonpress.publishing.verdict import IDENTICAL, Verdict
from lessonpress.revision import history
from tests import tiny

SLUG = "echo"
SOURCE = code_digest.PACKAGE.parent


class Typed:
    """Runs command lines in this process, in the folder of a small repository."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys, self.config = capsys, Config()

    def __call__(self, *words: object) -> tuple[int, str, str]:
        """The exit code, and what was said on standard output and standard error."""
        code: object = 0
        try:
            command_line.main([str(word) for word in words])
        except SystemExit as end:
            code = end.code or 0
        said = self.capsys.readouterr()
        assert isinstance(code, int)
        return code, said.out, said.err

    @property
    def key(self) -> str:
        """The key of the lesson as it is now."""
        return steps.open_build(self.config, SLUG).key

    @property
    def folder(self) -> Path:
        """The folder of the lesson's present state."""
        return self.config.work_dir(SLUG) / self.key


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Typed]:
    """Give the command line in a repository with one lesson, where the model and the checks are stood in for."""
    monkeypatch.chdir(tmp_path)
    for name in ("RUN", "NOTE", "AGAIN"):
        monkeypatch.delenv(getattr(variables, name), raising=False)
    tiny.write(Path("lessons") / SLUG, recipe=tiny.RECORDED, checks=tiny.CHECKS)
    ran, judged = Made(tiny.capture(), {"mutants.json": b"{}"}), Made({"checks": [tiny.verdict()]})
    with tiny.standing_in(execute=ran, check=judged, rehearse=Made({})):
        monkeypatch.setattr(commands, "OVERRIDES", [])
        yield Typed(capsys)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be where Snakemake runs."""
    monkeypatch.setenv(variables.RUN, "/nowhere|1|2")


def wrong(slug: str = SLUG) -> None:
    """Make a mistake in a lesson."""
    tiny.write(Path("lessons") / slug, recipe=tiny.RECIPE.replace("slug: echo", f"slug: {slug}") + "titel: x\n")


PARSED = {
    "echo": Arguments(("echo",)),
    "echo other --key 0a": Arguments(("echo", "other"), "0a"),
    "--receipt work/x.json": Arguments((), None, Path("work/x.json")),
    "echo --set a.b=c --set d==e --set f=": Arguments(("echo",), overrides=("a.b=c", "d==e", "f=")),
    "--key 0a echo --key 0b": Arguments(("echo",), "0b"),
    "": Arguments(()),
    "echo --config other.yaml": None,
    "echo --key": None,
    "--help": None,
    "echo --set": None,
    "echo -x": None,
    "echo --key=0a": None,
}


@pytest.mark.parametrize("line", PARSED)
def test_words_of_a_rule_need_no_option_parser(line: str) -> None:
    """What a rule says is understood here; all else is left to the parser, and never guessed at."""
    assert commands.parse_arguments(line.split()) == PARSED[line]


def test_a_rules_command_imports_no_option_parser(typed: Typed) -> None:
    """It is a tenth of a second for every job; a line with `--help` in it does."""
    code = (
        "import sys; from lessonpress.cli import command_line\n"
        "try: command_line.main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "print(*sys.modules)"
    )
    for words, imported in ((["mistakes", "--set", "work=w"], False), (["mistakes", "--help"], True)):
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, *words],
            capture_output=True, text=True, timeout=60, check=True, env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )  # fmt: skip
        assert ("typer" in done.stdout.splitlines()[-1]) is imported


def test_every_rules_command_is_one(project: Path) -> None:
    """The rules call nothing that only the parser knows, but the two commands that are people's as well."""
    text = "".join(path.read_text() for path in (project / "workflow" / "rules").glob("*.smk"))
    called = {line.split('"lessonpress ')[1].split()[0] for line in text.splitlines() if '"lessonpress ' in line}
    assert len(called) > 8
    assert called - set(commands.COMMANDS) == {"prepare", "verify"}
    typed = {info.name or getattr(info.callback, "__name__", "") for info in main.app.registered_commands}
    assert set(commands.COMMANDS) - typed == {"name", "compare", "report"}  # of no use to a person


def test_steps_are_done_as_they_are_named(typed: Typed) -> None:
    """Each leaves its file in the folder of the lesson's present state, and says what it has to say."""
    for name, step in steps.STEPS.items():
        assert typed(name, SLUG)[0] == 0
        assert artifact.read(typed.folder / step.file)
    code, out, err = typed("publish", SLUG)
    assert (code, err) == (0, "")
    assert out.startswith("echo: published revision ")
    assert typed("site")[:2] == (0, "site: 7 of 7 pages changed\n")
    assert typed("mistakes") == (0, "", "")


def test_settings_reach_every_command(typed: Typed) -> None:
    """With `--set`, in the place of config.yaml's; the next command in the same process knows nothing of it."""
    Path("config.yaml").write_text("work: scratch\n")
    assert typed("hash", SLUG)[0] == 0
    assert typed("hash", SLUG, "--set", "work=elsewhere")[0] == 0
    assert Path("scratch", SLUG).exists()
    assert Path("elsewhere", SLUG).exists()
    Path("lessons").rename("recipes")
    code, out, _ = typed("lint", SLUG, "--set", "lessons=recipes")
    assert (code, out.splitlines()[-1]) == (0, "echo: good")
    code, _, err = typed("hash", SLUG)
    assert (code, "no such folder" in err) == (2, True)
    assert typed("lint")[0] == 1


def test_the_parsers_commands_do_the_same(typed: Typed) -> None:
    """With options that only people type: another file of settings, a note, a key."""
    Path("other.yaml").write_text("work: elsewhere\n")
    for name, step in steps.STEPS.items():
        assert typed(name, SLUG, "--config", "other.yaml")[0] == 0
        assert (Path("elsewhere") / SLUG / typed.key / step.file).exists()
    assert typed("publish", SLUG, "--config", "other.yaml", "--note", "why", "--key", typed.key)[0] == 0
    assert history.read_history(typed.config.published(SLUG), SLUG)["revisions"][0]["note"] == "why"
    assert typed("site", "--config", "other.yaml")[0] == typed("mistakes", "--config", "other.yaml")[0] == 0
    code, _, err = typed("publish", SLUG, "--config", "other.yaml", "--key", "0" * 16)
    assert (code, "has changed since the run began" in err) == (1, True)
    assert typed("hash", "--config", "nowhere.yaml", SLUG)[0] == 2
    assert not Path("work").exists()


@pytest.mark.parametrize("override", ["wrk=x", "work", "limits=5", "limits.wall_seconds=soon", "work=results"])
@pytest.mark.parametrize("command", ["hash", "lint"])
def test_a_setting_that_does_not_exist_is_wrong_usage(typed: Typed, command: str, override: str) -> None:
    """Whoever typed it learns which one; nothing is done."""
    code, _, err = typed(command, SLUG, "--set", override)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("--set")
    assert not Path("work").exists()


def test_a_mistake_that_was_typed_for_is_the_end(typed: Typed) -> None:
    """Exit code 1 and its message, of whichever step is asked for; no traceback."""
    wrong()
    for command in (*steps.STEPS, "publish", "mistakes"):
        code, _, err = typed(command, SLUG) if command != "mistakes" else typed(command)
        assert (code, err.count("\n")) == (1, 1), command
        assert err.startswith("lessons/echo/lesson.yaml:8: titel: unknown key")


def test_a_mistake_in_a_run_is_a_result(typed: Typed, run: None) -> None:
    """The job succeeds and says so once, where it was noticed; the last rule reports it."""
    wrong()
    key, outputs = typed.key, []
    for command in (*steps.STEPS, "publish"):
        code, out, err = typed(command, SLUG, "--key", key)
        assert (code, err) == (0, "")
        outputs.append(out)
    assert outputs == ["echo: hash: a mistake, which is reported at the end\n", *[""] * len(steps.STEPS)]
    assert (typed.folder / "hash.log").read_text() == outputs[0]
    code, out, err = typed("mistakes", "--receipt", "work/good/x.json")
    assert (code, out) == (1, "The lesson failed.\n")
    assert err.startswith("lessons/echo/lesson.yaml:8: titel: unknown key")
    assert not Path("work/good").exists()


def test_what_a_gate_refuses_is_a_mistake_too(typed: Typed, run: None) -> None:
    """Publishing says it, and the run goes on to its end."""
    with tiny.standing_in(check=Made({"checks": [tiny.verdict(1.5)]})):
        assert typed("publish", SLUG, "--key", typed.key)[:2] == (
            0, "echo: publish: a mistake, which is reported at the end\n",
        )  # fmt: skip
    code, _, err = typed("mistakes")
    assert (code, "the check fails: measured 1.5" in err) == (1, True)


def test_a_file_that_another_run_takes_away_is_a_message(typed: Typed) -> None:
    """Two runs by hand in one work folder: the later one says what happened and what to do."""
    def taken(_: object) -> Made:
        return Made({"read": Path("work/echo/gone").read_text()})

    with mock.patch.dict(steps.STEPS, {"rehearse": replace(steps.STEPS["rehearse"], make=taken)}):
        code, _, err = typed("render", SLUG)
    assert (code, err.startswith("work/echo/gone: the file was taken away while it was read")) == (1, True)
    assert "run the same command again" in err


@pytest.mark.parametrize("in_run", [False, True])
def test_what_is_no_mistake_of_the_lesson_fails(typed: Typed, monkeypatch: pytest.MonkeyPatch, in_run: bool) -> None:
    """A limit, files that changed since the run began: the job fails, its log says why, and it is done again."""
    if in_run:
        monkeypatch.setenv(variables.RUN, "/nowhere|1|2")
    key = typed.key
    assert typed("hash", SLUG, "--key", key)[0] == 0

    def limited(_: object) -> Made:
        raise RetryableError("lessons/echo", "the time limit of 9 s was hit")

    # Undone here: `typed` puts all steps back before monkeypatch would.
    with mock.patch.dict(steps.STEPS, {"execute": replace(steps.STEPS["execute"], make=limited)}):
        code, _, err = typed("execute", SLUG, "--key", key)
    assert (code, err) == (1, "lessons/echo: the time limit of 9 s was hit.\n")
    assert (typed.folder / "execute.log").read_text() == err
    (Path("lessons") / SLUG / "model.py").write_text("# + 1\n")
    code, _, err = typed("execute", SLUG, "--key", key)
    assert (code, err) == (1, "lessons/echo: the lesson has changed since the run began. Run the same command again.\n")


def test_all_lessons_are_tried(typed: Typed) -> None:
    """A mistake in one stops no other; all are reported at the end, and the exit code is the worst."""
    wrong("bad")
    code, out, err = typed("publish", "bad", SLUG)
    assert (code, out.startswith("echo: published revision ")) == (1, True)
    assert err.startswith("lessons/bad/lesson.yaml:8: titel: unknown key")
    code, _, err = typed("hash", "nobody", "bad")
    assert (code, err.count("\n")) == (2, 2)


def test_a_typed_command_leaves_no_log(typed: Typed) -> None:
    """Its words are on the terminal."""
    assert typed("hash", SLUG)[0] == 0
    assert list(Path("work").rglob("*.log")) == []


def test_publishing_makes_what_is_missing_and_sweeps(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old states go; the receipt is written where it is asked for; the note of the run stands in the history."""
    for number in range(5):
        (typed.config.work_dir(SLUG) / f"{number:016x}").mkdir(parents=True)
    monkeypatch.setenv(variables.NOTE, "why")
    receipt = typed.folder / "published-0a.json"
    code, out, _ = typed("publish", SLUG, "--key", typed.key, "--receipt", receipt)
    assert code == 0
    stored = artifact.read(receipt)
    assert stored
    assert out == f"echo: {stored.body['words']}\n"
    assert (typed.folder / "publish.log").read_text() == out
    [event] = history.read_history(typed.config.published(SLUG), SLUG)["revisions"]
    assert (event["note"], event["revision"]) == ("why", stored.body["revision"])
    assert len(list(typed.config.work_dir(SLUG).iterdir())) == 4


def test_publishing_does_not_repeat_what_snakemake_has_done(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """With -F every step is done again by its own job, and by no other."""
    assert typed("render", SLUG)[0] == 0
    monkeypatch.setenv(variables.AGAIN, ",".join(steps.STEPS))
    monkeypatch.setattr(artifact, "write", once(artifact.write))
    assert typed("publish", SLUG)[0] == 0  # writes its receipt


def once(act: Callable[..., None]) -> Callable[..., None]:
    """A function that may be called once."""
    calls = []

    def acting(*given: object, **more: object) -> None:
        calls.append(given)
        assert len(calls) == 1
        act(*given, **more)

    return acting


def test_receipts_of_the_pages_are_swept(typed: Typed) -> None:
    """The last ones stay, with the one that was just written, however old the clock makes it."""
    for number in range(12):
        path = Path("work/site", f"{number:016x}.json")
        atomic_io.write(path, "{}")
        path.with_suffix(".log").touch()
        os.utime(path, (1000 + number, 1000 + number))
    receipt = Path("work/site", f"{0:016x}.json")
    assert typed("site", "--receipt", receipt)[0] == 0
    os.utime(receipt, (1, 1))
    commands.remove_old_receipts(receipt)
    left = sorted(path.name for path in Path("work/site").glob("*.json"))
    assert left == [f"{number:016x}.json" for number in (0, *range(3, 12))]
    assert {path.stem for path in Path("work/site").glob("*.log")} == {name[:16] for name in left}
    assert artifact.read(receipt)


def test_no_mistake_leaves_a_receipt(typed: Typed) -> None:
    """Only where it is asked for."""
    assert typed("mistakes") == (0, "", "")
    assert not Path("work").exists()
    assert typed("mistakes", "--receipt", "work/good/0a.json") == (0, "", "")
    assert artifact.read(Path("work/good/0a.json"))


def test_files_get_names(typed: Typed) -> None:
    """A job with a key that is the present one's; another name is one message."""
    assert typed("render", SLUG)[0] == 0
    assert typed("name", SLUG, "cases.csv", "--key", typed.key) == (0, "", "")
    assert (typed.config.work_dir(SLUG) / "cases.csv").read_bytes() == (typed.folder / "cases.csv").read_bytes()
    code, _, err = typed("name", SLUG, "tables.csv")
    assert (code, err.startswith("work/echo/tables.csv: no step leaves such a file")) == (1, True)


def test_verdicts_go_into_files_and_reports(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lesson's is written by a job of its own and read for the report; those of earlier runs go, nothing else."""
    tiny.write(Path("lessons") / "other")
    asked: list[str] = []

    def verdict(config: Config, slug: str) -> Verdict:
        asked.append(slug)
        return Verdict(slug, IDENTICAL, "1" * 16, "byte for byte", numbers={"a": 1}, seconds=2.0)

    monkeypatch.setattr(verify, "verify_lesson", verdict)
    for name in ("earlier/echo.json", "0a/kept.txt"):
        atomic_io.write(Path("work/verify/_runs") / name, "x")
    atomic_io.write(Path("work/verify/echo/file"), "x")
    assert typed("compare", SLUG, "--receipt", "work/verify/_runs/0a/echo.json") == (0, "", "")
    code, out, _ = typed("report", "work/verify/_runs/0a")
    assert (code, out.splitlines()[-1]) == (0, "All is good: 2 lessons verified.")
    assert asked == [SLUG, "other"]
    assert sorted(path.name for path in Path("work/verify/_runs").iterdir()) == ["0a"]
    report = canonical_json.read(Path("work/verify/report.json"))
    assert [(verdict["slug"], verdict["numbers"], verdict["seconds"]) for verdict in report["lessons"]] == [
        ("echo", {"a": 1}, 2.0), ("other", {"a": 1}, 2.0),
    ]  # fmt: skip
    assert Path("work/verify/echo/file").exists()


def test_a_report_of_any_folder_removes_nothing_but_verdicts(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever folder somebody names, its neighbours are none of the command's business."""
    monkeypatch.setattr(verify, "verify_lesson", lambda config, slug: Verdict(slug, IDENTICAL, "1" * 16, "same"))
    assert typed("report", "work")[0] == 0
    assert Path("lessons", SLUG, "lesson.yaml").exists()


def test_servers_load_while_a_new_lesson_is_read(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a model will run, and where servers are kept; an edit of words loads nothing."""
    loaded: list[str] = []
    monkeypatch.setattr(sandbox, "warm_up", lambda program, *_: loaded.append(program))
    assert typed("hash", SLUG)[0] == 0
    assert loaded == []
    monkeypatch.setattr(sandbox, "keeps_servers", lambda: True)
    assert typed("hash", SLUG)[0] == 0
    assert set(loaded) == {sandbox.MODEL, sandbox.JUDGE}
    assert typed("render", SLUG)[0] == 0
    loaded.clear()
    tiny.edit(Path("lessons") / SLUG / "lesson.yaml", "title: Echo", "title: Ecco")
    assert typed("hash", SLUG)[0] == 0
    assert loaded == []
    tiny.edit(Path("lessons") / SLUG / "model.py", "x + 1", "x * 2 + 1")
    assert typed("hash", SLUG)[0] == 0
    assert set(loaded) == {sandbox.MODEL, sandbox.JUDGE}


ENDS: dict[str, tuple[BaseException, int, str]] = {
    "a lesson's mistake": (LessonError("a", "b"), 1, "a: b.\n"),
    "a full disk": (OSError(28, "No space left on device", "work/a"), 1, "work/a: No space left on device.\n"),
    "a rename": (OSError(13, "Permission denied", "a", None, "b"), 1, "b: Permission denied.\n"),
    "a system that says little": (OSError("odd"), 1, "the system refuses: odd.\n"),
    "a name that is too long": (OSError(36, "File name too long", "x"), 2, "x: File name too long.\n"),
}


@pytest.mark.parametrize("end", ENDS)
def test_every_failure_is_words_and_a_code(typed: Typed, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """Never a traceback for what the system or the lesson does."""
    error, code, words = ENDS[end]

    def failing(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(publish, "publish", failing)
    assert typed("publish", SLUG) == (code, "", words)


def test_a_closed_pipe_is_the_end_of_talking() -> None:
    """`lessonpress … | head -1`: exit code 1, and nothing on standard error."""
    code = (
        "import sys; from lessonpress.cli import command_line, commands\n"
        "def talk(arguments):\n    while True: commands.say('words' * 1000)\n"
        "commands.COMMANDS['site'] = talk; command_line.main(['site'])"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], cwd=SOURCE, stdout=pipe, stderr=pipe) as done:
        assert done.stdout
        assert done.stderr
        done.stdout.readline()
        done.stdout.close()
        assert (done.wait(60), done.stderr.read()) == (1, b"")
