"""Has the kernel write out what others have changed."""
#: open

import os

import world

# control:
file = open(world.own, "rb")
# attack:
os.fsync(file.fileno())
