"""Gives a file to a user (itself, so that everybody may)."""
#: open

import os

import world

# control:
os.stat(world.own)
# attack:
os.chown(world.key, os.getuid(), os.getgid())
