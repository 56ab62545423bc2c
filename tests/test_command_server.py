"""The rules' commands are done by warm processes as whoever asks would have done them, and none outlives its run."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lessonpress import __version__
from lessonpress.build import code_digest
from lessonpress.cli import command_client, command_server
from lessonpress.core import variables
from lessonpress.sandbox import process_tree

pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")]  # fmt: skip

PATIENCE = 30.0  # seconds; everything here takes a fraction of one on an idle machine
CLIENT = code_digest.PACKAGE / "cli" / "command_client.py"
# Commands of the test's own, put beside the rules': what a worker sees, and ways to end.
COMMANDS = """
import json, os, signal, sys, time
from lessonpress import sandbox
from lessonpress.cli import commands
from lessonpress.core.settings import Isolation, Limits

def look(arguments):
    print(json.dumps({"pid": os.getpid(), "folder": os.getcwd(), "words": arguments.names,
                      "word": os.environ.get("WORD"),
                      "input": sys.stdin.read(), "size": len(os.environ.get("LONG", ""))}))
    print("on the other", file=sys.stderr)

def wait(arguments):
    open(arguments.names[0] + ".begun", "w").close()
    while not os.path.exists(arguments.names[0]):
        time.sleep(0.01)
    look(arguments)

def fault(arguments):
    raise KeyError("ours")

def talk(arguments):
    while True:
        commands.say("words " * 1000)

commands.COMMANDS |= {"talk": talk,
    "look": look, "wait": wait, "fault": fault, "end": lambda arguments: sys.exit(int(arguments.names[0])),
    "words": lambda arguments: sys.exit("a reason"), "kill": lambda arguments: os.kill(os.getpid(), signal.SIGKILL),
    "warm": lambda arguments: (sandbox.warm_up(sandbox.JUDGE, Limits(), Isolation()), look(arguments)),
}
"""


def until(holds: Callable[[], Any], what: str) -> Any:
    """Wait until something holds; answers it."""
    end = time.monotonic() + PATIENCE
    while not (result := holds()):
        assert time.monotonic() < end, what
        time.sleep(0.02)
    return result


class Run:
    """A run: a process that stands for Snakemake, and the commands of its rules."""

    def __init__(self, root: Path) -> None:
        self.cwd = root / "a curator's house"
        self.cwd.mkdir()
        (root / "sitecustomize.py").write_text(COMMANDS)
        self.snakemake = subprocess.Popen(["sleep", "600"])
        self.folder = Path(tempfile.gettempdir(), f"lessonpress-test-{secrets.token_hex(8)}")
        self.address = f"{self.folder}|{self.snakemake.pid}|{command_server.start_time(self.snakemake.pid)}"
        self.around = {**os.environ, variables.RUN: self.address, "PYTHONPATH": str(root)}
        self.clients: list[subprocess.Popen[str]] = []

    def start(self, *words: str, folder: Path | None = None, **more: str) -> subprocess.Popen[str]:
        """Start a command as a rule does."""
        command = [sys.executable, "-I", "-S", str(CLIENT), *words]
        self.clients.append(subprocess.Popen(
            command, cwd=folder or self.cwd, env={**self.around, **more}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ))  # fmt: skip
        return self.clients[-1]

    def __call__(self, *words: str, folder: Path | None = None, **more: str) -> tuple[int, str, str]:
        """Do a command to its end: its code, and what it said on standard output and standard error."""
        client = self.start(*words, folder=folder, **more)
        out, err = client.communicate(timeout=PATIENCE)
        return client.returncode, out, err

    def look(self, *words: str, folder: Path | None = None, **more: str) -> dict[str, Any]:
        """What a worker sees."""
        code, out, err = self("look", *(words or ("x",)), folder=folder, **more)
        assert (code, err) == (0, "on the other\n")
        return dict(json.loads(out))

    def begin_waiting(self, name: str) -> subprocess.Popen[str]:
        """Start a command that goes on until there is a file of this name."""
        client = self.start("wait", name)
        until((self.cwd / f"{name}.begun").exists, "no worker has begun")
        return client

    def release(self, client: subprocess.Popen[str], name: str) -> dict[str, Any]:
        """Let that command go on, to its end."""
        (self.cwd / name).touch()
        return dict(json.loads(client.communicate(timeout=PATIENCE)[0]))

    def log(self) -> list[str]:
        """What the run's servers noted."""
        return (self.cwd / ".snakemake" / "log" / f"{self.folder.name}.log").read_text("utf-8").splitlines()

    def servers(self) -> list[int]:
        """The processes that listened, in the order in which they began."""
        return [int(line.split()[1]) for line in self.log() if "serves Snakemake" in line]

    def end(self) -> None:
        """End the run as if by a kill."""
        self.snakemake.kill()
        self.snakemake.wait()
        for client in self.clients:
            client.communicate(timeout=PATIENCE)


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    process = process_tree.process(pid)
    return process is not None and command_server.start_time(pid) != "" and not ended(pid)


