"""Makes a semaphore that outlives it."""

import ctypes
import os

import world

# control:
open(world.own).close()
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.semget(world.KEY, 1, 0o1600) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
