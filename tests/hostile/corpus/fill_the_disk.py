"""Writes until the disk is full."""

import world

# control:
open(world.own).close()
# attack:
with open(world.home + "/filler", "wb") as file:
    while True:
        file.write(bytes(1 << 20))
