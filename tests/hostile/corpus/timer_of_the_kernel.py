"""Has the kernel keep a timer."""
#: open

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("timer_create", 1, None, ctypes.create_string_buffer(4)):
    raise OSError(number, os.strerror(number))
