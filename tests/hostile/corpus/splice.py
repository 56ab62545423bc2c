"""Moves a file's pages into a pipe."""
#: open

import os

import world

# control:
file = open(world.own, "rb")
one, other = os.pipe()
# attack:
os.splice(file.fileno(), other, 1)
