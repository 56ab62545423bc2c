"""Puts another filter over this one."""
#: open

import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("seccomp", 2, 0, b"\0\0\xff\x7f"):
    raise OSError(number, os.strerror(number))
