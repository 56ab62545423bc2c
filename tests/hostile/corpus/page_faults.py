"""Handles page faults itself, a tool of kernel exploits."""

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(world.USERFAULTFD, 1) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
