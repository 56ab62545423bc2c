"""Writes an answer of its own and ends before the real one."""
#: ends something other than the worker wrote on the answer channel

import os

import world

# control:
open(world.own).close()
# attack:
os.write(3, b'{"ok": {"checks": [], "metrics": []}}\n')
os._exit(0)
