"""`python deeds.py SPEC`: applies chosen layers to itself and tries one deed after the other; prints each one's errno.

SPEC is JSON: `{"source", "layers", "abi", "work_dir"}`. A deed that succeeds prints null. Standard library only, so
that a table of many layers costs milliseconds a row. It never runs a program: it asks for one that is none.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

SPEC = json.loads(sys.argv[1])
sys.path.insert(0, SPEC["source"])

from lessonpress.worker import confine, kernel, landlock, seccomp  # noqa: E402  # the path is known only now

WORK_DIR = SPEC["work_dir"]


def made(deed: Callable[[], Any]) -> str | None:
    """Try a deed and tell the name of what went wrong."""
    try:
        deed()
    except OSError as error:
        return str(confine.errno.errorcode.get(error.errno, error.errno))
    return None


def connect(family: socket.AddressFamily, kind: socket.SocketKind, to: Any) -> None:
    """Connect and leave."""
    with socket.socket(family, kind) as one:
        one.settimeout(2)
        one.connect(to)


def reading(name: str = "own") -> int:
    """A descriptor that can only read; where even that is denied, Landlock's answer is the deed's."""
    return os.open(f"{WORK_DIR}/{name}", os.O_RDONLY)


def handle() -> None:
    """Ask for a file's number, which needs no right on the file."""
    libc, handle = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(b"\x80", 136)
    if libc.name_to_handle_at(-100, WORK_DIR.encode(), handle, ctypes.byref(ctypes.c_int()), 0) < 0:
        raise OSError(ctypes.get_errno(), "")


def fork() -> None:
    """Fork, and end both ends of it well."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


DEEDS: dict[str, Callable[[], Any]] = {
    "control": lambda: open(f"{WORK_DIR}/own", "rb").close(),
    "nothing": lambda: open("/dev/null", "wb").close(),
    "read": lambda: open(f"{WORK_DIR}/private", "rb").close(),
    "list": lambda: os.listdir(WORK_DIR),
    "supervisor": lambda: open(f"/proc/{os.getppid()}/environ", "rb").close(),
    "write": lambda: open(f"{WORK_DIR}/own", "r+b").close(),
    "make": lambda: open(f"{WORK_DIR}/new", "wb").close(),
    "folder": lambda: os.mkdir(f"{WORK_DIR}/folder"),
    "truncate": lambda: os.truncate(f"{WORK_DIR}/own", 1),
    "move": lambda: os.rename(f"{WORK_DIR}/moved", f"{WORK_DIR}/below/moved"),
    "permissions": lambda: os.chmod(f"{WORK_DIR}/own", 0o644),
    "times": lambda: os.utime(f"{WORK_DIR}/own", (1, 1)),
    "exec": lambda: os.execv(f"{WORK_DIR}/program", ["program"]),
    "fork": fork,
    "tcp": lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", SPEC["port"])),
    "udp": lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", SPEC["port"])),
    "abstract": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, SPEC["abstract"]),
    "signal": lambda: os.kill(os.getppid(), 0),
    "own signal": lambda: os.kill(os.getpid(), 0),
    "inherit": lambda: fcntl.fcntl(1, fcntl.F_SETFD, fcntl.fcntl(1, fcntl.F_GETFD)),
    "owner": lambda: fcntl.fcntl(1, fcntl.F_SETOWN, os.getpid()),
    "owner of a kind": lambda: fcntl.fcntl(1, 15, struct.pack("ii", 1, os.getpid())),  # F_SETOWN_EX, F_OWNER_PID
    "its signal": lambda: fcntl.fcntl(1, 10, signal.SIGIO),  # F_SETSIG
    "end of a parent": lambda: kernel.prctl(kernel.PR_SET_PDEATHSIG, 0),
    "root folder": lambda: os.chroot("/"),
    "memory file": lambda: os.memfd_create("x"),
    "handle": handle,
    "waiting bytes": lambda: fcntl.ioctl(reading(), 0x541B, bytes(4)),  # FIONREAD, which files answer, too
    "inode": lambda: fcntl.ioctl(reading(), 0x40087602, struct.pack("q", 7)),  # FS_IOC_SETVERSION
    "hint": lambda: fcntl.fcntl(reading(), 1036, struct.pack("Q", 2)),  # F_SET_RW_HINT
    "lease": lambda: fcntl.fcntl(reading(), fcntl.F_SETLEASE, fcntl.F_RDLCK),
    "lock": lambda: fcntl.flock(reading(), fcntl.LOCK_EX | fcntl.LOCK_NB),
    "notice": lambda: fcntl.fcntl(reading("."), fcntl.F_NOTIFY, fcntl.DN_CREATE),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0)),
}


def main() -> None:
    """Apply, try, tell."""
    signal.alarm(20)
    layers = SPEC["layers"]
    if "privileges" in layers:
        confine.drop_privileges()
    if "landlock" in layers:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        landlock.apply([f"{WORK_DIR}/own", "/proc/self", "/dev/null"], SPEC["abi"])
    if "seccomp" in layers:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        seccomp.apply(seccomp.WRITING if "landlock" in layers else ())
    print(json.dumps({name: made(deed) for name, deed in DEEDS.items()}))


if __name__ == "__main__":
    main()
