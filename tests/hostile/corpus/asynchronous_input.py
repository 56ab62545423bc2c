"""Makes a queue of input and output in the kernel."""
#: open

import ctypes
import os

import world

# control:
assert world.call("getpid") == 0
# attack:
if number := world.call("io_setup", 1, ctypes.create_string_buffer(8)):
    raise OSError(number, os.strerror(number))
