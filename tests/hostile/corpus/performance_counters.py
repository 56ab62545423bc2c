"""Watches the processor's counters, which leak what others compute."""

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(world.PERF_EVENT_OPEN, None, 0, -1, -1, 0) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