def ended(pid: int) -> bool:
    """Whether nothing but a process's number is left, for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Give a run, of which nothing may be left at the end."""
    one = Run(tmp_path)
    yield one
    servers = one.servers() if (one.cwd / ".snakemake").exists() else []
    one.end()
    until(lambda: not any(map(alive, servers)), "a server is left")
    until(lambda: not one.folder.exists(), "its folder is left")


def test_a_command_is_done_as_its_caller_would(run: Run, tmp_path: Path) -> None:
    """In its folder, with its environment and its words, to its outputs; from nothing is read."""
    seen = run.look("a b", "ü", "", WORD="one")
    assert seen.pop("pid") not in (os.getpid(), run.servers()[0])
    assert seen == {"folder": str(run.cwd), "words": ["a b", "ü", ""], "word": "one", "input": "", "size": 0}
    seen = run.look(folder=tmp_path)
    assert (seen["folder"], seen["words"], seen["word"]) == (str(tmp_path), ["x"], None)


@pytest.mark.parametrize(("words", "code"), [(("end", "0"), 0), (("end", "3"), 3), (("words", "x"), 1)])
def test_its_exit_code_is_the_commands(run: Run, words: tuple[str, ...], code: int) -> None:
    """Snakemake knows from it what became of a job."""
    assert run(*words)[0] == code
    assert run.look()


def test_wrong_usage_and_mistakes_come_through(run: Run) -> None:
    """The real commands, with their messages and codes."""
    code, out, err = run("hash", "nobody", "--key", "0" * 16)
    assert (code, out) == (1, "")
    assert "the lesson has changed since the run began" in err
    code, out, err = run("hash", "nobody")
    assert (code, out) == (2, "")
    assert err.startswith("lessons/nobody: there is no such folder")
    assert run("--version")[:2] == (0, f"lessonpress {__version__}\n")


def test_a_fault_of_ours_is_reported_to_its_caller(run: Run) -> None:
    """With its traceback; the worker goes on."""
    before = run.look()["pid"]
    code, out, err = run("fault", "x")
    assert (code, out) == (1, "")
    assert err.endswith("KeyError: 'ours'\n")
    assert run.look()["pid"] == before


def test_a_closed_pipe_is_nobody_elses(run: Run) -> None:
    """`lessonpress … | head -1` ends that command; the next one's words go where they should."""
    before, client = run.look()["pid"], run.start("talk", "x")
    assert client.stdout
    client.stdout.readline()
    client.stdout.close()
    assert client.wait(PATIENCE) == 1
    assert run.look()["pid"] == before


def test_a_client_that_was_killed_while_it_asked_does_nothing(run: Run) -> None:
    """Half of its words are no command; the worker that got them does the next one."""
    before = run.look("x")["pid"]
    here, nowhere = os.open(run.cwd, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(run.folder / "socket"))
        socket.send_fds(client, [(1000).to_bytes(4, "little")], [here, nowhere, nowhere])
        client.sendall(b"2\0end\x000")  # as far as it goes, a command that would end the worker's work with 0
    os.close(here)
    os.close(nowhere)
    assert run.look("y")["pid"] == before
    assert not any("end 0" in line for line in run.log())


