"""Leaves a function behind that answers when the process ends."""
#: ends answered

import atexit
import os
import sys

import world

# control:
open(world.own).close()
# attack:
atexit.register(os.write, int(sys.argv[-1]), b"{}\n")
