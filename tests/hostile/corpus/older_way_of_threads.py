"""Starts a thread or process by a call whose arguments no filter can read."""
#: ends \[Errno 38\]

import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("clone3", None, 0):
    raise OSError(number, os.strerror(number))
