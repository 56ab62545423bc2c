"""Ends the process in the middle."""
#: ends the process ended without a result, exit code 0

import os

import world

# control:
open(world.own).close()
# attack:
os._exit(0)
