"""Makes a system call that nobody here knows yet."""
#: ends \[Errno 38\]

import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("467", 0):
    raise OSError(number, os.strerror(number))
