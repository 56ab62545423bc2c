"""Asks how full the disk is, which another lesson could have changed."""
#: open

import os

import world

# control:
os.stat(world.own)
# attack:
os.statvfs(world.home)
