"""Leaves its parent and its session, to live on."""

import os
import time

import world

# control:
open(world.own).close()
# attack:
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
