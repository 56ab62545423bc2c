"""Makes a user namespace, in which it would be root."""

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(world.UNSHARE, 0x10000000) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
