"""Runs lesson code in worker processes under limits and isolation, and reads what they answer.

The only package that starts processes. A server (`server.py`) has a program's libraries loaded and forks a worker for
every request. The parent does what works everywhere (a clean environment, limits, the clock, the sweep of left-over
processes); the worker confines itself further and says what applied; bubblewrap goes around both where it starts.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lessonpress.core import run_log
from lessonpress.core.errors import RetryableError
from lessonpress.core.settings import Isolation, Limits
from lessonpress.sandbox import child, paths, pipes, process_tree, result, scratch_dirs
from lessonpress.sandbox.bubblewrap import NAMESPACES, PROCESSES
from lessonpress.sandbox.child import SETTINGS, environment
from lessonpress.sandbox.result import Confinement, WorkerResult
from lessonpress.sandbox.server import Server
from lessonpress.worker import confine
from lessonpress.worker.records import WorkerRequest

__all__ = ["JUDGE", "MODEL", "PREPARE", "SETTINGS", "Confinement", "Layers", "WorkerResult", "environment",
           "keep_servers", "keeps_servers", "run", "scratch_dir", "warm_up"]  # fmt: skip

MODEL = "lessonpress.worker.program"  # runs a lesson's model
PREPARE = "lessonpress.worker.prepare"  # trains it
JUDGE = "lessonpress.worker.judge"  # runs its checks and metrics, without torch
_ONE_AT_A_TIME = threading.Lock()  # the sweep takes every new child of this process for the worker's
_WARNED: set[str] = set()


@dataclass(frozen=True)
class Layers:
    """What a worker is to apply to itself; tests leave layers out, everybody else wants them all."""

    names: tuple[str, ...] = confine.LAYERS
    abi: int | None = None  # the level of Landlock; None is the kernel's


DEFAULT, ALL = Isolation(), Layers()


@dataclass
class _Kept:
    """The servers that this process keeps, and the folder below which all that they work on lies."""

    folder: Path
    servers: dict[str, Server] = field(default_factory=dict)


_kept: _Kept | None = None


@contextlib.contextmanager
def keep_servers() -> Iterator[None]:
    """For as long as this lasts, servers are kept for the next lesson: who does many loads their libraries once."""
    global _kept
    before = _kept
    with scratch_dirs.open_scratch_dir() as folder, process_tree.hide_memory():
        _kept = _Kept(folder)
        try:
            yield
        finally:
            for server in _kept.servers.values():
                server.end()
            _kept = before


@contextlib.contextmanager
def scratch_dir() -> Iterator[Path]:
    """A new folder for what a worker is to read; it goes with the block."""
    if _kept is None:
        with scratch_dirs.open_scratch_dir() as folder:
            yield folder
        return
    with tempfile.TemporaryDirectory(prefix="lessonpress-", dir=_kept.folder) as name:
        yield Path(name).resolve()


def keeps_servers() -> bool:
    """Whether servers are kept: then it pays to let one load what will be needed."""
    return _kept is not None


def warm_up(module: str, limits: Limits, isolation: Isolation) -> None:
    """Let a program's libraries load while the caller does something else; only where servers are kept."""
    if _kept:
        _kept_server(_kept, module, limits, isolation)


def run(
    module: str, arguments: Sequence[str], scratch: Path, limits: Limits, isolation: Isolation = DEFAULT, *,
    layers: Layers = ALL, meanwhile: Callable[[bytes], None] | None = None,
) -> WorkerResult:  # fmt: skip
    """Have the program `module` work on `arguments` in the folder `scratch`, and read the lines of its answer.

    A program is a module with a function `main`, and one that imports its libraries, `load`, where it needs any. The
    worker may read the Python installation and those arguments that are paths. When it has answered, ended, or hit a
    limit, it and everything that it started are killed. `meanwhile` is called with each of its lines when it comes.
    Raises RetryableError when this machine cannot isolate it as strongly as `isolation.minimum` demands.
    """
    own = [os.path.realpath(argument) for argument in arguments if os.path.exists(argument)]
    with _ONE_AT_A_TIME, _server(module, limits, isolation, [*own, str(scratch.resolve())]) as server:
        mark = secrets.token_hex(16)
        request: WorkerRequest = {
            "mark": mark, "layers": list(layers.names), "abi": layers.abi, "read": [*paths.readable(), *own],
            "probe": str(server.forbidden), "minimum": isolation.required(), "forks": limits.processes > 1,
            "folder": str(scratch.resolve()), "limits": child.all_limits(limits), "arguments": list(arguments),
        }  # fmt: skip
        run_log.note(f"asks {module}")
        done = _send(server, request, scratch, limits, meanwhile)
    _judge(done.confinement, isolation)
    return done


