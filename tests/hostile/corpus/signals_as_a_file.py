"""Reads signals as if they were a file."""
#: open

import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("signalfd4", -1, bytes(8), 8, 0):
    raise OSError(number, os.strerror(number))
