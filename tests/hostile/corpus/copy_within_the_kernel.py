"""Copies a file into a pipe without reading it."""
#: open

import os

import world

# control:
file = open(world.own, "rb")
one, other = os.pipe()
# attack:
os.sendfile(other, file.fileno(), 0, 1)
