"""Counts which parts of a file an earlier lesson has read."""

import ctypes
import os

import world

# control:
file = open(world.own, "rb")
# attack:
if number := world.call(
    "cachestat", file.fileno(), ctypes.create_string_buffer(16), ctypes.create_string_buffer(40), 0
):
    raise OSError(number, os.strerror(number))
