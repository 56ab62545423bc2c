"""Locks a file that others use, and keeps them waiting."""
#: open

import fcntl

import world

# control:
file = open(world.own)
fcntl.fcntl(file, fcntl.F_GETFL)
# attack:
fcntl.flock(file, fcntl.LOCK_EX)
