"""System calls that Python has no function for, through ctypes. Elsewhere than on 64-bit Linux each fails as absent."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

from .syscalls import CONFINING, MACHINES

PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE = 1, 3, 4
PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 24, 36, 37
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4

LINUX = sys.platform.startswith("linux")
_libc = ctypes.CDLL(None, use_errno=True) if LINUX else None


def machine() -> int | None:
    """The column of this processor in the table of system calls; None where the table does not apply."""
    known = LINUX and struct.calcsize("P") == 8 and platform.machine() in MACHINES
    return MACHINES.index(platform.machine()) if known else None


def call(name: str, *arguments: int | ctypes.Array[ctypes.c_char] | None) -> int:
    """What a call that confines answers. Raises OSError with its errno, ENOSYS where this system has no such call."""
    column = machine()
    number = None if column is None else CONFINING[name][column]
    if number is None or _libc is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)
    return _checked(name, _libc.syscall(ctypes.c_long(number), *(_argument(value) for value in arguments)))


def prctl(option: int, *arguments: int | ctypes.Array[ctypes.c_char]) -> int:
    """Change or ask one property of this process (or thread). Raises OSError."""
    if _libc is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), "prctl")
    given = (*arguments, 0, 0, 0, 0)[:4]
    return _checked("prctl", _libc.prctl(ctypes.c_int(option), *(_argument(value) for value in given)))


def _argument(value: int | ctypes.Array[ctypes.c_char] | None) -> ctypes.c_long | ctypes.Array[ctypes.c_char] | None:
    return ctypes.c_long(value) if isinstance(value, int) else value


def _checked(name: str, answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return answer


def integer() -> ctypes.Array[ctypes.c_char]:
    """A buffer for an int that the kernel fills in."""
    return ctypes.create_string_buffer(4)
