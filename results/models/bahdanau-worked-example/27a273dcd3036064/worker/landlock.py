"""Landlock: the kernel lets this process read what is named here, and write to, run, connect to and signal nothing.

Numbers are those of <linux/landlock.h>. Each level ("ABI") of the kernel's support knows more to forbid.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from . import kernel

WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
FILES = (1 << 13) - 1  # level 1: run, write, read, list, remove and make every kind of file
REFER, TRUNCATE, DEVICES = 1 << 13, 1 << 14, 1 << 15  # levels 2, 3, 5
TCP = 0b11  # level 4: bind, connect
SCOPES = 0b11  # level 6: abstract sockets and signals of processes outside
KNOWN = 7  # the newest level that this file was written for
_VERSION, _PATH_BENEATH = 1, 1


def level() -> int:
    """The kernel's level of support; 0 when it has none."""
    try:
        return kernel.call("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0


def rights(abi: int) -> tuple[int, int, int]:
    """What a process is deprived of at a level: rights on files, on the network, scopes."""
    files = FILES | (REFER if abi >= 2 else 0) | (TRUNCATE if abi >= 3 else 0) | (DEVICES if abi >= 5 else 0)
    return files, TCP if abi >= 4 else 0, SCOPES if abi >= 6 else 0


def apply(readable: Iterable[str], abi: int) -> None:
    """From now on this thread and all that it starts may read only below `readable`, and write only to /dev/null.

    Call it before any other thread exists, after no_new_privs. Paths that are not there are passed over. Raises
    OSError when the kernel refuses.
    """
    attributes = struct.pack("3Q", *rights(abi))[: 8 if abi < 4 else 16 if abi < 6 else 24]
    ruleset = kernel.call("landlock_create_ruleset", ctypes.create_string_buffer(attributes, len(attributes)),
                          len(attributes), 0)  # fmt: skip
    try:
        for path in readable:
            _allow(ruleset, path, abi)
        kernel.call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, abi: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = READ_FILE | (READ_DIR if stat.S_ISDIR(os.fstat(descriptor).st_mode) else 0)
        if path == os.devnull:
            allowed |= WRITE_FILE | (TRUNCATE if abi >= 3 else 0)
        rule = struct.pack("=Qi", allowed, descriptor)
        kernel.call("landlock_add_rule", ruleset, _PATH_BENEATH, ctypes.create_string_buffer(rule, len(rule)), 0)
    finally:
        os.close(descriptor)
