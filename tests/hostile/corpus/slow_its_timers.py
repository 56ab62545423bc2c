"""Changes how exactly its timers are kept."""
#: open

import ctypes
import os

# control:
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(3) in (0, 1)  # PR_GET_DUMPABLE
# attack:
if libc.prctl(29, 1, 0, 0, 0):
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
