"""Signals another process by the call that carries a value."""
#: open

import ctypes
import os

import world

# control:
open(world.own).close()
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.sigqueue(world.victim, 9, 0) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
