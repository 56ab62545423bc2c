"""Stops itself, so that it neither ends nor uses time."""
#: ends it passed the time limit of 2 s
#: limits wall_seconds=2

import os
import signal

import world

# control:
open(world.own).close()
# attack:
os.kill(os.getpid(), signal.SIGSTOP)
