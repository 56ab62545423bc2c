"""Reads the names of a file's extended attributes."""
#: open

import os

import world

# control:
os.stat(world.own)
# attack:
os.listxattr(world.repository)
