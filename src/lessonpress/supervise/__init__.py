"""Runs one worker process under limits and isolation, and reads its answer; the only room that starts processes.

The parent does what works everywhere (a clean environment, limits, the clock, the sweep of left-over processes); the
worker confines itself further and tells what applied; bubblewrap goes around both where it starts.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lessonpress.errors import LessonError
from lessonpress.settings import Isolation, Limits
from lessonpress.supervise import bubblewrap, child, ended, family, paths, pipes
from lessonpress.supervise.child import SETTINGS, environment
from lessonpress.supervise.ended import Confinement, Ended
from lessonpress.worker import confine

__all__ = ["SETTINGS", "Confinement", "Ended", "Layers", "environment", "run"]

_ONE_AT_A_TIME = threading.Lock()  # the sweep takes every new child of this process for the worker's
_WARNED: set[str] = set()


@dataclass(frozen=True)
class Layers:
    """What a worker is told to apply to itself; tests leave layers out, everybody else wants them all."""

    names: tuple[str, ...] = confine.LAYERS
    abi: int | None = None  # the level of Landlock; None is the kernel's


DEFAULT, ALL = Isolation(), Layers()


def run(
    module: str, arguments: Sequence[str], scratch: Path, limits: Limits, isolation: Isolation = DEFAULT, *,
    layers: Layers = ALL, meanwhile: Callable[[bytes], None] | None = None,
) -> Ended:  # fmt: skip
    """Run `python -m module arguments… FD` in `scratch` and read the lines that it writes on descriptor FD.

    The worker may read the Python installation and those arguments that are paths. When it has answered, ended, or hit
    a limit, it and everything that it started are killed. `meanwhile` is told each of its lines when it comes. Raises
    LessonError when this machine cannot isolate it as strongly as `isolation.minimum` demands.
    """
    with _ONE_AT_A_TIME, tempfile.TemporaryDirectory(prefix="lessonpress-probe-") as held:
        probe = Path(held) / "forbidden"
        probe.write_bytes(b"no program\n")
        probe.chmod(0o700)
        spec = _spec(arguments, str(probe), limits, isolation, layers)
        done = _run(module, arguments, scratch, limits, isolation, spec, meanwhile)
    _judge(done.confinement, isolation)
    return done


def _spec(
    arguments: Sequence[str], probe: str, limits: Limits, isolation: Isolation, layers: Layers
) -> dict[str, Any]:
    given = [os.path.realpath(argument) for argument in arguments if os.path.exists(argument)]
    return {
        "mark": secrets.token_hex(16), "layers": layers.names, "abi": layers.abi, "read": [*paths.readable(), *given],
        "probe": probe, "minimum": isolation.required(), "forks": limits.processes > 1,
    }  # fmt: skip


def _run(
    module: str, arguments: Sequence[str], scratch: Path, limits: Limits, isolation: Isolation,
    spec: Mapping[str, Any], meanwhile: Callable[[bytes], None] | None,
) -> Ended:  # fmt: skip
    outer = bubblewrap.around(spec, scratch, isolation)
    # -I would make Python ignore PYTHONHASHSEED, so its parts are named one by one.
    python = [sys.executable, "-s", "-P", "-B", "-m", module, *arguments]
    with family.adopted() as adopted:
        started = child.start([*outer, *python], scratch, json.dumps(spec).encode(), limits)
        try:
            around = bubblewrap.PROCESSES if outer else 0
            heard = pipes.listen(started, scratch, limits, spec["mark"].encode(), around, meanwhile)
        finally:
            started.close()
            code = adopted.end(started.process)
    if outer and code - 128 in set(signal.Signals):
        code = 128 - code  # bubblewrap tells the signal that ended the worker in the shell's way
    if heard.cut:
        code = confine.CHANNEL_CLOSED
    limit = heard.limit or ("cpu_seconds" if code == -signal.SIGXCPU else None)
    told = json.loads(heard.first or b"{}")
    held = limits.model_dump(exclude={"prepare_seconds"})
    applied = ended.confinement(told, held, bubblewrap.NAMESPACES if outer else ())
    return Ended(heard.lines, heard.printed.decode("utf-8", "replace"), code, limit, applied, heard.strange)


def _judge(confinement: Confinement, isolation: Isolation) -> None:
    """Refuse or warn where the worker was isolated less than it should have been."""
    lacking = "; ".join(f"{layer}: {why}" for layer, why in confinement.missing.items())
    if confinement.told.get("refused"):
        raise LessonError(
            "config.yaml: isolation.minimum",
            f"this machine isolates lessons only by {confinement.profile} ({lacking})",
            f"at least {isolation.required()}",
            f"Publish on a machine that has it, or trust the lessons and write minimum: {confinement.profile}.",
        )  # fmt: skip
    if confinement.told and confinement.profile != confine.PROFILES[-1] and lacking not in _WARNED:
        _WARNED.add(lacking)
        weak = f"warning: lessons are isolated by {confinement.profile} only ({lacking})"
        print(f"{weak}; run only lessons that you trust.", file=sys.stderr)
