"""Gives a private file a second name that may be read."""
#: open

import os

import world

# control:
open(world.own).close()
# attack:
os.link(world.key, world.own + ".link")
