"""Loads a program into the kernel."""

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(world.BPF, 0, None, 0) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
