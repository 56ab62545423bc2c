"""Interrupts every processor of the machine."""
#: open

import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("membarrier", 0, 0, 0):
    raise OSError(number, os.strerror(number))
