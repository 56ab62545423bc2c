"""The filter of system calls: a short program that the kernel runs before each call of every thread.

Refused calls fail with EPERM, so that lesson code gets an ordinary PermissionError at the line that tried; calls that
libraries can do without fail as absent (ENOSYS); a foreign instruction set ends the process.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import struct
from collections.abc import Collection, Sequence

from . import kernel
from .syscalls import ARCHITECTURES, NEWEST, NUMBERS

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant

# Calls that are refused whatever their arguments are; the others of the table have a rule of their own below.
ABSENT = ("clone3", "openat2")
BY_ARGUMENT = ("clone", "open", "openat", "kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64",
               "sched_setaffinity", "ioctl", "fcntl", "prctl")  # fmt: skip
OWN = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp", "capset")
STARTING = ("fork", "vfork", "clone", "clone3")  # to leave alone where more than one process is wanted
WRITING = ("open", "openat", "creat")  # to leave alone where Landlock tells files apart: /dev/null may be written
REFUSED = tuple(name for name in NUMBERS if name not in (*ABSENT, *BY_ARGUMENT, *OWN))

_LOAD, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_CLONE_THREAD = 0x10000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# What a call must not be asked to do, by the place of the argument that says so and its values: TIOCSTI types into the
# terminal, TIOCLINUX pastes into it; F_SETOWN, F_SETSIG, F_SETOWN_EX let the kernel signal any process; without
# PR_SET_PDEATHSIG a lesson would outlive its supervisor.
_ASKED = {"ioctl": (1, (0x5412, 0x541C)), "fcntl": (1, (8, 10, 15)), "prctl": (0, (1,))}
_FILTER, _ALL_THREADS = 1, 1


def program(column: int, pid: int, left: Collection[str] = ()) -> list[Instruction]:
    """The filter for a processor (its column in the table) and the process that may signal only itself.

    `left` are calls that it leaves alone.
    """
    numbers = {name: values[column] for name, values in NUMBERS.items()}
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, ARCHITECTURES[column]), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER), (_GREATER, 0, 1, NEWEST), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
    ]  # fmt: skip
    for name, number in numbers.items():
        if number is None or name in OWN or name in left:
            continue
        block = _rule(name, pid)
        code += [(_EQUAL, 0, len(block), number), *block]
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def _rule(name: str, pid: int) -> list[Instruction]:
    """What happens once it is known which call this is; every path returns."""
    refuse = (_RETURN, 0, 0, _ERRNO | errno.EPERM)
    allow = (_RETURN, 0, 0, _ALLOW)
    if name == "clone":  # threads, but no processes
        return [_argument(0), (_ANY_BIT, 0, 1, _CLONE_THREAD), allow, refuse]
    if name in ("open", "openat"):
        return [_argument(2 if name == "openat" else 1), (_ANY_BIT, 0, 1, _WRITING), refuse, allow]
    if name in _ASKED:
        index, values = _ASKED[name]
        return [_argument(index), *((_EQUAL, len(values) - at, 0, k) for at, k in enumerate(values)), allow, refuse]
    if name in ("prlimit64", "sched_setaffinity"):
        return [_argument(0), (_EQUAL, 1, 0, 0), (_EQUAL, 0, 1, pid), allow, refuse]
    if name in BY_ARGUMENT:
        return [_argument(0), (_EQUAL, 0, 1, pid), allow, refuse]
    return [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)] if name in ABSENT else [refuse]


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
    told = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(held))
    answer = kernel.call("seccomp", _FILTER, _ALL_THREADS, ctypes.create_string_buffer(told, len(told)))
    if answer:
        raise OSError(errno.EBUSY, f"thread {answer} cannot take the filter")
    return digest(column, left)
