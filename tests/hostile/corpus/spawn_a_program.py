"""Starts a program without forking."""

import os

import world

# control:
open(world.own).close()
# attack:
os.posix_spawn("/bin/true", ["true"], {})
