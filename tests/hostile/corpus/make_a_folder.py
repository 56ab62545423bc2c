"""Makes a folder."""
#: open

import os

import world

# control:
open(world.own).close()
# attack:
os.mkdir(world.home + "/new")
