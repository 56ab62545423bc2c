"""Exits with a code that looks like a signal's."""
#: ends the process ended without a result, exit code 200

import os

import world

# control:
open(world.own).close()
# attack:
os._exit(200)
