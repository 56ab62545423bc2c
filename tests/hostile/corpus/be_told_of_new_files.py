"""Has the kernel tell by a signal when somebody changes a folder."""
#: open

import fcntl
import os

import world

# control:
folder = os.open(os.path.dirname(world.own), os.O_RDONLY)
fcntl.fcntl(folder, fcntl.F_GETFL)
# attack:
fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_CREATE | fcntl.DN_DELETE)
