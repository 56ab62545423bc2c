"""Watches which files others open."""
#: open

import ctypes
import os

import world

# control:
open(world.own).close()
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.inotify_init1(0) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
