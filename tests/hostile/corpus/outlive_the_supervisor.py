"""Asks the kernel not to end it with its parent."""

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(1, 0, 0, 0, 0) < 0:  # PR_SET_PDEATHSIG
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
