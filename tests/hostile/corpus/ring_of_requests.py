"""Does input and output through a ring that no filter sees."""

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(world.IO_URING_SETUP, 1, ctypes.create_string_buffer(120)) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
