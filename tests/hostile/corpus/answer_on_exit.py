"""Leaves a function behind that answers when the process ends."""
#: ends answered

import atexit
import os

import world

# control:
open(world.own).close()
# attack:
atexit.register(os.write, 3, b"{}\n")
