"""Leaves a hint about a file's life in its inode, through a descriptor that can only read."""
#: open

import fcntl
import struct

import world

# control:
file = open(world.own)
fcntl.fcntl(file, fcntl.F_GETFL)
# attack:
fcntl.fcntl(file, 1036, struct.pack("Q", 3))  # F_SET_RW_HINT
