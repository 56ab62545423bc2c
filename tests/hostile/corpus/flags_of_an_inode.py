"""Changes a file's flags (not to be dumped) through a descriptor that can only read."""
#: open

import fcntl
import struct

import world

# control:
file = open(world.own)
fcntl.fcntl(file, fcntl.F_GETFD)
# attack:
flags = struct.unpack("q", fcntl.ioctl(file, 0x80086601, bytes(8)))[0]  # FS_IOC_GETFLAGS
fcntl.ioctl(file, 0x40086602, struct.pack("q", flags ^ 0x40))
