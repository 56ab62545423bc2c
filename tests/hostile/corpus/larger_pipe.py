"""Takes more of the kernel's memory for a pipe than a pipe has."""
#: open

import fcntl
import os

# control:
one, other = os.pipe()
fcntl.fcntl(one, fcntl.F_GETFD)
# attack:
fcntl.fcntl(one, 1031, 1 << 20)  # F_SETPIPE_SZ
