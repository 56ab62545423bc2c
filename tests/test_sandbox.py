"""One process under limits: its answer, what it printed, how it ended; no limit leaves a process behind."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from lessonpress import sandbox
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Isolation, Limits
from lessonpress.sandbox import bubblewrap, child, pipes, process_tree
from lessonpress.worker import confine, kernel, landlock

pytestmark = pytest.mark.slow  # many processes, and limits that are waited for

LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_mib=1024, answer_mib=1, open_files=32, file_mib=1,
                scratch_mib=2, printed_mib=4)  # fmt: skip
BARE = sandbox.Layers(())
OPEN = Isolation(minimum="posix-basic", bubblewrap="never")
HEAD = """import json, os, signal, subprocess, sys, threading, time
from lessonpress.worker import confine
fd = confine.ANSWER
def say(value): os.write(fd, mark + b" " + json.dumps(value).encode() + b"\\n")
def main():
    global channel, mark
    channel = confine.begin()
    channel.seal()
    mark = channel.spec["mark"].encode()
"""
linux = pytest.mark.skipif(not kernel.LINUX, reason="only Linux has it")


def program(code: str) -> str:
    """A module that a server can run: it confines itself, and then does what `code` says."""
    return HEAD + textwrap.indent(code, "    ") + "\n"


def run(
    work_dir: Path, monkeypatch: pytest.MonkeyPatch, code: str, *, isolation: Isolation = OPEN,
    layers: sandbox.Layers = BARE, **limits: Any,
) -> sandbox.WorkerResult:  # fmt: skip
    """Run a small module under small limits: it can `say` a value, or write on `fd` as it likes."""
    (work_dir / "probe_module.py").write_text(program(code))
    (work_dir / "empty").mkdir(exist_ok=True)
    # The child's own environment has no PYTHONPATH; a test's module has to come from somewhere.
    own = child.environment
    monkeypatch.setattr(child, "environment", lambda scratch: {**own(scratch), "PYTHONPATH": str(work_dir)})
    limited = LIMITS.model_copy(update=limits)
    return sandbox.run("probe_module", ["one", str(work_dir)], work_dir / "empty", limited, isolation, layers=layers)


def test_whole_lines_are_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows the last line feed was never finished; the confinement's own line is none of the answer's."""
    code = 'say("first"); say("second"); os.write(fd, mark + b" hal"); print("hello"); print("mind", file=sys.stderr)'
    ended = run(tmp_path, monkeypatch, code)
    assert ended.lines == (b'"first"', b'"second"')
    assert sorted(ended.printed.split()) == ["hello", "mind"]
    assert (ended.code, ended.limit, ended.strange) == (0, None, False)
    assert ended.confinement.limits["wall_seconds"] == 60


def test_lines_are_reported_when_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole lines only, without their mark, while the process still runs; what has no mark is passed to nobody."""
    heard: list[bytes] = []
    alive = tmp_path / "alive"
    seen: list[bool] = []

    def meanwhile(line: bytes) -> None:
        heard.append(line)
        seen.append(alive.exists())
        if line == b'"one"':
            alive.touch()

    code = f"""say("one")
