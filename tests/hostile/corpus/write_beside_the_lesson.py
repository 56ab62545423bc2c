"""Writes beside its own source."""
#: open

import world

# control:
open(world.own).close()
# attack:
open(world.own + ".new", "w").write("x")
