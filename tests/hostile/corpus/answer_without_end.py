"""Writes on the answer channel without end."""
#: ends it passed the answer limit of 1 MiB \(config.yaml: limits.answer_mib\)
#: limits answer_mib=1

import os

import world

# control:
open(world.own).close()
# attack:
while True:
    os.write(3, bytes(1 << 16))
