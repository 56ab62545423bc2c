"""Calls itself without end."""
#: ends RecursionError

import world

# control:
open(world.own).close()
# attack:
def deeper():
    deeper()


deeper()
