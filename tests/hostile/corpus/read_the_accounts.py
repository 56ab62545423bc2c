"""Reads the list of accounts of the machine."""
#: open

import world

# control:
open(world.own).close()
# attack:
open("/etc/passwd").read()
