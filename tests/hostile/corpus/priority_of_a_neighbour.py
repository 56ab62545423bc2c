"""Asks for a neighbour's priority, which a third could have set."""
#: open

import os

import world

# control:
os.getpid()
# attack:
os.getpriority(os.PRIO_PROCESS, world.victim)
