"""Gives another process the least priority."""
#: open

import os

import world

# control:
os.getpriority(os.PRIO_PROCESS, 0)
# attack:
os.setpriority(os.PRIO_PROCESS, world.victim, 19)
