"""One process under limits: its answer, what it printed, how it ended; no limit leaves a process behind."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lessonpress import supervise
from lessonpress.settings import Limits

LIMITS = Limits(wall_seconds=20, cpu_seconds=20, memory_mib=1024, answer_mib=1, open_files=32, file_mib=1)


def run(room: Path, monkeypatch: pytest.MonkeyPatch, code: str, **limits: Any) -> supervise.Ended:
    """Run a small module (it has `fd`, the answer's descriptor) under small limits."""
    (room / "probe_module.py").write_text(f"import os, sys, time\nfd = int(sys.argv[-1])\n{code}\n")
    (room / "empty").mkdir()
    # The child's own environment has no PYTHONPATH; a test's module has to come from somewhere.
    own = supervise.environment
    monkeypatch.setattr(supervise, "environment", lambda scratch: {**own(scratch), "PYTHONPATH": str(room)})
    return supervise.run("probe_module", ["one", "two"], room / "empty", LIMITS.model_copy(update=limits))


def test_whole_lines_are_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows the last line feed was never finished."""
    ended = run(tmp_path, monkeypatch, 'os.write(fd, b"first\\nsecond\\nhal"); print("hello"); print("mind", file=sys.stderr)')
    assert ended.lines == (b"first", b"second")
    assert sorted(ended.printed.split()) == ["hello", "mind"]
    assert (ended.code, ended.limit) == (0, None)
    assert ended.confinement.limits["wall_seconds"] == 20


def test_the_environment_is_built_from_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the caller's environment, standard input or folder reaches the child; the settings do."""
    monkeypatch.setenv("MY_SECRET", "swordfish")
    ended = run(tmp_path, monkeypatch, (
        "import json\n"
        "told = [dict(os.environ), os.getcwd(), sys.stdin.read(), sys.argv[1:-1], sys.flags.hash_randomization, os.getsid(0) == os.getpid()]\n"
        "os.write(fd, json.dumps(told).encode() + b'\\n')"))  # fmt: skip
    environment, cwd, stdin, arguments, randomised, own_session = __import__("json").loads(ended.lines[0])
    assert set(environment) - {"PYTHONPATH"} <= {"PATH", "HOME", "TMPDIR", "LC_CTYPE", *supervise.SETTINGS}
    assert all(environment[key] == value for key, value in supervise.SETTINGS.items())
    assert (Path(cwd), stdin, arguments) == (tmp_path / "empty", "", ["one", "two"])
    assert (randomised, own_session) == (0, True)


def test_open_files_of_the_caller_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that we have open is none that a lesson can read."""
    with (tmp_path / "open.txt").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        ended = run(tmp_path, monkeypatch, "os.write(fd, repr(sorted(os.listdir('/proc/self/fd'))).encode() + b'\\n')")
    assert len(eval(ended.lines[0])) <= 5  # three standard ones, the answer, and the listing itself


@pytest.mark.parametrize(
    ("code", "limits", "reason"),
    [
        ("while True: time.sleep(9)", {"wall_seconds": 1}, "it passed the time limit of 1 s"),
        ("while True: pass", {"wall_seconds": 1}, "it passed the time limit of 1 s"),
        ("while True: pass", {"cpu_seconds": 1}, "it passed the processor time limit of 1 s"),
        ("while True: os.write(fd, b'x' * 65536)", {}, "it passed the answer limit of 1 MiB"),
        ("sys.exit(3)", {}, "the process ended without a result, exit code 3"),
        ("os._exit(0)", {}, "the process ended without a result, exit code 0"),
        ("os.abort()", {}, "the process ended by signal 6, SIGABRT"),
        ("os.kill(os.getpid(), 9)", {}, "the process ended by signal 9, SIGKILL (killed: "),
    ],
)  # fmt: skip
def test_why_there_is_no_answer_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, limits: dict[str, int], reason: str
) -> None:
    """Each limit and each end by its name, within seconds."""
    begin = time.monotonic()
    ended = run(tmp_path, monkeypatch, code, **limits)
    assert ended.reason().replace("was ended", "ended").startswith(reason)
    assert ended.lines == ()
    assert time.monotonic() - begin < 10


def test_a_flood_of_words_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lesson may print for ever: the first lines are kept, the answer still arrives."""
    ended = run(tmp_path, monkeypatch, "for _ in range(300): print('x' * 9999)\nos.write(fd, b'done\\n')")
    assert len(ended.printed) == supervise.PRINTED
    assert ended.lines == (b"done",)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits the address space")
def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An allocation beyond the limit fails inside the child; the machine stays whole."""
    code = "try: bytearray(2 << 30)\nexcept MemoryError: os.write(fd, b'bounded\\n')"
    assert run(tmp_path, monkeypatch, code, memory_mib=512).lines == (b"bounded",)


def test_files_and_descriptors_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scratch file cannot fill the disk, and there are no core files."""
    code = (
        "import signal, resource\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\ntold = []\n"
        "try: open('big', 'wb', buffering=0).write(b'x' * (2 << 20)) == 1 << 20 or told.append('whole')\n"
        "except OSError: pass\n"
        "try: [open('/dev/null') for _ in range(99)]\nexcept OSError as error: told.append(error.errno)\n"
        "told.append(resource.getrlimit(resource.RLIMIT_CORE)[0])\nos.write(fd, repr(told).encode() + b'\\n')"
    )
    assert run(tmp_path, monkeypatch, code).lines == (b"[24, 0]",)


def test_nothing_is_left_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the child has ended, whatever it started in its session has ended too."""
    code = "if os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\nos.write(fd, b'%d\\n' % os.getpid())"
    ended = run(tmp_path, monkeypatch, code)
    group = int(ended.lines[0])
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    pytest.fail("the grandchild outlived the run")
