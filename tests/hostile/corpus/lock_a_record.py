"""Locks a part of a file that others use."""
#: open

import fcntl

import world

# control:
file = open(world.own)
fcntl.fcntl(file, fcntl.F_GETFL)
# attack:
fcntl.lockf(file, fcntl.LOCK_SH)