def test_a_worker_does_one_command_after_the_other(run: Run) -> None:
    """And keeps what it has imported; what they did is noted beside Snakemake's own logs."""
    assert len({run.look()["pid"] for _ in range(3)}) == 1
    noted = [re.fullmatch(r"[\d:]{8} (\d+) (.*?)(: \d+ ms)?", line) for line in run.log()]
    assert all(noted)
    assert [match[2] for match in noted if match and match[3]] == ["look x"] * 3


def test_long_words_and_environments_are_handed_on(run: Run) -> None:
    """More than fits into a socket at once."""
    assert run.look("x" * 100_000, LONG="y" * 120_000, LONGER="z" * 120_000)["size"] == 120_000


def test_a_busy_worker_is_left_alone(run: Run) -> None:
    """A second command gets a second worker, and a third one whoever is free."""
    client = run.begin_waiting("first")
    second = run.look()["pid"]
    assert run.look()["pid"] == second
    first = run.release(client, "first")["pid"]
    assert first != second
    assert run.look()["pid"] in (first, second)
    assert len(run.servers()) == 1


def test_many_clients_at_once_start_one_server(run: Run) -> None:
    """Whoever is quicker serves them all."""
    clients = [run.start("look", str(number)) for number in range(6)]
    seen = [json.loads(client.communicate(timeout=PATIENCE)[0]) for client in clients]
    assert [one["words"] for one in seen] == [[str(number)] for number in range(6)]
    assert len(run.servers()) == 1


@pytest.mark.parametrize("idle", [True, False])
def test_a_killed_worker_takes_one_command_with_it(run: Run, idle: bool) -> None:
    """The command that it was doing fails in words; the next one is done by another worker."""
    if idle:
        before = run.look()["pid"]
        os.kill(before, signal.SIGKILL)
        until(lambda: not alive(before), "a worker was not killed")
    else:
        code, out, err = run("kill", "x")
        assert (code, out) == (1, "")
        assert err == "the server of this run has ended; run the same command again\n"
    assert run.look()["words"] == ["x"]
    assert len(run.servers()) == 1
    assert sum("has died" in line for line in run.log()) == 1


