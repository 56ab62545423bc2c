"""Asks which process holds a lock on a file."""
#: open

import fcntl
import struct

import world

# control:
file = open(world.own)
fcntl.fcntl(file, fcntl.F_GETFL)
# attack:
fcntl.fcntl(file, fcntl.F_GETLK, struct.pack("hhqqi", fcntl.F_RDLCK, 0, 0, 0, 0))
