"""Opens a file by a call whose arguments no filter can read."""
#: ends \[Errno 38\]

import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("openat2", -100, world.key.encode(), bytes(24), 24):
    raise OSError(number, os.strerror(number))
