"""Closes every descriptor, the answer's too."""
#: ends its answer channel was closed

import os

import world

# control:
open(world.own).close()
# attack:
os.closerange(0, 99)
