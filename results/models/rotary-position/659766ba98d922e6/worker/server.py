"""`python -m lessonpress.worker.server PROGRAM FD [once]`: loads a program's libraries, then forks for every request.

Importing torch takes a second, a fork milliseconds. On the socket FD arrive no data but three open files: what the
child reads its request from, where it answers, where it prints. So nothing of a lesson ever enters the process from
which the next lesson's is forked. With `once` there is no fork: the process itself becomes the program.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import struct
import sys
import traceback
from typing import Any

from . import kernel
from .confine import ANSWER

READY = b"!"  # what the server says when all is loaded
NUMBER = struct.Struct("=i")  # then, for every request: the child's process id, and later how it ended
HANDED = 3  # files with each request
_FEW = 1024  # no server has a descriptor as high as this


def main() -> None:
    """Serve until the socket is closed."""
    program, control = importlib.import_module(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))
    if hasattr(program, "load"):
        program.load()
    gc.freeze()  # what is shared with the children stays shared: nobody counts through it
    if kernel.LINUX:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # no child may look into its parent
    control.sendall(READY)
    while handed := socket.recv_fds(control, 1, HANDED)[1]:
        if "once" in sys.argv[3:]:
            control.close()
            _become(program, handed)
        _fork(program, handed, control)


def _fork(program: Any, handed: list[int], control: socket.socket) -> None:
    """Let a child serve the request; say who it is, and how it ended."""
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        control.close()
        os.setsid()
        if kernel.LINUX:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        _become(program, handed)
    for descriptor in handed:
        os.close(descriptor)
    control.sendall(NUMBER.pack(child))
    control.sendall(NUMBER.pack(os.waitpid(child, 0)[1]))


def _become(program: Any, handed: list[int]) -> None:
    """Take the three files for one's own, close all others, run the program, and end."""
    if kernel.LINUX:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # as a fresh process is: else /proc/self is closed to an ordinary user
    above = max(*handed, ANSWER) + 1
    request, answer, output = (os.dup2(descriptor, above + at) for at, descriptor in enumerate(handed))
    for descriptor, place in ((request, 0), (output, 1), (output, 2), (answer, ANSWER)):
        os.dup2(descriptor, place, inheritable=place != ANSWER)
    os.closerange(ANSWER + 1, _FEW)
    code = 1
    try:
        program.main()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    with contextlib.suppress(BaseException):
        sys.stderr.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    main()
