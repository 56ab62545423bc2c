"""Makes a pipe in the file system, at which a reader would hang."""
#: open

import os

import world

# control:
open(world.own).close()
# attack:
os.mkfifo(world.home + "/pipe")
