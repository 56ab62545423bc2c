"""Asks for every capability back."""

import ctypes
import os
import struct

# control:
assert ctypes.CDLL(None).getpid() == os.getpid()
# attack:
libc = ctypes.CDLL(None, use_errno=True)
header, wanted = struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *[0xFFFFFFFF] * 6)
if libc.capset(header, wanted) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
