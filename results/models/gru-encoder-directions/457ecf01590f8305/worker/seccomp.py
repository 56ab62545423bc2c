"""The filter of system calls: a short program that the kernel runs before each call of every thread.

It allows what `syscalls` lists and refuses everything else with EPERM, so that lesson code gets an ordinary
PermissionError at the line that tried; calls that libraries can do without fail as absent (ENOSYS); a foreign
instruction set ends the process.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import struct
from collections.abc import Collection, Sequence

from . import kernel
from .syscalls import ABSENT, ALLOWED, ARCHITECTURES, BY_ARGUMENT, CONDITIONAL, NEWEST

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant

STARTING = ("fork", "vfork", "clone")  # to leave alone where more than one process is wanted
WRITING = ("open", "openat", "creat")  # to leave alone where Landlock tells files apart: /dev/null may be written

_LOAD, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_CLONE_THREAD = 0x10000
_CLONE_NEW = 0x7E020000  # every kind of namespace
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# What a call may be asked to do: the place of the argument that says so, and its values. None of them reaches past this
# process: many others (FS_IOC_SETVERSION, F_SET_RW_HINT, F_SETLEASE) work on a descriptor that is open for reading.
_ASKED = {
    # Is it a terminal (TCGETS, TCGETS2), how wide is it, how much is there to read, close on exec, do not block.
    "ioctl": (1, (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5450, 0x5451, 0x5421)),
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ.
    "fcntl": (1, (0, 1, 2, 3, 4, 1030, 1032)),
    # Hints about memory that allocators give; none that pushes a file out of memory or merges pages with others'.
    "madvise": (2, (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 18)),
    # PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_SET_VMA (names memory).
    "prctl": (0, (3, 15, 16, 38, 39, 0x53564D41)),
    "arch_prctl": (0, (0x1021, 0x1022, 0x1023)),  # which wide registers there are, and the wish to use them
}
_FILTER, _ALL_THREADS = 1, 1


def program(column: int, pid: int, left: Collection[str] = ()) -> list[Instruction]:
    """The filter for a processor (its column in the table) and the process that may signal only itself.

    `left` are calls that it leaves alone.
    """
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, ARCHITECTURES[column]), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER), (_GREATER, 0, 1, NEWEST), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
    ]  # fmt: skip
    for table in (BY_ARGUMENT, CONDITIONAL, ABSENT, *ALLOWED.values()):
        for name, numbers in table.items():
            if (number := numbers[column]) is not None:
                block = _rule(name, pid, name in left)
                code += [(_EQUAL, 0, len(block), number), *block]
    return [*code, _REFUSE]


_PASS: Instruction = (_RETURN, 0, 0, _ALLOW)
_REFUSE: Instruction = (_RETURN, 0, 0, _ERRNO | errno.EPERM)


def _rule(name: str, pid: int, left_alone: bool) -> list[Instruction]:
    """What happens once it is known which call this is; every path returns."""
    if name == "clone":  # threads, but no processes, and namespaces never
        threads = [] if left_alone else [(_ANY_BIT, 0, 1, _CLONE_THREAD)]
        return [_argument(0), (_ANY_BIT, len(threads) + 1, 0, _CLONE_NEW), *threads, _PASS, _REFUSE]
    if left_alone and name not in ABSENT:
        return [_PASS]
    if name in ("open", "openat"):
        return [_argument(2 if name == "openat" else 1), (_ANY_BIT, 0, 1, _WRITING), _REFUSE, _PASS]
    if name in _ASKED:
        index, values = _ASKED[name]
        return [_argument(index), *((_EQUAL, len(values) - at, 0, k) for at, k in enumerate(values)), _REFUSE, _PASS]
    if name in ("prlimit64", "sched_setaffinity"):
        return [_argument(0), (_EQUAL, 1, 0, 0), (_EQUAL, 0, 1, pid), _PASS, _REFUSE]
    if name in BY_ARGUMENT:
        return [_argument(0), (_EQUAL, 0, 1, pid), _PASS, _REFUSE]
    if name in ABSENT:
        return [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    return [_REFUSE] if name in CONDITIONAL else [_PASS]


def _argument(index: int) -> Instruction:
    """Load the low half of an argument: flags, process ids and requests fit in it (both processors store it first)."""
    return _LOAD, 0, 0, _ARGUMENTS + 8 * index


def assembled(code: Sequence[Instruction]) -> bytes:
    """The program as the kernel reads it."""
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


def digest(column: int, left: Collection[str] = ()) -> str:
    """The SHA-256 of the filter, with process id 0 in it, so that it is the same for every process."""
    return hashlib.sha256(assembled(program(column, 0, left))).hexdigest()


def apply(left: Collection[str] = ()) -> str:
    """Put the filter over all threads of this process and answer its digest. Needs no_new_privs. Raises OSError."""
    column = kernel.machine()
    if column is None:
        raise OSError(errno.ENOSYS, "no filter for this system and processor")
    code = assembled(program(column, os.getpid(), left))
    held = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(held))
    answer = kernel.call("seccomp", _FILTER, _ALL_THREADS, ctypes.create_string_buffer(head, len(head)))
    if answer:
        raise OSError(errno.EBUSY, f"thread {answer} cannot take the filter")
    return digest(column, left)
