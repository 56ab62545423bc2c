"""Asks the interpreter to exit."""
#: ends SystemExit: 0

import sys

import world

# control:
open(world.own).close()
# attack:
sys.exit(0)
