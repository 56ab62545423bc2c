"""Asks where on the disk a file lies."""
#: open

import fcntl
import struct

import world

# control:
file = open(world.own)
fcntl.fcntl(file, fcntl.F_GETFD)
# attack:
fcntl.ioctl(file, 0xC020660B, bytearray(struct.pack("=QQIIII", 0, 1 << 40, 0, 0, 8, 0) + bytes(8 * 56)))  # FIEMAP
