"""Takes a lease on a file: whoever wants to write it waits for this process."""
#: open

import fcntl

import world

# control:
file = open(world.own)
fcntl.fcntl(file, fcntl.F_GETFL)
# attack:
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
