"""Aborts."""
#: ends the process was ended by signal 6, SIGABRT

import os

import world

# control:
open(world.own).close()
# attack:
os.abort()
