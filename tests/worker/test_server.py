"""A worker that a server forks is what a fresh process is: the same record, and nothing of those before it."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lessonpress import sandbox
from lessonpress.build import execute, source_record
from lessonpress.core import canonical_json
from lessonpress.core.errors import LessonError
from lessonpress.core.settings import Config, Limits
from lessonpress.lesson import reader
from lessonpress.sandbox import process_tree, server
from lessonpress.worker import kernel
from tests import tiny

LESSONS = sorted(Path(__file__).resolve().parents[1].glob("lessons/*/lesson.yaml"))
SPY = """\
import os, sys
from torch import nn

class Echo(nn.Module):
    def forward(self, x):
        assert not hasattr(sys, "seen"), "a sibling was here"
        sys.seen = os.environ["SEEN"] = "1"
        raise RuntimeError(repr([sorted(os.listdir("/proc/self/fd")), sorted(os.environ), sys.path[-2:]]))
"""


@pytest.fixture(scope="module")
def kept() -> Iterator[None]:
    """Keep one server for all tests of this file."""
    with sandbox.keep_servers():
        yield


def record(folder: Path, config: Config) -> str:
    """What a lesson's run records, as one text, without the facts of the moment."""
    captured, mutants = execute.run_lesson(config, source_record.make_source_record(reader.read(folder)), folder)
    captured["provenance"] = {**captured["provenance"], "capturedAt": "", "isolation": ""}
    return canonical_json.dumps([captured, canonical_json.loads(mutants)])


def alone(folder: Path, config: Config, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same of a fresh process that forks nothing."""
    with monkeypatch.context() as patch:
        patch.setattr(sandbox, "_kept", None)
        patch.setattr(server, "FORKS", False)
        return record(folder, config)


@pytest.mark.parametrize("recipe", LESSONS, ids=lambda path: path.parent.name)
def test_a_forked_worker_records_what_a_fresh_process_does(
    recipe: Path, kept: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, for every lesson, the first time and again after others."""
    fresh = alone(recipe.parent, Config(), monkeypatch)
    for _ in range(2):
        assert record(recipe.parent, Config()) == fresh


def spied(folder: Path, text: str = SPY, **limits: int) -> str:
    """What a lesson's exception says."""
    config = Config().model_copy(update={"limits": Limits().model_copy(update=limits)})
    with pytest.raises(LessonError) as caught:
        record(tiny.write(folder, model=text), config)
    return caught.value.message()


def test_siblings_leave_nothing_to_each_other(tmp_path: Path, kept: None) -> None:
    """What a lesson changes in its process is gone; it holds four files, and its own folders only."""
    first, second = spied(tmp_path / "echo"), spied(tmp_path / "other" / "echo")
    for message in (first, second):
        files, environment, _ = json.loads(message.partition("RuntimeError: ")[2].partition("; ")[0].replace("'", '"'))
        assert files[:4] == ["0", "1", "2", "3"]
        assert len(files) <= 5  # and the listing itself
        own = {"PATH", "HOME", "TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "LC_CTYPE", "SEEN"}
        assert set(environment) <= {*own, *sandbox.SETTINGS}


def test_a_server_outlives_what_kills_its_child(tmp_path: Path, kept: None) -> None:
    """After a crash, a limit and a hang the same server does the next lesson, and no child is left."""
    record(LESSONS[0].parent, Config())
    kept_state: Any = sandbox._kept
    process = kept_state.servers[sandbox.MODEL].process.pid
    before = {one.pid for one in process_tree.descendants(os.getpid())}
    echo = "from torch import nn\nimport os, time\nclass Echo(nn.Module):\n    def forward(self, x):\n        "
    ends = {"os.abort()": "SIGABRT", "os._exit(0)": "without a result", "os.kill(os.getpid(), 9)": "SIGKILL",
            "return x.new_empty(1 << 40)": "memory"}  # fmt: skip
    for number, (deed, reason) in enumerate(ends.items()):
        assert reason in spied(tmp_path / str(number) / "echo", echo + deed + "\n")
    assert kept_state.servers[sandbox.MODEL].process.pid == process
    assert {one.pid for one in process_tree.descendants(os.getpid())} == before


def test_other_limits_get_another_server(tmp_path: Path, kept: None) -> None:
    """A limit that a running server could not hold is held all the same."""
    slow = SPY.partition("        assert")[0] + "        __import__('time').sleep(99)\n"
    assert "time limit of 9 s" in spied(tmp_path / "echo", slow, wall_seconds=9)
    assert "memory limit is 64 MiB" in spied(tmp_path / "small" / "echo", slow, memory_mib=64)


@pytest.mark.skipif(not server.FORKS, reason="nothing is forked elsewhere")
def test_a_server_that_does_not_answer_is_dropped(kept: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is stopped keeps nobody waiting for ever, and the next lesson gets another."""
    record(LESSONS[0].parent, Config())
    kept_state: Any = sandbox._kept
    silent = kept_state.servers[sandbox.MODEL]
    limits, isolation = silent.limits, silent.isolation
    assert silent.fits(limits, isolation)
    for pid in (silent.process.pid, *(one.pid for one in process_tree.descendants(silent.process.pid))):
        os.kill(pid, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(silent, "limits", limits.model_copy(update={"wall_seconds": 1}))
        with pytest.raises(OSError, match="gone"):
            silent.ask({})
    assert not silent.fits(limits, isolation)
    record(LESSONS[0].parent, Config())
    assert kept_state.servers[sandbox.MODEL] is not silent
    assert silent.process.poll() is not None


@pytest.mark.skipif(not kernel.LINUX, reason="only Linux has it")
def test_a_server_is_closed_to_its_children(kept: None) -> None:
    """Nobody may look into the process from which the next lesson is forked: its memory belongs to the kernel."""
    record(LESSONS[0].parent, Config())
    kept_state: Any = sandbox._kept
    asked = kept_state.servers[sandbox.MODEL]
    inner = max([asked.process.pid, *(one.pid for one in process_tree.descendants(asked.process.pid))])
    assert Path(f"/proc/{inner}/environ").stat().st_uid == 0
    assert Path(f"/proc/{inner}/cwd").lstat().st_uid == 0
