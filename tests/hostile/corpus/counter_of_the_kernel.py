"""Makes a counter in the kernel."""
#: open

import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("eventfd2", 0, 0):
    raise OSError(number, os.strerror(number))
