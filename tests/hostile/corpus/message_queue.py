"""Makes a message queue that outlives it."""

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(world.MQ_OPEN, b"lesson", os.O_RDWR | os.O_CREAT, 0o600, None) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
