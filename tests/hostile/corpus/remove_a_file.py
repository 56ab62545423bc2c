"""Removes a file."""
#: open

import os

import world

# control:
open(world.own).close()
# attack:
os.remove(world.repository)
