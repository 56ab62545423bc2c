"""Reads the number that an earlier lesson may have left in a file's inode."""
#: open

import fcntl

import world

# control:
file = open(world.own)
fcntl.fcntl(file, fcntl.F_GETFD)
# attack:
fcntl.ioctl(file, 0x80087601, bytearray(8))  # FS_IOC_GETVERSION
