"""Writes into the folder it was started in."""
#: open

import world

# control:
open(world.own).close()
# attack:
open("x", "w").write("x")
