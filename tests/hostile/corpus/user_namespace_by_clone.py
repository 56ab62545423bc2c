"""Starts a process in which it is root."""

import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("clone", 0x10000011, None, None, None, None):
    raise OSError(number, os.strerror(number))
