"""Reads the keys that the kernel keeps for the user."""

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(world.KEYCTL, 0, -3, 1, 0, 0) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
