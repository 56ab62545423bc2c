"""Asks how busy the machine has been, which another lesson could have changed."""
#: open

import ctypes
import os

import world

# control:
assert os.uname().sysname == "Linux"
# attack:
if number := world.call("sysinfo", ctypes.create_string_buffer(256)):
    raise OSError(number, os.strerror(number))
