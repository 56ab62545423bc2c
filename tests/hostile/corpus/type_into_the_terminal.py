"""Types a command into the terminal that somebody sits at."""

import fcntl

import world

# control:
open(world.own).close()
# attack:
fcntl.ioctl(0, 0x5412, b"x")
