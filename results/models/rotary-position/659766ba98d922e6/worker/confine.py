"""The worker confines itself: before lesson code runs it gives up whatever a lesson does not need, and tries it out.

The parent says on standard input what to apply. Two moments matter: `begin`, before any thread exists (privileges,
Landlock), and `Channel.seal`, after the libraries are loaded and before lesson code runs (the filter of system calls).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import socket
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from . import kernel, landlock, seccomp

ANSWER = 3  # the descriptor of the answer, in every worker
PROFILES = ("posix-basic", "linux-seccomp", "linux-strict")  # from weak to strong
LAYERS = ("privileges", "landlock", "seccomp")
CHANNEL_CLOSED = 74  # exit code when the answer cannot be written
_LAST_CAPABILITY = 63


class Channel:
    """The worker's way to its parent: every line starts with a mark that only the two know."""

    def __init__(self, spec: Mapping[str, Any], applied: dict[str, Any]) -> None:
        self.descriptor, self.spec, self.applied = ANSWER, spec, applied

    @property
    def arguments(self) -> list[str]:
        """What the program is asked to work on."""
        return list(self.spec["arguments"])

    def seal(self) -> None:
        """Apply the filter, try what should be denied, and say what came of it; ends the process below the minimum."""
        if "seccomp" in self.spec["layers"]:
            left = {*(seccomp.STARTING if self.spec["forks"] else ())}
            left |= {*(seccomp.WRITING if self.applied["landlock"] else ())}
            _try(self.applied, "seccomp", lambda: seccomp.apply(left))
        self.applied["probe"] = probe(self.spec["probe"])
        self.applied["profile"] = profile(self.applied)
        refused = PROFILES.index(self.applied["profile"]) < PROFILES.index(self.spec["minimum"])
        self.say({**self.applied, "refused": refused})
        if refused:
            self.end()

    def say(self, value: Any) -> None:
        """Write one line of JSON; ends the process when a lesson has closed the channel."""
        line = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
        view = memoryview(self.spec["mark"].encode() + b" " + line + b"\n")
        try:
            while view:
                view = view[os.write(self.descriptor, view) :]
        except OSError:
            os._exit(CHANNEL_CLOSED)

    def end(self) -> None:
        """End the process: nothing that a lesson registered for the end runs any more."""
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            os.close(self.descriptor)
        os._exit(0)


def begin() -> Channel:
    """Read the request from standard input, close it, and give up privileges and files.

    The request says what to apply, where to work and under which limits, and what to work on.

    Raises RuntimeError when another thread exists already: it would stay unconfined.
    """
    with open(0, "rb", closefd=False) as file:
        spec = json.loads(file.read())
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.chdir(spec["folder"])
    os.environ.update(HOME=spec["folder"], TMPDIR=spec["folder"], TORCHINDUCTOR_CACHE_DIR=spec["folder"])
    os.environ.pop("PWD", None)  # bubblewrap's word for where the server started
    for name, bounds in spec["limits"].items():
        resource.setrlimit(getattr(resource, name), tuple(bounds))
    # Nothing can be written, but libraries ask where they could: torch's optimizers import its compiler, which does.
    tempfile.tempdir = spec["folder"]
    skipped = {layer: "not asked for" for layer in LAYERS if layer not in spec["layers"]}
    applied: dict[str, Any] = {"uid": os.getuid(), **dict.fromkeys(LAYERS), "missing": skipped}
    if kernel.LINUX and len(os.listdir("/proc/self/task")) != 1:
        raise RuntimeError("the worker has threads before it is confined")
    if "privileges" in spec["layers"]:
        _try(applied, "privileges", drop_privileges)
    if "landlock" in spec["layers"]:
        _try(applied, "landlock", lambda: _landlock(spec))
    return Channel(spec, applied)


def profile(applied: Mapping[str, Any]) -> str:
    """The name of what applied: only what was tried and denied counts."""
    probed = {name for name, found in applied["probe"].items() if found == "denied"}
    filtered = applied["privileges"] and applied["seccomp"] and probed >= {"write", "connect", "exec"}
    if not filtered or applied["probe"]["own"] != "allowed":
        return PROFILES[0]
    return PROFILES[2] if applied["landlock"] and "read" in probed else PROFILES[1]


def drop_privileges() -> str:
    """Set no_new_privs and empty every capability set, as root too. Raises OSError."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    with contextlib.suppress(OSError):  # only who has capabilities may drop them from the bounding set
        for capability in range(_LAST_CAPABILITY + 1):
            kernel.prctl(kernel.PR_CAPBSET_DROP, capability)
    with contextlib.suppress(OSError):
        kernel.prctl(kernel.PR_CAP_AMBIENT, kernel.PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("Ii", 0x20080522, 0)  # version 3, this thread
    kernel.call("capset", ctypes.create_string_buffer(header, 8), ctypes.create_string_buffer(bytes(24), 24))
    return "none"


def _landlock(spec: Mapping[str, Any]) -> int:
    abi = min(landlock.level(), spec["abi"] or landlock.KNOWN)
    if not abi:
        raise OSError(errno.ENOSYS, "this kernel has no Landlock")
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    landlock.apply(spec["read"], abi)
    return abi


def _try(applied: dict[str, Any], layer: str, apply: Callable[[], Any]) -> None:
    try:
        applied[layer] = apply()
    except OSError as error:
        applied["missing"][layer] = f"{error.strerror or error}"


def probe(forbidden: str) -> dict[str, str]:
    """What this process can still do: `allowed`, `denied`, or `failed` for another reason, for each of six deeds.

    `forbidden` is a file that must not be read, and no program though it may be executed; `own` reads a file that
    must be readable, so that a confinement that blocks everything is not taken for one that works.
    """
    return {
        "own": _tried(lambda: open(__file__, "rb").close()), "read": _tried(lambda: open(forbidden, "rb").close()),
        "write": _tried(lambda: os.close(os.open(f"{forbidden}.written", os.O_WRONLY | os.O_CREAT, 0o600))),
        "connect": _tried(_connect), "fork": _tried(_fork),
        "exec": _tried(lambda: os.execv(forbidden, [forbidden])),
    }  # fmt: skip


def _tried(deed: Callable[[], Any]) -> str:
    try:
        deed()
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.EROFS):
            return "denied"
        # Nobody listens, or the file is no program: the deed itself was possible.
        return "allowed" if error.errno in (errno.ECONNREFUSED, errno.ENOEXEC) else "failed"
    return "allowed"


def _connect() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
        made.settimeout(1)
        made.connect(("127.0.0.1", 9))


def _fork() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about threads: the child does nothing but end
        child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
