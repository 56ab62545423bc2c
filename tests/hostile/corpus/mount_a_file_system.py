"""Mounts a file system over a folder."""

import ctypes
import os

import world

# control:
open(world.own).close()
# attack:
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"none", world.home.encode(), b"tmpfs", 0, None) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
