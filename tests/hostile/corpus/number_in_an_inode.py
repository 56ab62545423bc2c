"""Leaves a number in a file's inode for a later lesson, through a descriptor that can only read."""
#: open

import fcntl
import struct

import world

# control:
file = open(world.own)
fcntl.fcntl(file, fcntl.F_GETFD)
# attack:
fcntl.ioctl(file, 0x40087602, struct.pack("q", 4711))  # FS_IOC_SETVERSION