@contextlib.contextmanager
def _server(module: str, limits: Limits, isolation: Isolation, own: Sequence[str]) -> Iterator[Server]:
    """The kept server for a program, or one for this run only."""
    if _kept and all(Path(path).is_relative_to(_kept.folder) for path in own):
        yield _kept_server(_kept, module, limits, isolation)
        return
    server = Server(module, limits, isolation, tuple(own))
    try:
        yield server
    finally:
        server.end()


def _kept_server(kept: _Kept, module: str, limits: Limits, isolation: Isolation) -> Server:
    """The kept server for a program; a new one where there is none that can do it."""
    server = kept.servers.get(module)
    if server and server.fits(limits, isolation):
        return server
    if server:
        server.end()
    run_log.note(f"starts a server for {module}")
    kept.servers[module] = Server(module, limits, isolation, (str(kept.folder),), kept.folder)
    return kept.servers[module]


def _send(
    server: Server, request: WorkerRequest, scratch: Path, limits: Limits,
    meanwhile: Callable[[bytes], None] | None,
) -> WorkerResult:
    """Send the request and read the whole reply."""
    spaces = NAMESPACES if server.outer else ()
    begin = time.monotonic()
    if not server.loaded(begin + limits.wall_seconds):
        return _unready(server, limits, spaces, time.monotonic() - begin >= limits.wall_seconds)
    with process_tree.adopt_orphans() as adopted:  # only now: the server's own processes are all there
        around = PROCESSES if server.outer and not server.forks else 0
        worker = server.ask(request)
        try:
            reply = pipes.listen(worker, scratch, limits, request["mark"].encode(), around, meanwhile)
        finally:
            worker.close()
            adopted.end(worker.pid, worker.wait)
    code = confine.CHANNEL_CLOSED if reply.cut else worker.code if worker.code is not None else -signal.SIGKILL
    limit = reply.limit or ("cpu_seconds" if code == -signal.SIGXCPU else None)
    applied = result.read_confinement(json.loads(reply.first or b"{}"), record_limits(limits), spaces)
    return WorkerResult(reply.lines, reply.printed.decode("utf-8", "replace"), code, limit, applied, reply.strange)


def _unready(server: Server, limits: Limits, spaces: tuple[str, ...], late: bool) -> WorkerResult:
    """How a server ended that could not load its libraries."""
    code = server.gone()
    applied = result.read_confinement({}, record_limits(limits), spaces)
    return WorkerResult((), server.printed.decode("utf-8", "replace"), code, "wall_seconds" if late else None, applied)


def record_limits(limits: Limits) -> dict[str, int]:
    """The limits that were in force, for the record."""
    return limits.model_dump(exclude={"prepare_seconds"})


def _judge(confinement: Confinement, isolation: Isolation) -> None:
    """Refuse or warn where the worker was isolated less than it should have been."""
    lacking = "; ".join(f"{layer}: {why}" for layer, why in confinement.missing.items())
    if confinement.report.get("refused"):
        raise RetryableError(
            "config.yaml: isolation.minimum",
            f"this machine isolates lessons only by {confinement.profile} ({lacking})",
            f"at least {isolation.required()}",
            f"Publish on a machine that has it, or trust the lessons and write minimum: {confinement.profile}.",
        )  # fmt: skip
    if confinement.report and confinement.profile != confine.PROFILES[-1] and lacking not in _WARNED:
        _WARNED.add(lacking)
        weak = f"warning: lessons are isolated by {confinement.profile} only ({lacking})"
        print(f"{weak}; run only lessons that you trust.", file=sys.stderr)
