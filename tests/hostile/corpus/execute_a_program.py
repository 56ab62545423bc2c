"""Becomes another program."""

import os

import world

# control:
open(world.own).close()
# attack:
os.execv("/bin/true", ["true"])
