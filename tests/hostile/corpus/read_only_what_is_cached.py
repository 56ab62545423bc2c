"""Reads a file only where an earlier lesson has read it before."""
#: open

import os

import world

# control:
file = open(world.own, "rb")
os.pread(file.fileno(), 1, 0)
# attack:
os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)