def test_a_worker_that_is_killed_before_it_listens_takes_no_other_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it was handed is lost, which its socket tells in a way of its own; the process that listens goes on."""
    monkeypatch.setattr(sys, "argv", ["", "", str(os.getpid())])
    with subprocess.Popen(["true"]) as worker, socket.create_server(("127.0.0.1", 0)) as listener:
        ours, theirs = socket.socketpair()
        ours.send(b"c")
        theirs.close()
        workers, (life, end) = [command_server.Worker(worker.pid, ours, busy=True)], os.pipe()
        serving = threading.Thread(target=lambda: command_server._serve(listener, life, workers))
        serving.start()
        until(lambda: not workers, "the worker is not given up")
        assert serving.is_alive()
        os.close(end)
        serving.join(PATIENCE)
        assert not serving.is_alive()
        os.close(life)


def test_a_killed_server_is_replaced(run: Run) -> None:
    """Its workers end with it, whatever they do; the next command starts another."""
    client = run.begin_waiting("first")
    [server] = run.servers()
    workers = [one.pid for one in process_tree.descendants(server)]
    assert workers
    os.kill(server, signal.SIGKILL)
    assert client.wait(PATIENCE) == 1
    until(lambda: not any(map(alive, workers)), "a worker is left")
    assert run.look()["pid"] not in workers
    assert len(run.servers()) == 2


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_everything_ends_with_snakemake(run: Run, how: signal.Signals) -> None:
    """However it ends: idle workers, busy ones, the servers that they keep for lessons; and no folder is left."""
    client = run.begin_waiting("first")
    assert run("warm", "x")[0] == 0
    [server] = run.servers()
    every = [server, *(one.pid for one in process_tree.descendants(server))]
    assert len(every) >= 4
    run.snakemake.send_signal(how)
    run.snakemake.wait()
    begin = time.monotonic()
    until(lambda: not any(map(alive, every)), "a process is left")
    until(lambda: not run.folder.exists(), "the folder is left")
    assert time.monotonic() - begin < 15  # two seconds on an idle machine
    assert client.wait(PATIENCE) == 1
    assert run.log()[-1].endswith(" ended")
    assert list(Path(tempfile.gettempdir()).glob(f"{run.folder.name}*")) == []


def test_a_run_that_has_ended_is_served_no_more(run: Run) -> None:
    """Also where its number was given to another process meanwhile: the server that was started for it ends."""
    command = [sys.executable, "-P", "-m", "lessonpress.cli.command_server", str(run.folder), str(os.getpid()), "1"]
    assert subprocess.run(command, cwd=run.cwd, timeout=PATIENCE, check=False).returncode == 0
    assert not run.folder.exists()
    run.snakemake.kill()
    run.snakemake.wait()
    command[-2:] = run.address.split("|")[1:]
    assert subprocess.run(command, cwd=run.cwd, timeout=PATIENCE, check=False).returncode == 0
    assert not run.folder.exists()


def test_a_second_server_leaves_the_first_alone(run: Run) -> None:
    """It finds the folder taken, and ends."""
    before = run.look()["pid"]
    command = [sys.executable, "-P", "-m", "lessonpress.cli.command_server", *run.address.split("|")]
    assert subprocess.run(command, cwd=run.cwd, timeout=PATIENCE, check=False).returncode == 0
    assert run.look()["pid"] == before


def test_only_this_user_may_ask(run: Run) -> None:
    """Its folder is closed to all others."""
    assert run.look()
    assert stat.S_IMODE(run.folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["open to others", "a link", "another user's"])
def test_a_folder_that_is_not_the_users_own_is_refused(run: Run, tmp_path: Path, kind: str) -> None:
    """Whoever made it could listen there, and would be handed files and environment."""
    if kind == "open to others":
        run.folder.mkdir()
        run.folder.chmod(0o755)
    elif kind == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        run.folder.symlink_to(tmp_path / "elsewhere")
    elif os.getuid():
        pytest.skip("only root can give a folder to somebody else")
    else:
        run.folder.mkdir(mode=0o700)
        os.chown(run.folder, 65534, 65534)
    command = [sys.executable, "-P", "-m", "lessonpress.cli.command_server", *run.address.split("|")]
    done = subprocess.run(command, cwd=run.cwd, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert done.stderr == f"{run.folder} is not this user's own folder\n"
    assert not (run.folder / "socket").exists()
    run.folder.unlink() if kind == "a link" else run.folder.rmdir()


def test_a_server_that_does_not_start_is_reported_once(run: Run) -> None:
    """With its own words, instead of starting another one for ever."""
    run.folder.mkdir(mode=0o755)
    run.folder.chmod(0o755)
    code, out, err = run("look", "x")
    assert (code, out) == (1, "")
    assert err == f"{run.folder} is not this user's own folder\nthe server of this run does not start\n"
    run.folder.rmdir()


def test_a_server_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After a while: another one holds the folder, and does not listen."""
    monkeypatch.setattr(command_client, "TIMEOUT", 0.3)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    handle = os.open(folder, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(SystemExit, match="the server of this run does not start"):
        command_client.connect(str(folder), str(os.getpid()), command_server.start_time(os.getpid()))
    os.close(handle)


def test_an_interrupted_command_says_nothing(run: Run) -> None:
    """Ctrl-C reaches every job at once: Snakemake says so, and no traceback stands beside it."""
    client = run.begin_waiting("first")
    client.send_signal(signal.SIGINT)
    assert client.wait(PATIENCE) == 130
    (run.cwd / "first").touch()  # the worker ends what it does, for nobody
    assert client.communicate(timeout=PATIENCE)[1] == "on the other\n"
    assert run.look()


def test_a_process_is_known_by_its_start() -> None:
    """Its number alone may be another one's later; a process that is gone has none."""
    with subprocess.Popen(["sleep", "60"]) as one:
        start = command_server.start_time(one.pid)
        assert start.isdigit()
        assert command_server.start_time(one.pid) == start
        with command_server._watch_process(one.pid, start) as life:
            assert life is not None
            assert select.select([life], [], [], 0)[0] == []
            one.kill()
            assert select.select([life], [], [], PATIENCE)[0] == [life]
        for started in (start, "1"):
            with command_server._watch_process(one.pid, started) as life:
                assert life is not None
                assert select.select([life], [], [], 0)[0] == [life]
    assert command_server.start_time(one.pid) == ""


@pytest.mark.parametrize("error", [AttributeError("no such function"), OSError(38, "Function not implemented")])
def test_where_a_process_cannot_be_watched_it_is_looked_for(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """On other systems, and in containers: now and then, and serving ends with it all the same."""

    def refused(_: int) -> int:
        raise error

    monkeypatch.setattr(os, "pidfd_open", refused)
    monkeypatch.setattr(command_server, "POLL", 0.05)
    with subprocess.Popen(["sleep", "60"]) as one, socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setattr(sys, "argv", ["", "", str(one.pid)])
        with command_server._watch_process(one.pid, command_server.start_time(one.pid)) as life:
            assert life is None
            serving = threading.Thread(target=lambda: command_server._serve(listener, life, []))
            serving.start()
            time.sleep(0.3)
            assert serving.is_alive()
            one.kill()
            one.wait()
            serving.join(PATIENCE)
            assert not serving.is_alive()


def test_the_variables_have_one_name() -> None:
    """The client imports nothing, so it spells one of them itself."""
    assert f'os.environ["{variables.RUN}"]' in CLIENT.read_text()


@pytest.fixture
def serve_commands(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Give what begins a run, where none was begun; what a test begins is forgotten."""
    from lessonpress.cli import snakemake_session  # imports Snakemake

    monkeypatch.setattr(os, "environ", os.environ.copy())
    os.environ.pop(variables.RUN, None)
    return snakemake_session.serve_commands


@pytest.mark.workflow
def test_a_run_is_begun_once(serve_commands: Callable[[], None]) -> None:
    """Every module of a workflow shares it; another process, or this number on another machine, begins its own."""
    serve_commands()
    first = os.environ[variables.RUN]
    folder, pid, start = first.split("|")
    assert (pid, start) == (str(os.getpid()), command_server.start_time(os.getpid()))
    assert not Path(folder).exists()  # the first command makes it
    serve_commands()
    assert os.environ[variables.RUN] == first
    os.environ[variables.RUN] = f"{folder}|{pid}|1"
    serve_commands()
    assert os.environ[variables.RUN].split("|")[0] != folder
    assert os.environ[variables.RUN].split("|")[1:] == [pid, start]


@pytest.mark.workflow
def test_a_socket_can_have_a_name_in_any_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, serve_commands: Callable[[], None]
) -> None:
    """Systems allow about a hundred bytes; where the folder's name is longer, another one is taken."""
    monkeypatch.setattr(tempfile, "tempdir", "/tmp/" + "ü" * 60)
    serve_commands()
    folder = os.environ[variables.RUN].split("|")[0]
    assert folder.startswith("/tmp/lessonpress-run-")
    assert len(os.fsencode(f"{folder}/socket")) < 104


@pytest.mark.workflow
def test_a_rules_shell_finds_the_command(run: Run, serve_commands: Callable[[], None]) -> None:
    """As a function that bash inherits: nothing has to be on the path, and words keep their spaces."""
    serve_commands()
    around = {**os.environ, **{name: run.around[name] for name in (variables.RUN, "PYTHONPATH")}}
    script = "set -euo pipefail; lessonpress look 'a b' \"it's\" | cat; (exit 0); lessonpress end 4"
    done = subprocess.run(["bash", "-c", script], cwd=run.cwd, env=around, capture_output=True, text=True,
                          timeout=PATIENCE, check=False)  # fmt: skip
    assert done.returncode == 4
    assert json.loads(done.stdout)["words"] == ["a b", "it's"]
