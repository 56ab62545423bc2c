"""Changes the permissions that new files get."""
#: open

import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("umask", 0o22):
    raise OSError(number, os.strerror(number))
