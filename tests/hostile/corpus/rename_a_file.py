"""Puts a file under another name."""
#: open

import os

import world

# control:
open(world.own).close()
# attack:
os.rename(world.repository, world.repository + ".old")