while not os.path.exists({str(alive)!r}): time.sleep(0.01)
os.write(fd, mark + b' "t'); os.write(fd, b'wo"\\nstrange\\n'); say("three"); os.write(fd, mark + b' "half')"""
    monkeypatch.setattr(sandbox.run, "__kwdefaults__", {**sandbox.run.__kwdefaults__, "meanwhile": meanwhile})
    ended = run(tmp_path, monkeypatch, code)
    assert heard[1:] == [b'"one"', b'"two"', b'"three"']
    assert seen[:2] == [False, False]
    assert ended.strange


@pytest.mark.parametrize("forged", [b'{"ok": {}}\n', b"\n", b"00000000000000000000000000000000 {}\n"])
def test_a_line_without_the_mark_voids_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forged: bytes
) -> None:
    """Who writes on the answer channel without knowing the mark is noticed, before and after the real answer."""
    ended = run(tmp_path, monkeypatch, f"say('real'); os.write(fd, {forged!r}); say('real')")
    assert (ended.lines, ended.strange) == ((), True)
    assert "something other than the worker" in ended.reason()


def test_the_environment_is_built_from_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the caller's environment, standard input or folder reaches the child; the settings do."""
    monkeypatch.setenv("MY_SECRET", "swordfish")
    ended = run(tmp_path, monkeypatch, (
        "say([dict(os.environ), os.getcwd(), sys.stdin.read(), channel.arguments[:1], sys.flags.hash_randomization,\n"
        "     os.getsid(0) == os.getpid()])"))  # fmt: skip
    environment, cwd, stdin, arguments, randomised, own_session = json.loads(ended.lines[0])
    own = {"PATH", "HOME", "TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "LC_CTYPE"}
    assert set(environment) - {"PYTHONPATH"} <= {*own, *sandbox.SETTINGS}
    assert all(environment[key] == value for key, value in sandbox.SETTINGS.items())
    assert (Path(cwd), stdin, arguments) == (tmp_path / "empty", "", ["one"])
    assert (randomised, own_session) == (0, True)


@linux
def test_who_looks_for_a_compiler_finds_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for a library asks a compiler where there is one, by way of a file that a worker cannot write."""
    code = "import ctypes.util, shutil; say([shutil.which('sh'), ctypes.util.find_library('nothing-of-this-name')])"
    ended = run(tmp_path, monkeypatch, code, layers=sandbox.Layers(("privileges", "landlock")))
    assert ended.lines == (b"[null, null]",), ended.printed


@linux
def test_open_files_of_the_caller_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that we have open is none that a lesson can read."""
    with (tmp_path / "open.txt").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        ended = run(tmp_path, monkeypatch, "say(sorted(os.listdir('/proc/self/fd')))")
    assert len(json.loads(ended.lines[0])) <= 5  # three standard ones, the answer, and the listing itself


@pytest.mark.parametrize("outer", ["never", "auto"])
@pytest.mark.parametrize(
    ("code", "limits", "reason"),
    [
        ("while True: time.sleep(999)", {"wall_seconds": 1},
         "it passed the time limit of 1 s (config.yaml: limits.wall_seconds)"),
        ("while True: pass", {"wall_seconds": 1}, "it passed the time limit of 1 s"),
        ("os.kill(os.getpid(), signal.SIGSTOP)", {"wall_seconds": 1}, "it passed the time limit of 1 s"),
        ("while True: pass", {"cpu_seconds": 1, "wall_seconds": 600},
         "it passed the processor time limit of 1 s (config.yaml: limits.cpu_seconds)"),
        ("signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", {"cpu_seconds": 1, "wall_seconds": 600},
         "it passed the processor time limit of 1 s"),
        ("while True: os.write(fd, b'x' * 65536)", {},
         "it passed the answer limit of 1 MiB (config.yaml: limits.answer_mib)"),
        ("while True: print('x' * 9999)", {},
         "it passed the limit of 4 MiB for what it prints (config.yaml: limits.printed_mib)"),
        ("for _ in range(9): threading.Thread(target=time.sleep, args=(999,), daemon=True).start()\ntime.sleep(999)",
         {"threads": 5}, "it passed the limit of 5 threads (config.yaml: limits.threads)"),
        ("sys.exit(3)", {}, "the process ended without a result, exit code 3"),
        ("sys.exit(200)", {}, "the process ended without a result, exit code 200"),
        ("os._exit(0)", {}, "the process ended without a result, exit code 0"),
        ("os.abort()", {}, "the process was ended by signal 6, SIGABRT"),
        ("os.kill(os.getpid(), 9)", {}, "the process was ended by signal 9, SIGKILL (killed: "),
        ("os.close(fd); time.sleep(999)", {}, "the process could not answer, because its answer channel was closed"),
        ("os.close(fd); channel.say(1)", {}, "the process could not answer, because its answer channel was closed"),
    ],
)  # fmt: skip
def test_why_there_is_no_answer_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outer: Any, code: str, limits: dict[str, int], reason: str
) -> None:
    """Each limit and each end by its name, with bubblewrap around the worker and without.

    What is not noticed at once is ended by the clock, which has another name: the code would go on for much longer.
    """
    outer = OPEN.model_copy(update={"bubblewrap": outer})
    ended = run(tmp_path, monkeypatch, code, isolation=outer, **limits)
    assert ended.reason().startswith(reason)
    assert ended.lines == ()


