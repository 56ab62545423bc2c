"""Looks into the home folder."""
#: open

import os

import world

# control:
os.listdir(os.path.dirname(world.own))
# attack:
os.listdir(world.home)
