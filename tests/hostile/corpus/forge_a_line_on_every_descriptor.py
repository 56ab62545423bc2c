"""Writes an answer on every descriptor that it finds."""
#: ends something other than the worker wrote on the answer channel

import contextlib
import os

import world

# control:
open(world.own).close()
# attack:
for descriptor in range(3, 99):
    with contextlib.suppress(OSError):
        os.write(descriptor, b'{"ok": {"checks": [], "metrics": []}}\n')
