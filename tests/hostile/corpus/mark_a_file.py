"""Hides data in a file's extended attributes."""

import os

import world

# control:
os.stat(world.own)
# attack:
os.setxattr(world.repository, "user.hidden", b"x")
