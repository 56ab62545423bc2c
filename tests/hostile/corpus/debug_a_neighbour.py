"""Takes over another process as a debugger."""

import ctypes
import os

import world

# control:
open(world.own).close()
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, world.victim, None, None) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
