"""Empties a file without opening it."""
#: open

import os

import world

# control:
open(world.own).close()
# attack:
os.truncate(world.repository, 0)
