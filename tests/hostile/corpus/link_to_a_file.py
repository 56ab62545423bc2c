"""Makes a link that another step will follow."""
#: open

import os

import world

# control:
open(world.own).close()
# attack:
os.symlink(world.key, world.own + ".link")
