"""Makes its folder the root of the file system, a step on the way out."""

import os

import world

# control:
os.chdir(os.path.dirname(world.own))
# attack:
os.chroot(os.path.dirname(world.own))
