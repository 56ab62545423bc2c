"""Gives another process the least priority."""
#: open

import os

import world

# control:
assert world.victim > 1
# attack:
os.setpriority(os.PRIO_PROCESS, world.victim, 19)
