"""Reads a private key while the model is built."""
#: ends PermissionError|FileNotFoundError
#: in build

import world

# control:
open(world.own).close()
# attack:
open(world.key).read()
