"""Sets the time at which a file was changed, so that nothing is made anew."""
#: open

import os

import world

# control:
os.stat(world.own)
# attack:
os.utime(world.repository, (0, 0))
