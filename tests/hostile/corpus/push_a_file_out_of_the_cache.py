"""Pushes a file out of memory, so that a later lesson reads it more slowly."""
#: open

import os

import world

# control:
file = open(world.own, "rb")
os.pread(file.fileno(), 1, 0)
# attack:
os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
