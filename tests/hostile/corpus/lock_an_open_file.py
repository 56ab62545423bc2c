"""Locks a file by the newer kind of lock, which outlives a descriptor's copies."""
#: open

import fcntl
import struct

import world

# control:
file = open(world.own)
fcntl.fcntl(file, fcntl.F_GETFL)
# attack:
fcntl.fcntl(file, 37, struct.pack("hhqqi", fcntl.F_RDLCK, 0, 0, 0, 0))  # F_OFD_SETLK