@linux
def test_scratch_and_processes_are_bounded_where_they_are_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the layers that forbid both, the parent counts files and processes, and names the limit."""
    fill = "for n in range(9): open(f'f{n}', 'wb').write(b'x' * (1 << 19))\ntime.sleep(999)"
    assert run(tmp_path, monkeypatch, fill).limit == "scratch_mib"
    fork = "if os.fork() == 0:\n    time.sleep(999)\ntime.sleep(999)"
    (tmp_path / "other").mkdir()
    ended = run(tmp_path / "other", monkeypatch, fork)
    assert ended.limit == "processes"
    assert "limit of 1 process(es) (config.yaml: limits.processes)" in ended.reason()
    two = "if os.fork() == 0:\n    time.sleep(9)\ntime.sleep(0.5)\nsay(1)"
    assert run(tmp_path / "other", monkeypatch, two, processes=2).lines == (b"1",)


def test_a_flood_of_words_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lesson may print megabytes: the first lines are kept, the answer still arrives."""
    ended = run(tmp_path, monkeypatch, "for _ in range(300): print('x' * 9999)\nsay('done')")
    assert len(ended.printed) == pipes.PRINTED
    assert ended.lines == (b'"done"',)


@linux
def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An allocation beyond the limit fails inside the child; the machine stays whole."""
    code = "try: bytearray(2 << 30)\nexcept MemoryError: say('bounded')"
    assert run(tmp_path, monkeypatch, code, memory_mib=512).lines == (b'"bounded"',)


def test_the_size_in_memory_can_be_asked_for() -> None:
    """Where the address space has no limit, `ps` tells a process's size: this one holds megabytes, not gigabytes."""
    assert 10 << 20 < pipes.resident(os.getpid()) < 8 << 30
    assert pipes.resident(2**22 + 1) == 0


def test_files_and_descriptors_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scratch file cannot fill the disk, and there are no core files."""
    code = (
        "import resource\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nreport = []\n"
        "try: open('big', 'wb', buffering=0).write(b'x' * (2 << 20)) == 1 << 20 or report.append('whole')\n"
        "except OSError: pass\n"
        "try: [open('/dev/null') for _ in range(99)]\nexcept OSError as error: report.append(error.errno)\n"
        "report.append(resource.getrlimit(resource.RLIMIT_CORE)[0])\nsay(report)"
    )
    assert run(tmp_path, monkeypatch, code).lines == (b"[24, 0]",)


LEAVING = {
    "forked": "if os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\nsay(1)",
    "own session": "if os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nsay(1)",
    "daemon": ("if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(60)\n    os._exit(0)\n"
               "os.wait()\nsay(1)"),
    "deaf": ("if os.fork() == 0:\n    os.setsid()\n    [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 13, 15)]\n"
             "    time.sleep(60)\nsay(1)"),
    "stopped": "if os.fork() == 0:\n    os.setsid()\n    os.kill(os.getpid(), signal.SIGSTOP)\nsay(1)",
    "program": "subprocess.Popen(['/bin/sleep', '60'], start_new_session=True)\nsay(1)",
    "bomb": "for _ in range(6): os.fork()\nos.setsid() if os.getpid() != os.getsid(0) else 0\ntime.sleep(60)",
}  # fmt: skip


@linux
@pytest.mark.parametrize("outer", ["never", "auto"])
@pytest.mark.parametrize("name", LEAVING)
def test_nothing_is_left_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, outer: Any) -> None:
    """Whatever a process does to leave its group, its session or its parent, it ends with the worker."""
    before = {one.pid for one in process_tree.descendants(os.getpid())}
    run(tmp_path, monkeypatch, LEAVING[name], isolation=OPEN.model_copy(update={"bubblewrap": outer}), processes=99,
        wall_seconds=2)  # fmt: skip
    assert {one.pid for one in process_tree.descendants(os.getpid())} <= before  # zombies count


@linux
@pytest.mark.parametrize("outer", ["never", "auto"])
def test_a_worker_does_not_outlive_a_supervisor_that_is_killed(tmp_path: Path, outer: str) -> None:
    """CI kills jobs without a word: the worker goes with its parent, which can do nothing any more."""
    (tmp_path / "sleeper.py").write_text(program("open('/dev/null', 'w'); time.sleep(900)"))
    code = (
        "import sys\nfrom pathlib import Path\nfrom lessonpress import sandbox as supervise\n"
        "from lessonpress.core.settings import Isolation, Limits\n"
        f"work_dir, own = Path({str(tmp_path)!r}), supervise.child.environment\n"
        "supervise.child.environment = lambda scratch: {**own(scratch), 'PYTHONPATH': str(work_dir)}\n"
        f"outer = Isolation(minimum='posix-basic', bubblewrap={outer!r})\n"
        "supervise.run('sleeper', [str(work_dir)], work_dir, Limits(), outer, layers=supervise.Layers(()))\n"
    )
    around = {**os.environ, "TMPDIR": str(tmp_path)}  # a killed process cannot tidy up
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, env=around)
    pids = []
    for _ in range(600):  # a loaded machine starts processes slowly
        time.sleep(0.1)
        if pids := [one.pid for one in process_tree.descendants(parent.pid) if _runs(one.pid, b"sleeper")]:
            break
    time.sleep(0.3)
    parent.kill()
    parent.wait()
    for _ in range(600):  # far less than it would sleep
        if not any(_runs(pid, b"sleeper") for pid in pids):
            break
        time.sleep(0.1)
    assert pids
    assert not any(_runs(pid, b"sleeper") for pid in pids)


def _runs(pid: int, word: bytes) -> bool:
    try:
        return word in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


@linux
def test_the_supervisor_is_as_before_when_the_worker_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Subreaper and closed memory are for the time of the run; another child of ours is none of its business."""
    other = os.fork()
    if other == 0:
        time.sleep(60)
        os._exit(0)
    run(tmp_path, monkeypatch, "say(1)")
    assert kernel.prctl(kernel.PR_GET_DUMPABLE) == 1
    assert os.waitpid(other, os.WNOHANG) == (0, 0)
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)


