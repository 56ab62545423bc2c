"""Runs a command and measures what it took: wall time, processor time, and the memory of the whole process tree."""

import contextlib
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

INTERVAL = 0.2  # seconds between two looks at the memory


@dataclass(frozen=True)
class Took:
    """What one command took: seconds on the wall, seconds of all processors, and the largest memory seen, in MiB."""

    wall: float
    processor: float
    memory: float


def measure_command(
    command: Sequence[str], folder: Path, *, memory: bool = False, env: Mapping[str, str] | None = None
) -> Took:  # fmt: skip
    """Run a command in `folder`; one that fails ends the benchmark with its output.

    `memory` also looks at the tree's memory: shared pages are counted once, as the kernel's PSS has it.
    """
    used, start = _processor(), time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})  # fmt: skip
    peak = [0.0]
    if memory:
        threading.Thread(target=_watch_memory, args=(process, peak), daemon=True).start()
    said, _ = process.communicate()
    wall = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed in {folder}:\n{said.decode(errors='replace')[-4000:]}")
    return Took(wall, _processor() - used, peak[0])


def _processor() -> float:
    """Seconds of processor so far; on Linux the whole machine's, because no parent counts a killed worker's time."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, irq, softirq, *_ = map(int, file.readline().split()[1:])
        return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
    except OSError:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


def _watch_memory(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    while process.poll() is None:
        roots = [process.pid, *_list_servers()]  # the servers of a run are not children of Snakemake
        tree = (pid for root in roots for pid in (root, *_list_descendants(root)))
        peak[0] = max(peak[0], sum(map(_read_memory, tree)) / 1024)
        time.sleep(INTERVAL)


def _read_memory(pid: int) -> int:
    """A process's share of memory in KiB."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def _list_descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                children.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(name))
        except (OSError, ValueError):
            continue
    descendants, waiting = [], [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        descendants += below
        waiting += below
    return descendants


def _list_servers() -> list[int]:
    """The processes that listen for the commands of a Snakemake run."""
    servers = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            own = int(path.parent.name)
            if b"lessonpress.cli.command_server" in words and not _is_forked(own):
                servers.append(own)
    return servers


def _is_forked(pid: int) -> bool:
    """Whether a process is a worker of such a server: workers have the same command line."""
    parent = (Path("/proc") / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[1].decode()
    with contextlib.suppress(OSError):
        return b"lessonpress.cli.command_server" in (Path("/proc") / parent / "cmdline").read_bytes().split(b"\0")
    return False
