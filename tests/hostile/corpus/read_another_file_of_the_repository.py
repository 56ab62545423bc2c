"""Reads a file of the repository that is none of the lesson's."""
#: open

import world

# control:
open(world.own).close()
# attack:
open(world.repository).read()
