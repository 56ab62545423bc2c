"""Appends to a file of the repository."""
#: open

import world

# control:
open(world.own).close()
# attack:
open(world.repository, "a").write("x")
