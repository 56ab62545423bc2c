"""Asks where a neighbour keeps its locks."""
#: open

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call(
    "get_robust_list", world.victim, ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
):
    raise OSError(number, os.strerror(number))
