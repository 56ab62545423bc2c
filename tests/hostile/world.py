"""Everything around a lesson that an attack may want: keys, servers, neighbours. Afterwards all must be as before."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lessonpress.sandbox import process_tree
from lessonpress.worker import kernel
from lessonpress.worker.syscalls import ABSENT, ALLOWED, BY_ARGUMENT, CONFINING
from tests.hostile.calls import REFUSED

SECRET = "correct-horse-battery-staple"
NUMBERS = {**REFUSED, **BY_ARGUMENT, **CONFINING, **ABSENT, **ALLOWED["itself"], "467": (467, 467)}
CALLS = ("mq_open", "process_vm_readv", "unshare", "bpf", "perf_event_open", "userfaultfd", "keyctl", "io_uring_setup",
         "personality", "getpid")  # fmt: skip
# What every attack may use: a system call by its name, which answers 0 or the number of what went wrong.
CALL = """
import ctypes as _ctypes
_libc = _ctypes.CDLL(None, use_errno=True)
_word = lambda value: _ctypes.c_long(value) if isinstance(value, int) else value
call = lambda name, *given: (
    _ctypes.get_errno() if _libc.syscall(_ctypes.c_long(_NUMBERS[name]), *map(_word, given)) < 0 else 0)
own = __file__
"""
KEY = 0x1E550


class World:
    """A home folder with a key, a repository, three servers and a process of the same user."""

    def __init__(self, root: Path, holder: contextlib.ExitStack) -> None:
        self.root, self.name = root, root.name
        self.home = root / "home"
        self.home.mkdir()
        self.key, self.repository = self.home / "id_rsa", root / "other_lesson.py"
        self.key.write_text(SECRET)
        self.key.chmod(0o600)
        self.repository.write_text("# the work of somebody else\n")
        self.listener = holder.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.datagrams = holder.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.datagrams.bind(("127.0.0.1", 0))
        self.unix = holder.enter_context(socket.socket(socket.AF_UNIX))
        self.unix.bind(str(root / "socket"))
        self.abstract = holder.enter_context(socket.socket(socket.AF_UNIX))
        self.abstract.bind(f"\0{self.name}")
        for server in (self.listener, self.unix, self.abstract):
            if server is not self.listener:
                server.listen()
            server.setblocking(False)
        self.datagrams.setblocking(False)
        self.victim = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
        holder.callback(self._end)
        self.before: dict[str, Any] = {}

    def _end(self) -> None:
        self.victim.kill()
        self.victim.wait()

    def module(self, own: Path) -> str:
        """The source of the module `world`, by which an attack finds its aims; `own` is a file that it may read."""
        column = kernel.machine() or 0
        status = {
            "home": str(self.home), "key": str(self.key), "repository": str(self.repository), "name": self.name,
            "port": self.listener.getsockname()[1], "datagrams": self.datagrams.getsockname()[1],
            "unix": str(self.root / "socket"), "abstract": f"\0{self.name}", "supervisor": os.getpid(),
            "victim": self.victim.pid, "KEY": KEY, "_NUMBERS": {name: of[column] for name, of in NUMBERS.items()},
            **{name.upper(): NUMBERS[name][column] for name in CALLS},
        }  # fmt: skip
        return "\n".join([*(f"{name} = {value!r}" for name, value in status.items()), CALL])

    def look(self) -> dict[str, Any]:
        """Everything that an attack could have changed, as values to compare."""
        return {
            "files": _files(self.root), "temporary files": _names(os.environ["TMPDIR"]),
            "shared memory": [name for name in _names("/dev/shm") if self.name in name],  # others use it, too
            "IPC": [_held(f"/proc/sysvipc/{kind}") for kind in ("shm", "sem", "msg")],
            "processes": len(process_tree.descendants(os.getpid())), "victim": _state(self.victim.pid),
            "priority": os.getpriority(os.PRIO_PROCESS, self.victim.pid), "limits": _limits(self.victim.pid),
            "visitors": [_visited(server) for server in (self.listener, self.unix, self.abstract, self.datagrams)],
        }  # fmt: skip


@contextlib.contextmanager
def made(root: Path) -> Iterator[World]:
    """A world for as long as this lasts."""
    with contextlib.ExitStack() as holder:
        yield World(root, holder)


def _files(root: Path) -> dict[str, Any]:
    seen = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        inode = _inode(path) if path.is_file() else []
        times = [status.st_nlink, status.st_mtime_ns]
        seen[str(path.relative_to(root))] = [status.st_mode, status.st_uid, *times, content, inode]
    return seen


def _inode(path: Path) -> list[str]:
    """What a descriptor that can only read can leave in a file: its version, its flags, a hint; where it has them."""
    seen = []
    with path.open("rb") as file:
        asked: tuple[Callable[[], bytes], ...] = (
            lambda: fcntl.ioctl(file, 0x80087601, bytes(8)), lambda: fcntl.ioctl(file, 0x80086601, bytes(8)),
            lambda: fcntl.fcntl(file, 1035, bytes(8)),
        )  # fmt: skip
        for ask in asked:
            try:
                seen.append(ask().hex())
            except OSError as error:
                seen.append(str(error))
    return seen


def _names(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def _held(path: str) -> bool:
    """Whether the attacks' key is in a table of the kernel's."""
    return os.path.exists(path) and any(line.split()[0] == str(KEY) for line in Path(path).read_text().splitlines())


def _state(pid: int) -> str:
    """Whether a process lives, was stopped (or is being debugged), or has ended."""
    letter = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return {"T": "stopped", "t": "debugged", "Z": "ended", "X": "ended"}.get(letter, "alive")


def _limits(pid: int) -> str:
    return Path(f"/proc/{pid}/limits").read_text()


def _visited(server: socket.socket) -> bool:
    try:
        if server.type == socket.SOCK_DGRAM:
            server.recv(1)
        else:
            server.accept()[0].close()
    except BlockingIOError:
        return False
    return True
