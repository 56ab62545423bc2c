"""Pulls a file into memory, so that a later lesson reads it faster."""
#: open

import os

import world

# control:
file = open(world.own, "rb")
# attack:
if number := world.call("readahead", file.fileno(), 0, 4096):
    raise OSError(number, os.strerror(number))
