"""Writes an answer of its own and ends before the real one."""
#: ends something other than the worker wrote on the answer channel

import os
import sys

import world

# control:
open(world.own).close()
# attack:
os.write(int(sys.argv[-1]), b'{"ok": {"checks": [], "metrics": []}}\n')
os._exit(0)
