"""Pins memory, so that others have less."""
#: open

import ctypes
import os

import world

# control:
memory = ctypes.create_string_buffer(8192)
# attack:
if number := world.call("mlock", ctypes.addressof(memory), 4096):
    raise OSError(number, os.strerror(number))
