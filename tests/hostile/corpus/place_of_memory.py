"""Chooses the bank that its memory comes from."""

import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("set_mempolicy", 0, None, 0):
    raise OSError(number, os.strerror(number))