@linux
def test_a_minimum_that_this_machine_lacks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what there is, what is missing and why, and what to write; no lesson code has run."""
    strict = Isolation(minimum="linux-strict", bubblewrap="never")
    with pytest.raises(LessonError) as caught:
        run(
            tmp_path,
            monkeypatch,
            "open('ran', 'w')",
            isolation=strict,
            layers=sandbox.Layers(("privileges", "seccomp")),
        )
    assert caught.value.message().startswith(
        "config.yaml: isolation.minimum: this machine isolates lessons only by linux-seccomp (landlock: not asked "
        "for); at least linux-strict. "
    )
    assert not (tmp_path / "empty" / "ran").exists()


def test_less_isolation_than_could_be_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A curator on a system without these layers is warned, and is not warned again for every lesson."""
    monkeypatch.setattr(sandbox, "_WARNED", set())
    for _ in range(2):
        run(tmp_path, monkeypatch, "say(1)")
    assert capsys.readouterr().err.count("warning: lessons are isolated by posix-basic only (") == 1


@linux
def test_what_applied_is_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Profile, layers, limits, kernel and what the worker tried before lesson code ran."""
    ended = run(tmp_path, monkeypatch, "say(1)", isolation=Isolation(minimum="posix-basic"), layers=sandbox.ALL)
    report = ended.isolation()
    assert json.loads(json.dumps(report)) == report
    assert report["ended"] == "answered"
    assert report["limits"] == ended.confinement.limits
    assert set(report["probe"]) == {"own", "read", "write", "connect", "fork", "exec"}
    assert report["uid"] == os.getuid()
    assert bool(report["landlock"]) == bool(landlock.level())
    if landlock.level() and report["seccomp"]:
        assert report["profile"] == confine.PROFILES[-1]
        assert set(report["probe"].values()) == {"allowed", "denied"}
    assert bool(report["namespaces"]) == bool(bubblewrap.wrap_command([], tmp_path, Isolation()))


def test_profiles_need_every_part_of_themselves() -> None:
    """A profile is named only when its layers applied and its deeds were denied: a layer that fails silently shows."""
    denied = dict.fromkeys(("read", "write", "connect", "fork", "exec"), "denied")
    good = {"privileges": "none", "landlock": 1, "seccomp": "x", "probe": {"own": "allowed", **denied}}
    assert confine.profile(good) == "linux-strict"
    for layer in ("privileges", "seccomp"):
        assert confine.profile({**good, layer: None}) == "posix-basic"
    assert confine.profile({**good, "landlock": None}) == "linux-seccomp"
    for deed, outcome in [("write", "allowed"), ("connect", "failed"), ("exec", "allowed"), ("own", "denied")]:
        assert confine.profile({**good, "probe": {**good["probe"], deed: outcome}}) == "posix-basic"
    assert confine.profile({**good, "probe": {**good["probe"], "read": "allowed"}}) == "linux-seccomp"


def test_a_weaker_profile_never_meets_a_stronger_minimum() -> None:
    """`auto` means the strongest on Linux and the only one elsewhere."""
    assert confine.PROFILES == ("posix-basic", "linux-seccomp", "linux-strict")
    assert Isolation().required() == ("linux-strict" if sys.platform.startswith("linux") else "posix-basic")
    assert Isolation(minimum="linux-seccomp").required() == "linux-seccomp"
