"""Turns address randomisation off."""

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(world.PERSONALITY, 0x0040000) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
