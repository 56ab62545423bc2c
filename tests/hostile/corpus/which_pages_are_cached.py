"""Asks which parts of a file an earlier lesson has read."""
#: open

import ctypes
import mmap
import os

import world

# control:
file = open(world.own, "rb")
memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
# attack:
if number := world.call("mincore", address, len(memory), ctypes.create_string_buffer(1)):
    raise OSError(number, os.strerror(number))
