"""Reads a private key in the home folder."""
#: open

import world

# control:
open(world.own).close()
# attack:
open(world.key).read()
